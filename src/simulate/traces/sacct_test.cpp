// Output of sacct: GPUs, MIG instances, states and times as Slurm writes them, and errors in
// damaged listings.

#include "simulate/traces/sacct.hpp"
#include "base/places_test.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/time.hpp"
#include "model/gpu_use.hpp"
#include "simulate/traces/trace_details.hpp"

namespace cleave {
namespace {

const std::string sacct_header = "JobID|Submit|Start|ElapsedRaw|State|AllocTRES\n";

Result<Workload> read_of_sacct(const std::string& text) {
  return read_sacct(text, "log.txt", {});
}

/// One finished job with these resources.
Result<Workload> with(const std::string& resources) {
  return read_of_sacct(sacct_header + "1|100|110|60|COMPLETED|" + resources + "\n");
}

std::map<std::string, std::size_t> left_out(const Workload& workload) {
  std::map<std::string, std::size_t> left;
  for (const ReasonCount& entry : workload.left_out) left[entry.reason] = entry.count;
  return left;
}

TEST(Sacct, CountsJobsNotStepsAndReportsOmissions) {
  const auto workload = read_of_sacct(sacct_header +
                                      "7|1000|1010|60|COMPLETED|cpu=4,gres/gpu=1,mem=8G\n"
                                      "7.batch|1000|1010|60|COMPLETED|cpu=4,gres/gpu=1,mem=8G\n"
                                      "7.extern|1000|1010|60|COMPLETED|cpu=4,gres/gpu=1,mem=8G\n"
                                      "8_3|900|1010|30|FAILED|cpu=4,gres/gpu=1,mem=8G\n"
                                      "8_4|901|1010|30|CANCELLED by 1000|cpu=4,gres/gpu=1,mem=8G\n"
                                      "8_5|902|1010|30|NODE_FAIL|gres/gpu=1\n"
                                      "8_[6-9]|902|Unknown|0|PENDING|\n"
                                      "9|903|None|0|CANCELLED by 1000|\n"
                                      "10|904|1010|30|RUNNING|gres/gpu=1\n"
                                      "11|905|1010|30|COMPLETED|gres/gpu=2\n"
                                      "12|906|1010|30|COMPLETED|gres/gpu:a100=1,gres/gpu:v100=1\n"
                                      "13|907|1010|30|COMPLETED|gres/gpu:a100_3g.39gb=1\n"
                                      "14|908|1010|0|FAILED|gres/gpu=1\n"
                                      "7|2000|2010|60|COMPLETED|cpu=4,gres/gpu=1,mem=8G\n"
                                      "15|800|1010|30|COMPLETED|billing=4,cpu=4,mem=8G,node=1\n");
  ASSERT_TRUE(workload) << workload.error().text();
  EXPECT_EQ(workload->read, 12U);
  ASSERT_EQ(workload->jobs.size(), 6U);
  EXPECT_EQ(workload->jobs[0].id, "8_3");
  EXPECT_EQ(workload->jobs[0].arrival, Instant{}) << "jobs without a GPU do not start the trace";
  EXPECT_EQ(text(workload->requests[workload->jobs[3].request]), "2 whole GPUs");
  EXPECT_EQ(workload->jobs[4].request, workload->jobs[3].request)
      << "types of whole GPUs are alike";
  EXPECT_EQ(workload->jobs[5].id, "7");
  EXPECT_EQ(workload->jobs[5].arrival, Instant{} + std::chrono::seconds(100));
  EXPECT_EQ(workload->jobs[5].duration, std::chrono::seconds(60));
  EXPECT_EQ(left_out(*workload), (std::map<std::string, std::size_t>{{"never started", 2},
                                                                     {"still running", 1},
                                                                     {"unknown type of MIG", 1},
                                                                     {"no run time", 1},
                                                                     {"the same job again", 1}}));
  EXPECT_EQ(workload->notes, (std::map<std::string, std::size_t>{{"steps", 2},
                                                                 {"no_gpu", 1},
                                                                 {"state_cancelled", 1},
                                                                 {"state_failed", 1},
                                                                 {"state_node_fail", 1}}));
}

TEST(Sacct, KnowsMigInstancesByTheEndOfTheirType) {
  const std::pair<const char*, const char*> types[] = {
      {"gres/gpu=1", "all of a GPU"},
      {"gres/gpu:a100=1,gres/gpu=1", "all of a GPU"},
      {"gres/gpu:a100_40g=1", "all of a GPU"},
      {"gres/gpu:nvidia_a100-sxm4-80gb=1", "all of a GPU"},
      {"gres/gpu:1g.5gb=1", "1g.5gb"},
      {"gres/gpu:a100_1g.5gb=1,gres/gpu=1", "1g.5gb"},
      {"gres/gpu=1,gres/gpu:a100_1g.5gb=1,gres/gpu:a100=0", "1g.5gb"},
      {"gres/gpu:nvidia_a100_80gb_pcie_2g.20gb=1", "2g.20gb"},
      {"gres/gpu:NVIDIA_H100_80GB_HBM3_1g.10gb=1", "1g.10gb"},
      {"gres/gpu:1g.5gb+me=1", "1g.5gb+me"},
      {"gres/gpu:1c.3g.20gb=1", ""},
      {"gres/gpu:a100_3g=1", ""},
      {"gres/gpu:a100mig=1", ""},
  };
  for (const auto& [resources, wanted] : types) {
    SCOPED_TRACE(resources);
    const auto workload = with(resources);
    ASSERT_TRUE(workload) << workload.error().text();
    if (std::string_view(wanted).empty()) {
      EXPECT_EQ(left_out(*workload),
                (std::map<std::string, std::size_t>{{"unknown type of MIG", 1}}));
    } else {
      ASSERT_EQ(workload->requests.size(), 1U);
      EXPECT_EQ(text(workload->requests[0]), wanted);
    }
  }
}

TEST(Sacct, JobsMayHaveSeveralGpusOrInstances) {
  const std::pair<const char*, const char*> resources[] = {
      {"gres/gpu=4", "4 whole GPUs"},
      {"gres/gpu=8,node=1", "8 whole GPUs on one node"},
      {"gres/gpu=8,node=2", "8 whole GPUs"},
      {"gres/gpu:a100=3,gres/gpu:h100=1,gres/gpu=4", "4 whole GPUs"},
      {"gres/gpu:a100_1g.5gb=4,gres/gpu=4", "4 x 1g.5gb"},
      {"gres/gpu:1g.5gb=4,node=1", "4 x 1g.5gb on one node"},
      {"gres/gpu:a100_1g.5gb=2,gres/gpu:1g.5gb=2", "4 x 1g.5gb"},
      {"gres/gpu:1g.5gb=4,gres/gpu:2g.10gb=1", "instances of several sizes"},
      {"gres/gpu:1g.5gb=1,gres/gpu:a100=1", "instances of several sizes"},
      {"gres/gpu:a100=2,gres/gpu:a100_3g=1", "unknown type of MIG"},
      {"gres/gpu=100001", "more than 100000 GPUs"},
  };
  for (const auto& [had, wanted] : resources) {
    SCOPED_TRACE(had);
    const auto workload = with(had);
    ASSERT_TRUE(workload) << workload.error().text();
    EXPECT_EQ(
        workload->jobs.empty() ? workload->left_out.at(0).reason : text(workload->requests.at(0)),
        wanted);
  }
}

TEST(Sacct, HoursOfJobsThatStillRunAreCounted) {
  const auto workload = read_of_sacct(sacct_header + "1|0|0|3600|RUNNING|gres/gpu=2\n" +
                                      "2|0|0|7200|COMPLETED|gres/gpu:1g.5gb=3\n" +
                                      "3|0|Unknown|0|PENDING|gres/gpu=5\n");
  ASSERT_TRUE(workload) << workload.error().text();
  EXPECT_NEAR(workload->gpu_hours_read, 8, 1e-9);
  ASSERT_EQ(workload->left_out.size(), 2U);
  EXPECT_EQ(workload->left_out[0].reason, "still running");
  EXPECT_NEAR(workload->left_out[0].gpu_hours, 2, 1e-9);
  EXPECT_EQ(workload->left_out[1].gpu_hours, 0) << "never started";
}

TEST(Sacct, TakesTheRestOfTheMachine) {
  const auto workload = with("billing=8,cpu=8,gres/gpu=1,mem=31.50G,node=1");
  ASSERT_TRUE(workload);
  const JobDetails* details = workload->details_of(workload->jobs[0]);
  ASSERT_NE(details, nullptr);
  EXPECT_EQ(details->cpus, 8);
  EXPECT_EQ(details->host_memory, MiB{32256});
  EXPECT_EQ(workload->details_of(with("gres/gpu=1")->jobs[0]), nullptr);
  EXPECT_EQ(with("gres/gpu=1,mem=512K")->details[0].host_memory, MiB{1});
  EXPECT_EQ(with("gres/gpu=1,mem=2T")->details[0].host_memory, MiB{2 << 20});
  EXPECT_EQ(with("gres/gpu=1,mem=300")->details[0].host_memory, MiB{300});
}

/// The jobs of a listing with users and names, "alice|train-1", each of one GPU.
Result<Workload> named(const std::vector<std::string>& jobs, const TraceOptions& options = {}) {
  std::string text = "JobID|Submit|Start|ElapsedRaw|State|AllocTRES|User|JobName\n";
  for (std::size_t i = 0; i < jobs.size(); ++i)
    text += std::to_string(i + 1) + "|100|110|60|COMPLETED|gres/gpu=1|" + jobs[i] + "\n";
  return read_sacct(text, "log.txt", options);
}

/// Of each job; "-" where it has none.
std::vector<std::string> applications(const Workload& workload) {
  std::vector<std::string> all;
  for (const Job& job : workload.jobs) {
    const JobDetails* details = workload.details_of(job);
    all.push_back(details == nullptr ? "-" : details->application.value_or("-"));
  }
  return all;
}

using Names = std::vector<std::string>;

TEST(Sacct, JobsOfOneProgramAreOneApplication) {
  const auto workload = named({"alice|train", "alice|train", "bob|train", "alice|", "|train"});
  ASSERT_TRUE(workload) << workload.error().text();
  EXPECT_EQ(applications(*workload), (Names{"alice/train", "alice/train", "bob/train", "-", "-"}))
      << "a job of which a cell is empty has none";
  EXPECT_EQ(workload->details_of(workload->jobs[2])->user, "bob");
  EXPECT_EQ(workload->jobs[0].details, workload->jobs[1].details) << "stored once";
  EXPECT_EQ(workload->options.at("application"), "User/JobName");
  EXPECT_EQ(workload->notes.at("applications"), 2U);
}

TEST(Sacct, NamesThatDifferByANumberAreFolded) {
  const auto workload = named({"a|train-1", "a|train-2", "b|train-3", "a|lr_[7]", "a|12", "a|13"});
  ASSERT_TRUE(workload) << workload.error().text();
  EXPECT_EQ(applications(*workload),
            (Names{"a/train", "a/train", "b/train-3", "a/lr_[7]", "a/12", "a/13"}))
      << "of one alone, and where nothing else would be left, the number stays";
  Names many(FoldedNames::jobs_of_a_known_name, "a|net50");
  many.insert(many.end(), {"a|net7", "a|net8"});
  const auto frequent = named(many);
  ASSERT_TRUE(frequent) << frequent.error().text();
  EXPECT_EQ(applications(*frequent).front(), "a/net50") << "it is known by itself";
  EXPECT_EQ(applications(*frequent).back(), "a/net");
}

TEST(Sacct, OtherColumnsMayNameTheApplication) {
  TraceOptions options;
  options.application = Names{"JobName"};
  const auto by_name = named({"alice|train", "bob|train"}, options);
  ASSERT_TRUE(by_name) << by_name.error().text();
  EXPECT_EQ(applications(*by_name), (Names{"train", "train"}));
  options.application = Names{};
  const auto none = named({"alice|train"}, options);
  ASSERT_TRUE(none) << none.error().text();
  EXPECT_EQ(applications(*none), (Names{"-"}));
  EXPECT_FALSE(none->options.contains("application"));
  options.application = Names{"JobName", "Comment"};
  EXPECT_EQ(
      named({"alice|train"}, options).error().text(),
      "log.txt:1: there is no column Comment, which --application names; name columns of the file, "
      "or none");
  EXPECT_EQ(applications(*with("gres/gpu=1,mem=1G")), (Names{"-"})) << "nor has the list a name";
}

TEST(Sacct, TakesTimeFromTheColumnsThatExist) {
  const auto duration = [](const std::string& columns, const std::string& cells) {
    const auto workload = read_of_sacct(
        "AllocTRES|State|JobIDRaw|Submit|Start|" + columns +
        "\ngres/gpu=1|COMPLETED|5|2024-02-28T23:00:00|2024-02-28T23:00:00|" + cells + "\n");
    EXPECT_TRUE(workload) << workload.error().text();
    return workload && !workload->jobs.empty() ? in_seconds(workload->jobs[0].duration) : -1;
  };
  EXPECT_EQ(duration("End", "2024-03-01T01:00:00"), 26 * 3600) << "a leap year";
  EXPECT_EQ(duration("Elapsed|End", "1-02:03:04|2024-03-01T01:00:00"), 93784);
  EXPECT_EQ(duration("Elapsed|ElapsedRaw", "1-02:03:04|77"), 77);
  EXPECT_EQ(duration("Elapsed", "02:03"), 123);
  EXPECT_EQ(duration("ElapsedRaw|", "77|"), 77) << "sacct -p ends every line with a bar";
  EXPECT_EQ(duration("ElapsedRaw|End", "77|Unknown"), -1) << "still running";
}

TEST(Sacct, KnowsFromTheRequestThatAJobWantedNoGpu) {
  const auto workload = read_of_sacct(
      "JobID|Submit|Start|ElapsedRaw|State|AllocTRES|ReqTRES\n"
      "1|0|Unknown|0|PENDING||cpu=1,mem=1G\n"
      "2|0|Unknown|0|PENDING||cpu=1,gres/gpu=1,mem=1G\n");
  ASSERT_TRUE(workload);
  EXPECT_EQ(workload->notes.at("no_gpu"), 1U);
  EXPECT_EQ(workload->read, 1U);
}

TEST(Sacct, NamesTheLineThatIsWrong) {
  EXPECT_EQ(read_of_sacct("").error().text(),
            "log.txt: the file is empty; ask for them: sacct -a -X -P -o "
            "JobID,Submit,Start,End,ElapsedRaw,State,AllocTRES");
  const std::pair<const char*, const char*> headers[] = {
      {"Submit|Start|End|State|AllocTRES", "JobID"},
      {"JobID|Start|End|State|AllocTRES", "Submit"},
      {"JobID|Submit|End|State|AllocTRES", "Start"},
      {"JobID|Submit|Start|End|AllocTRES", "State"},
      {"JobID|Submit|Start|End|State", "AllocTRES"},
      {"JobID|Submit|Start|State|AllocTRES", "ElapsedRaw"}};
  for (const auto& [columns, missing] : headers) {
    const auto error = read_of_sacct(columns).error();
    EXPECT_EQ(error.place, "log.txt:1");
    EXPECT_EQ(error.message, std::string("the column ") + missing + " is missing");
    EXPECT_FALSE(error.remedy.empty());
  }
  EXPECT_EQ(read_of_sacct(sacct_header + "1|2|3\n").error().text(),
            "log.txt:2: the line has 3 cells, the header 6; the line may be torn, or a cell such "
            "as JobName "
            "has a '|' in it: leave that column out");
  EXPECT_EQ(read_of_sacct(sacct_header + "1|then|1010|60|COMPLETED|gres/gpu=1\n").error().text(),
            "log.txt:2: Submit is 'then', expected a time like 2024-01-31T12:00:00 or seconds "
            "since 1970; "
            "correct the line or remove it");
  EXPECT_EQ(
      read_of_sacct(sacct_header + "1|Unknown|1010|60|COMPLETED|gres/gpu=1\n").error().message,
      "Submit is 'Unknown', expected a time like 2024-01-31T12:00:00 or seconds since 1970");
  EXPECT_EQ(read_of_sacct(sacct_header + "1|1000|-5|60|COMPLETED|gres/gpu=1\n").error().message,
            "Start is '-5', expected a time like 2024-01-31T12:00:00 or seconds since 1970");
  EXPECT_EQ(read_of_sacct(sacct_header + "1|1000|1010|x|COMPLETED|gres/gpu=1\n").error().message,
            "ElapsedRaw is 'x', expected seconds");
  EXPECT_EQ(read_of_sacct(sacct_header + "1|1000|1010|60|done|gres/gpu=1\n").error().message,
            "State is 'done', expected a word such as COMPLETED");
  EXPECT_EQ(read_of_sacct(sacct_header + "|1000|1010|60|COMPLETED|gres/gpu=1\n").error().message,
            "the job has no JobID, or one with control characters");
  EXPECT_EQ(with("gres/gpu").error().message, "AllocTRES has 'gres/gpu', expected NAME=NUMBER");
  EXPECT_EQ(with("gres/gpu=x").error().message,
            "gres/gpu is 'x', expected a whole number from 0 to 1000000");
  EXPECT_EQ(with("gres/gpu:a100=-1").error().message,
            "gres/gpu:a100 is '-1', expected a whole number from 0 to 1000000");
  EXPECT_EQ(with("gres/gpu=1,cpu=many").error().message,
            "cpu is 'many', expected a whole number from 0 to 1000000");
  EXPECT_EQ(with("gres/gpu=1,mem=8Q").error().message, "mem is '8Q', expected a size such as 64G");
  EXPECT_EQ(with("cpu=1").error().text(),
            "log.txt: the trace has no job with a GPU; AllocTRES shows GPUs as gres/gpu where "
            "AccountingStorageTRES in slurm.conf tracks them");
  const std::string clocks = "JobID|Submit|Start|End|State|AllocTRES\n";
  EXPECT_EQ(
      read_of_sacct(clocks + "1|1000|1010|900|COMPLETED|gres/gpu=1\n").error().text(),
      "log.txt:2: the job ends before it starts; clocks may have been put back; ask sacct for "
      "ElapsedRaw as well");
  const std::string elapsed = "JobID|Submit|Start|Elapsed|State|AllocTRES\n";
  for (const char* wrong : {"5", "1:2:3:4", "x-00:00:01", "-1:00", "999999-00:00:01", ""})
    EXPECT_EQ(
        read_of_sacct(elapsed + "1|1000|1010|" + wrong + "|COMPLETED|gres/gpu=1\n").error().message,
        std::string("Elapsed is '") + wrong + "', expected [days-]hours:minutes:seconds");
}

TEST(Sacct, BadLinesMayBePassedOver) {
  BadLines bad;
  TraceOptions options;
  options.bad_lines = &bad;
  const auto workload = read_sacct(
      "JobID|Submit|Start|End|ElapsedRaw|State|AllocTRES\n"
      "1|1000|1010|1070|60|COMPLETED|gres/gpu=1\n"
      "2|1000|1010|10\n"
      "3|\xff|1010|1070|60|COMPLETED|gres/gpu=1\n"
      "4|1000|1010|1070|soon|COMPLETED|gres/gpu=1\n"
      "5|1000|1010|1070|60|COMPLETED|gres/gpu=1\n",
      "log.txt", options);
  ASSERT_TRUE(workload) << workload.error().text();
  EXPECT_EQ(workload->jobs.size(), 2U);
  EXPECT_EQ(workload->read, 2U) << "a line that cannot be read is not a record";
  ASSERT_EQ(bad.count, 3U);
  EXPECT_EQ(bad.first[0].place, "log.txt:3");
  EXPECT_EQ(bad.first[1].message, "the line is not UTF-8 text");
  EXPECT_EQ(bad.first[2].message, "ElapsedRaw is 'soon', expected seconds");
}

constexpr const char* with_use =
    "JobID|JobIDRaw|NodeList|Submit|Start|ElapsedRaw|State|AllocTRES|TRESUsageInAve|"
    "TRESUsageInMax\n"
    "1|1|n0|1000|1000|100|COMPLETED|gres/gpu=1||\n"
    "1.batch|1.batch|n0|1000|1000|100|COMPLETED|gres/gpu=1|cpu=1,gres/gpumem=2G,gres/gpuutil=20|"
    "gres/gpumem=3G,gres/gpuutil=90\n"
    "1.0|1.0|n0|1050|1050|50|COMPLETED|gres/gpu=1|gres/gpumem=6G,gres/gpuutil=60|gres/"
    "gpumem=9000M\n"
    "2|2|n1|1000|1000|100|COMPLETED|gres/gpu=1|gres/gpumem=0,gres/gpuutil=0|gres/gpumem=0\n"
    "3|3|n2|1000|1000|100|COMPLETED|gres/gpu=2|gres/gpumem=2G,gres/gpuutil=120|gres/gpumem=3G\n"
    "4_7|9|n3|1000|1000|100|COMPLETED|gres/gpu=1||\n"
    "5|5|n4|1000|1000|100|COMPLETED|gres/gpu:1g.5gb=1|gres/gpumem=1G,gres/gpuutil=50|\n";

TEST(Sacct, WhatAJobUsedIsItsSizeAndSpeed) {
  const auto workload = read_sacct(with_use, "log.txt", {});
  ASSERT_TRUE(workload) << workload.error().text();
  ASSERT_EQ(workload->jobs.size(), 5U);
  const auto asks = [&](std::size_t i) {
    return text(workload->requests[workload->jobs[i].request]);
  };
  const auto speed = [&](std::size_t i) { return workload->speeds[workload->jobs[i].speed]; };
  EXPECT_EQ(asks(0), "9000 MiB") << "the most of any step";
  // 20 % all the time and 60 % in the second half.
  EXPECT_EQ(speed(0).law, law_of_use(50));
  EXPECT_EQ(asks(1), "1 MiB");
  EXPECT_EQ(speed(1).law, law_of_use(0));
  EXPECT_EQ(asks(2), "2 whole GPUs") << "several GPUs are not one slice";
  EXPECT_EQ(asks(3), "all of a GPU") << "nothing is known of it";
  EXPECT_TRUE(speed(3).flat);
  EXPECT_EQ(asks(4), "1g.5gb") << "it had a slice already";
  EXPECT_EQ(workload->notes.at("sized_by_use"), 2U);
  EXPECT_EQ(workload->notes.at("gpu_unused"), 1U);

  TraceOptions as_asked;
  as_asked.by_use = false;
  const auto asked = read_sacct(with_use, "log.txt", as_asked);
  ASSERT_TRUE(asked);
  EXPECT_EQ(text(asked->requests[asked->jobs[0].request]), "all of a GPU");
  EXPECT_EQ(asked->options.at("sizes"), "asked");
}

TEST(Sacct, SamplesTakeThePlaceOfWhatSlurmAccounted) {
  TraceOptions options;
  options.samples = std::make_shared<const NamedText>(
      NamedText{"dcgm.csv",
                "timestamp,Hostname,gpu,hpc_job,DCGM_FI_DEV_GPU_UTIL,DCGM_FI_DEV_FB_USED\n"
                "1010,n3,0,9,30,4000\n1020,n3,0,9,50,5000\n1010,n1,0,,10,2000\n1010,n1,3,,0,0\n"});
  const auto workload = read_sacct(with_use, "log.txt", options);
  ASSERT_TRUE(workload) << workload.error().text();
  const auto asks = [&](std::size_t i) {
    return text(workload->requests[workload->jobs[i].request]);
  };
  EXPECT_EQ(asks(0), "9000 MiB");
  EXPECT_EQ(asks(1), "2000 MiB") << "by its node and time";
  EXPECT_EQ(asks(3), "5000 MiB") << "by its raw number";
  EXPECT_EQ(workload->speeds[workload->jobs[3].speed].law, law_of_use(40));
  EXPECT_EQ(workload->notes.at("samples"), 4U);
}

TEST(Sacct, UseThatCannotBeReadIsRefused) {
  const auto error = [](const std::string& cell) {
    return read_sacct(
               "JobID|Submit|Start|ElapsedRaw|State|AllocTRES|TRESUsageInAve\n"
               "1|1000|1000|100|COMPLETED|gres/gpu=1|" +
                   cell + "\n",
               "log.txt", {})
        .error()
        .message;
  };
  EXPECT_EQ(error("gres/gpuutil=x"), "gres/gpuutil is 'x', expected a percentage");
  EXPECT_EQ(error("gres/gpumem=1Q"), "gres/gpumem is '1Q', expected a size such as 8192M");
  EXPECT_EQ(error("gres/gpumem"), "TRESUsageInAve has 'gres/gpumem', expected NAME=NUMBER");
}

TEST(Sacct, AListForPeopleIsNamedAsSuch) {
  EXPECT_EQ(
      read_sacct("JobID        Submit   Start\n------------ -------- --------\n", "log.txt", {})
          .error()
          .text(),
      "log.txt:1: the columns are padded for people, and cells may be cut; print the list "
      "again with sacct -P");
}

TEST(Sacct, ReadsTheExample) {
  const auto workload = read_trace("sacct:" + source_dir() + "/examples/traces/sacct.txt", {});
  ASSERT_TRUE(workload) << workload.error().text();
  EXPECT_EQ(workload->read, 9U);
  EXPECT_EQ(workload->jobs.size(), 7U);
  EXPECT_EQ(text(workload->requests[workload->jobs[6].request]), "4 whole GPUs on one node");
  EXPECT_EQ(workload->notes.at("state_out_of_memory"), 1U);
}

}  // namespace
}  // namespace cleave
