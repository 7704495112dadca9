// Standard Workload Format: how processors become shares, what is left out and why, and errors in
// damaged files.

#include "simulate/traces/swf.hpp"
#include "base/places_test.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/time.hpp"

namespace cleave {
namespace {

/// A job's line with the values that the reader uses; the rest is unknown.
std::string line(int number, int submit, const std::string& run, int allocated, int requested,
                 int status) {
  return "  " + std::to_string(number) + " " + std::to_string(submit) + "\t-1 " + run + " " +
         std::to_string(allocated) + " -1 -1 " + std::to_string(requested) + " -1 -1 " +
         std::to_string(status) + " 1 1 1 1 1 -1 -1\n";
}

Result<Workload> read_of_swf(const std::string& text, std::int64_t processors_per_gpu = 1) {
  TraceOptions options;
  options.processors_per_gpu = processors_per_gpu;
  return read_swf("; Version: 2.2\n;\n" + text, "log.swf", options);
}

TEST(Swf, SortsCountsAndLeavesOut) {
  const auto workload = read_of_swf(line(1, 500, "60.5", 1, 9, 1) +     // allocated counts
                                        line(2, 100, "30", -1, 4, 0) +  // else requested
                                        line(3, 110, "-1", 2, 2, 5) +   // never started
                                        line(4, 120, "0", 2, 2, 1) +    // no run time
                                        line(5, 130, "9", -1, -1, 1) +  // processors unknown
                                        line(6, 140, "9", 8, 8, 1) +    // several GPUs
                                        line(7, 150, "9", 7, 7, 5) +    // cancelled while it ran
                                        line(1, 500, "20", 1, 1, 2) +   // parts of job 1
                                        line(1, 600, "40.5", 1, 1, 3) + "\n",
                                    7);
  ASSERT_TRUE(workload) << workload.error().text();
  EXPECT_EQ(workload->read, 9U);
  ASSERT_EQ(workload->jobs.size(), 4U);
  EXPECT_EQ(workload->jobs[0].id, "swf-2");
  EXPECT_EQ(text(workload->requests[workload->jobs[1].request]), "2 whole GPUs")
      << "of seven processors each, for eight";
  EXPECT_EQ(workload->jobs[3].id, "swf-1");
  EXPECT_EQ(workload->jobs[3].arrival, Instant{} + std::chrono::seconds(400))
      << "from the first one on";
  EXPECT_EQ(workload->jobs[3].duration, std::chrono::milliseconds(60500));
  std::map<std::string, std::size_t> left;
  for (const ReasonCount& entry : workload->left_out) left[entry.reason] = entry.count;
  EXPECT_EQ(left, (std::map<std::string, std::size_t>{{"never started", 1},
                                                      {"no run time", 1},
                                                      {"processors unknown", 1},
                                                      {"part of a job", 2}}));
  EXPECT_EQ(workload->notes.at("state_failed"), 1U);
  EXPECT_EQ(workload->notes.at("state_cancelled"), 1U);
  EXPECT_EQ(workload->options.at("processors_per_gpu"), "7");
}

TEST(Swf, SeventhsOfAGpuBecomeSlicesOfIt) {
  const GpuModel& a100 = **find_gpu_model("A100-40GB");
  std::vector<const Profile*> profiles;
  for (const Profile& profile : a100.profiles) profiles.push_back(&profile);
  const std::map<int, int> slices = {{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 7}, {6, 7}, {7, 7}};
  for (const auto& [processors, compute] : slices) {
    const auto workload = read_of_swf(line(1, 0, "5", processors, processors, 1), 7);
    ASSERT_TRUE(workload);
    const auto share = std::get<ByShare>(workload->requests[workload->jobs[0].request].wanted);
    EXPECT_EQ(profile_of_share(a100, profiles, share)->compute.value, compute) << processors;
  }
  const auto tiny = read_of_swf(line(1, 0, "5", 1, 1, 1), 5000);
  EXPECT_EQ(std::get<ByShare>(tiny->requests[0].wanted).thousandths, 1);
}

TEST(Swf, AProgramIsAnApplication) {
  const std::string fields = " 0 -1 60 1 -1 -1 1 -1 -1 1 ";
  const std::string text = "1" + fields + "7 1 3 1 1 -1 -1\n2" + fields + "8 1 -1 1 1 -1 -1\n";
  const auto applications = [&](std::optional<std::vector<std::string>> columns) {
    TraceOptions options;
    options.application = std::move(columns);
    const auto workload = read_swf(text, "log.swf", options);
    std::vector<std::string> all;
    if (!workload) return std::vector{workload.error().text()};
    for (const Job& job : workload->jobs) {
      const JobDetails* details = workload->details_of(job);
      all.push_back(details == nullptr ? "-" : details->application.value_or("-"));
    }
    return all;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(applications({}), (Names{"executable-3", "-"})) << "it is unknown of the second";
  EXPECT_EQ(applications(Names{"user", "group"}), (Names{"user-7/group-1", "user-8/group-1"}));
  EXPECT_EQ(applications(Names{}), (Names{"-", "-"}));
  EXPECT_EQ(
      applications(Names{"queue"}),
      (Names{"log.swf: there is no column queue, which --application names; name columns of the "
             "file, or none"}));
}

TEST(Swf, NamesTheLineThatIsWrong) {
  EXPECT_EQ(read_of_swf("1 2 3\n").error().text(),
            "log.swf:3: the line has 3 fields, the format 18; the line may be torn");
  EXPECT_EQ(read_of_swf(line(1, 0, "x", 1, 1, 1)).error().text(),
            "log.swf:3: field 4 is 'x', expected a number; correct the line or remove it");
  EXPECT_EQ(read_of_swf(line(1, -1, "5", 1, 1, 1)).error().message,
            "submit time (field 2) is '-1', expected seconds from the start of the trace");
  EXPECT_EQ(read_of_swf(line(-1, 0, "5", 1, 1, 1)).error().message,
            "job number (field 1) is '-1', expected a whole number from 0 to 9223372036854775807");
  EXPECT_EQ(read_of_swf(line(1, 0, "1e300", 1, 1, 1)).error().message,
            "run time (field 4) is '1e300', expected seconds");
  EXPECT_EQ(
      read_of_swf(line(1, 0, "5", -2, 1, 1)).error().message,
      "allocated processors (field 5) is '-2', expected a whole number from -1 to 1000000000");
  EXPECT_EQ(
      read_of_swf(line(1, 0, "5", 1, -2, 1)).error().message,
      "requested processors (field 8) is '-2', expected a whole number from -1 to 1000000000");
  EXPECT_EQ(read_of_swf(line(1, 0, "5", 1, 1, 6)).error().message,
            "status (field 11) is '6', expected a whole number from -1 to 5");
  EXPECT_EQ(read_of_swf(line(1, 0, "5", 1, 1, 1) + line(1, 0, "5", 1, 1, 1)).error().text(),
            "log.swf:4: there are two jobs numbered 1; remove one of the two");
  EXPECT_EQ(read_of_swf("\xff\n").error().text(),
            "log.swf:3: the line is not UTF-8 text; convert the file to UTF-8");
  EXPECT_EQ(read_of_swf("").error().text(), "log.swf: the trace has no jobs");
}

TEST(Swf, ReadsTheExample) {
  TraceOptions options;
  options.processors_per_gpu = 7;
  const auto workload = read_trace("swf:" + source_dir() + "/examples/traces/log.swf", options);
  ASSERT_TRUE(workload) << workload.error().text();
  EXPECT_EQ(workload->read, 7U);
  EXPECT_EQ(workload->jobs.size(), 6U);
  EXPECT_EQ(text(workload->requests[workload->jobs[5].request]), "4 whole GPUs");
}

TEST(Swf, MoreGpusThanAJobMayHaveAreLeftOut) {
  const auto workload =
      read_of_swf(line(1, 0, "5", 100'000, 1, 1) + line(2, 0, "5", 1'000'000'000, 1, 1));
  ASSERT_TRUE(workload) << workload.error().text();
  ASSERT_EQ(workload->jobs.size(), 1U);
  EXPECT_EQ(workload->requests[0].places, 100'000U);
  ASSERT_EQ(workload->left_out.size(), 1U);
  EXPECT_EQ(workload->left_out[0].reason, "more than 100000 GPUs");
  EXPECT_NEAR(workload->gpu_hours_read, 1.0001e9 * 5 / 3600, 1e-3);
}

}  // namespace
}  // namespace cleave
