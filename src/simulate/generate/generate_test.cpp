// Laws of every generated workload, and the counts and figures that the papers state.

#include "simulate/generate/generate.hpp"
#include "base/places_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "base/csv.hpp"
#include "base/format.hpp"
#include "base/random.hpp"
#include "base/read_text.hpp"
#include "base/temporary_folder_test.hpp"
#include "base/text.hpp"
#include "model/fleet_file.hpp"
#include "model/workload_file.hpp"
#include "placement/request_table.hpp"
#include "simulate/generate/generate_parts.hpp"
#include "simulate/generate/taming_applications.hpp"

namespace cleave {
namespace {

Workload made(std::string_view spec, std::uint64_t seed = 1) {
  auto workload = generate_workload(spec, seed);
  EXPECT_TRUE(workload) << spec << ": " << workload.error().text();
  return workload ? *workload : Workload();
}

TEST(Generators, HaveNamesOfTheirOwnAndAnswerToThem) {
  std::set<std::string_view> names;
  for (const GeneratorRow& row : generators()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.source.empty()) << row.name;
    for (const OptionRow& option : row.options) {
      EXPECT_FALSE(option.otherwise.empty())
          << row.name << " " << option.name << " states no default";
      EXPECT_FALSE(option.help.empty()) << row.name << " " << option.name;
    }
  }
  EXPECT_EQ(names.size(), 28U);
}

TEST(Generators, SameSeedSameBytesAnotherSeedOthers) {
  for (const GeneratorRow& row : generators()) {
    const std::string text = workload_text(made(row.name, 7));
    EXPECT_TRUE(workload_text(made(row.name, 7)) == text) << row.name;
    EXPECT_TRUE(workload_text(made(row.name, 8)) != text) << row.name;
  }
}

TEST(Generators, AreReadBackAsTheyAre) {
  for (const GeneratorRow& row : generators())
    for (const std::uint64_t seed : {1, 2, 3}) {
      const Workload workload = made(row.name, seed);
      const std::string text = workload_text(workload);
      const auto read = parse_workload(text, "made");
      ASSERT_TRUE(read) << row.name << ": " << read.error().text();
      ASSERT_TRUE(workload_text(*read) == text) << row.name;
      EXPECT_EQ(read->requests, workload.requests) << row.name;
      EXPECT_EQ(read->speeds, workload.speeds) << row.name;
    }
}

TEST(Generators, EveryJobFitsTheFleetItIsMeantFor) {
  for (const GeneratorRow& row : generators()) {
    const auto fleet = parse_fleet_in_short(row.fleet, ProfileChoice());
    ASSERT_TRUE(fleet) << row.name << ": " << fleet.error().text();
    for (const std::uint64_t seed : {1, 2, 3}) {
      const Workload workload = made(row.name, seed);
      EXPECT_EQ(workload.read, workload.jobs.size());
      for (const Request& request : workload.requests) {
        const ResolvedRequest resolved = resolve(request, fleet->geometries);
        EXPECT_TRUE(resolved.impossible.empty()) << row.name << ": " << resolved.impossible;
      }
      Instant last{};
      for (const Job& job : workload.jobs) {
        EXPECT_GE(job.arrival, last) << row.name << " " << job.id;
        EXPECT_TRUE(job.duration > Duration::zero() || workload.kind_of(job) == JobKind::service)
            << row.name << " " << job.id;
        last = job.arrival;
      }
    }
  }
}

TEST(Generators, SpeedsGrowWithTheProfile) {
  for (const GeneratorRow& row : generators()) {
    const GpuModel& model = **find_gpu_model(row.fleet.substr(row.fleet.find('x') + 1));
    const Workload workload = made(row.name);
    for (const SpeedModel& speed : workload.speeds) {
      if (speed.flat) continue;
      ASSERT_TRUE(speed.table) << row.name;
      ASSERT_TRUE(speed.table->contains(model.largest().name)) << row.name;
      EXPECT_EQ(speed.table->find(model.largest().name)->second, 1) << row.name;
      for (const auto& [one, slow] : *speed.table)
        for (const auto& [other, fast] : *speed.table) {
          if (one == mig_off || other == mig_off) continue;
          const Profile &a = *model.find(one), &b = *model.find(other);
          if (a.compute <= b.compute && a.memory <= b.memory) {
            EXPECT_LE(slow, fast * 1.01) << row.name << " " << one << " " << other;
          }
        }
    }
  }
}

// docs/workloads.md mentions every generator and every default.
TEST(Generators, AreDocumentedWithTheirDefaults) {
  const auto page = read_text(source_dir() + "/docs/workloads.md");
  ASSERT_TRUE(page);
  for (const GeneratorRow& row : generators()) {
    EXPECT_NE(page->find(fmt::format("`{}`", row.name)), std::string::npos) << row.name;
    for (const OptionRow& option : row.options)
      EXPECT_NE(page->find(fmt::format("`{}={}`", option.name, option.otherwise)),
                std::string::npos)
          << row.name << " " << option.name << "=" << option.otherwise;
  }
}

TEST(Generators, WrongOptionsAreRefused) {
  const auto message = [](std::string_view spec) {
    const auto workload = generate_workload(spec, 1);
    return workload ? std::string("accepted") : workload.error().text();
  };
  EXPECT_EQ(message("hm5"), "there is no generator 'hm5'; did you mean 'hm1'?");
  EXPECT_NE(message("hm1:job=3").find("did you mean 'jobs'?"), std::string::npos)
      << message("hm1:job=3");
  EXPECT_NE(message("hm1:jobs=0").find("jobs: '0' is not a whole number from 1 to"),
            std::string::npos)
      << message("hm1:jobs=0");
  EXPECT_NE(message("normal-25:unit=h").find("'h' is not a value of it"), std::string::npos);
  EXPECT_NE(message("lab-day:jobs=3").find("no option"), std::string::npos);
  for (const std::string_view spec :
       {"hm1:jobs=1e9", "hm1:seconds=nan", "hm1:jobs", "hm1:", "ml1:small=0;large=0",
        "hm1:memory=50000", "normal-25:longest=2", "normal-25:gap=1e6;jobs=1000000",
        "dyna-p-50:smallest-batch=3;largest-batch=3", "dyna-p-50:least-slack=5;most-slack=4",
        "dyna-p-5000:rate=0.001", "taming:application=quiskit", "taming:jobs=0",
        "taming:scaling=all", "dyna-p-50:least-runs=9;most-runs=8"})
    EXPECT_NE(message(spec), "accepted") << spec;
}

TEST(Generators, TamingsMixesAreThoseOfTable3) {
  const Workload all = made("taming");
  EXPECT_EQ(all.jobs.size(), 7 * taming_applications().size());
  const Workload one = made("taming:application=nekrs;spread=0");
  ASSERT_EQ(one.jobs.size(), 7U);
  // The law gives back the gain from which the GPU-bound part was computed: 25 % for 12 %.
  EXPECT_NEAR(7 * one.speeds[one.jobs[0].speed].table->find("1g.12gb")->second, 25.0 / 12, 1e-3);
  // Only three applications have a larger variant; those do not fit 1g.12gb.
  const Workload larger = made("taming:jobs=0;larger=2");
  EXPECT_EQ(larger.jobs.size(), 6U);
  for (const SpeedModel& speed : larger.speeds) {
    EXPECT_FALSE(speed.table->contains("1g.12gb"));
    EXPECT_TRUE(speed.table->contains("1g.24gb"));
  }
  for (const TamingApplication& each : taming_applications()) {
    EXPECT_TRUE(std::ranges::is_sorted(each.scaling.bound)) << each.name;
    EXPECT_LT(each.scaling.usual, each.scaling.bound.size()) << each.name;
    EXPECT_LE(each.memory.value, 11264) << each.name;
    EXPECT_GE(made(fmt::format("taming:application={}", each.name)).jobs.size(), 7U);
  }
}

/// A value of an option other than its default.
std::string another(const OptionRow& option) {
  const std::map<std::string_view, std::string_view> named = {
      {"kernel-share", "0.6"}, {"smallest-batch", "2"},   {"largest-batch", "4"},
      {"longest-s", "600"},    {"longest", "1000"},       {"unit", "min"},
      {"shares", "even"},      {"transfer-share", "0.5"}, {"small-row", "8"},
      {"image-row", "128"},    {"tokens", "200"},         {"instance", "next"},
      {"shared", "on"},        {"scaling", "least"},      {"application", "qiskit"}};
  if (option.otherwise == "32") return "64";  // batches from 32 to 64
  if (option.otherwise == "64") return "32";
  if (const auto known = named.find(option.name); known != named.end())
    return std::string(known->second);
  if (option.name == "length") return option.otherwise == "all" ? "long" : "all";
  if (option.values == "COUNT" || option.values == "MIB")
    return std::to_string(*parse_integer(option.otherwise) * 2 + 1);
  return std::to_string(*parse_number(option.otherwise) * 0.5 + (option.otherwise == "0" ? 3 : 0));
}

/// A trace of queries as BurstGPT has it.
std::string trace_file(const TemporaryFolder& folder, std::string_view rows) {
  const std::string path = (folder.path() / "trace.csv").string();
  std::ofstream(path) << "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
                      << rows;
  return path;
}

TEST(OnlineTraces, QueriesComeFromTheTrace) {
  const TemporaryFolder folder;
  // One that failed and one outlier are left out; the longer half is the last one alone.
  const std::string path =
      trace_file(folder, "1,a,10,100,110,c\n2,a,9,0,9,c\n3,a,9000,9,9009,c\n4,a,20,200,220,c\n");
  for (const bool only_long : {false, true}) {
    const Workload workload = made(
        fmt::format("normal-25:queries=1;trace={};length={}", path, only_long ? "long" : "all"));
    std::set<std::int64_t> tokens;
    for (const Job& job : workload.jobs) tokens.insert(*workload.details_of(job)->output_tokens);
    EXPECT_EQ(tokens, only_long ? std::set<std::int64_t>{200} : (std::set<std::int64_t>{100, 200}));
  }
}

TEST(OnlineTraces, WhatIsWrongWithATraceIsSaid) {
  const TemporaryFolder folder;
  const auto message = [&](std::string_view rows) {
    const auto workload =
        generate_workload(fmt::format("normal-25:trace={}", trace_file(folder, rows)), 1);
    return workload ? std::string("accepted") : workload.error().text();
  };
  EXPECT_NE(message("").find("no query of the trace"), std::string::npos) << message("");
  EXPECT_NE(message("1,a,x,1,1,c\n").find("trace.csv:2"), std::string::npos)
      << message("1,a,x,1,1,c\n");
  EXPECT_NE(message("1,a,-1,1,1,c\n").find("numbers of tokens"), std::string::npos);
  EXPECT_NE(message("1,a,1\n"), "accepted");
  std::ofstream(folder.path() / "other.csv") << "a,b\n1,2\n";
  const auto other =
      generate_workload("normal-25:trace=" + (folder.path() / "other.csv").string(), 1);
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().text().find("Request tokens"), std::string::npos);
  EXPECT_FALSE(generate_workload("normal-25:trace=/nowhere.csv", 1));
}

// Whatever is in the file, it is read or refused.
TEST(OnlineTraces, RandomBytesAreReadOrRefused) {
  const TemporaryFolder folder;
  Random random(7);
  constexpr std::string_view pieces[] = {"1", ",",  "\n", "\"", "-", "99999999999999999999",
                                         "a", "\r", "0"};
  std::size_t refused = 0;
  for (int round = 0; round < 200; ++round) {
    std::string rows = "1,a,10,10,20,c\n";
    for (std::uint64_t i = random.below(40); i > 0; --i)
      rows += pieces[random.below(std::size(pieces))];
    const auto workload =
        generate_workload(fmt::format("normal-25:jobs=3;trace={}", trace_file(folder, rows)), 1);
    refused += workload ? 0 : 1;
    if (workload) {
      EXPECT_EQ(workload->jobs.size(), 3U);
    }
  }
  EXPECT_GT(refused, 50U);
}

// What crosses the link is what does not fit, once a pass; the file says the same.
TEST(OnlineLink, OffloadedWeightsCrossTheLink) {
  const Workload workload = made("normal-25:shared=on");
  const std::string text = workload_text(workload);
  const auto read = parse_workload(text, "made");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_TRUE(workload_text(*read) == text);
  EXPECT_EQ(read->speeds, workload.speeds);
  EXPECT_EQ(read->requests, workload.requests);
  std::size_t crossing = 0;
  for (const Job& job : workload.jobs) {
    const auto& offload = workload.speeds[job.speed].offload;
    EXPECT_EQ(offload.has_value(), workload.details_of(job)->offload.has_value()) << job.id;
    if (!offload) continue;
    ++crossing;
    EXPECT_NEAR(offload->touches_per_s * in_seconds(job.duration),
                *workload.details_of(job)->offload_touches, 1e-6);
    EXPECT_FALSE(workload.requests[job.request].offload) << "it runs on its profile alone";
  }
  EXPECT_GT(crossing, 50U);
}

// Every option has an effect: a value other than its default changes the workload.
TEST(Generators, EveryOptionCounts) {
  const TemporaryFolder folder;
  for (const GeneratorRow& row : generators())
    for (const OptionRow& option : row.options) {
      std::string base(row.name);
      // What concerns a size that the mix lacks, or a network that it may not draw: with many jobs.
      for (const OptionRow& size : row.options) {
        const bool lacks = size.otherwise == "0" && option.name == fmt::format("{}-s", size.name);
        const bool draws = row.name.starts_with("ml") && size.values == "COUNT" &&
                           (size.name == "small" || size.name == "large") &&
                           size.name != option.name;
        if (lacks || draws) base += fmt::format("{}{}=40", base == row.name ? ":" : ";", size.name);
      }
      const std::string value =
          option.name == "trace" ? trace_file(folder, "1,a,10,100,110,c\n") : another(option);
      const std::string spec =
          fmt::format("{}{}{}={}", base, base == row.name ? ":" : ";", option.name, value);
      EXPECT_TRUE(workload_text(made(spec)) != workload_text(made(base))) << spec;
    }
}

/// The GB in the name of the smallest instance that holds the job, on an A100-40GB.
std::int64_t size_gb(const Workload& workload, const Job& job) {
  const auto memory = std::get<BySize>(workload.requests[job.request].wanted).memory;
  for (const auto& [usable, gb] : {std::pair{4864, 5}, {9984, 10}, {20096, 20}, {40320, 40}})
    if (memory.value <= usable) return gb;
  return 0;
}

TEST(Migm, MixesAreAsInTables1And2) {
  const std::map<std::string, std::map<std::int64_t, int>> mixes = {
      {"hm1", {{5, 50}}},
      {"hm2", {{5, 50}}},
      {"hm3", {{5, 100}}},
      {"hm4", {{20, 50}}},
      {"nw", {{5, 21}}},
      {"ht1", {{5, 11}, {10, 2}, {40, 2}}},
      {"ht2", {{5, 6}, {20, 6}, {40, 6}}},
      {"ht3", {{5, 24}, {20, 6}, {40, 6}}},
      {"ml1", {{5, 7}, {20, 7}}},
      {"ml2", {{5, 21}}},
      {"ml3", {{20, 18}}},
      {"flan-t5-train", {{5, 4}}},
      {"flan-t5", {{5, 6}}},
      {"qwen2", {{10, 1}}},
      {"llama3", {{10, 1}}},
  };
  EXPECT_EQ(mixes.size() + 1, migm_generators().size()) << "all but tight-fit";
  for (const GeneratorRow& row : migm_generators()) {
    if (row.name == "tight-fit") continue;
    const Workload workload = made(row.name, 3);
    std::map<std::int64_t, int> found;
    for (const Job& job : workload.jobs) {
      ++found[size_gb(workload, job)];
      EXPECT_EQ(job.arrival, Instant{});
      // A job has speeds on exactly the profiles that hold it.
      EXPECT_EQ(workload.speeds[job.speed].table->contains("1g.5gb"), size_gb(workload, job) == 5)
          << job.id;
      EXPECT_EQ(workload.speeds[job.speed].table->contains("4g.20gb"),
                size_gb(workload, job) <= 20);
    }
    EXPECT_EQ(found, mixes.at(std::string(row.name))) << row.name;
  }
}

TEST(Migm, TheGroupsOfHt1TakeAboutTheSameTime) {
  const Workload workload = made("ht1", 5);
  std::map<std::int64_t, double> seconds;
  for (const Job& job : workload.jobs) seconds[size_gb(workload, job)] += in_seconds(job.duration);
  for (const auto& [size, total] : seconds) EXPECT_NEAR(total, 44, 44 * 0.06) << size;
}

/// The mean of all jobs of this size, on the whole GPU.
double mean_seconds(const Workload& workload, std::int64_t gb) {
  double sum = 0, count = 0;
  for (const Job& job : workload.jobs)
    if (size_gb(workload, job) == gb) sum += in_seconds(job.duration), ++count;
  return sum / count;
}

/// The speed of the workload's first job.
double speed_on(const Workload& workload, std::string_view profile) {
  return workload.speeds[workload.jobs.front().speed].table->find(profile)->second;
}

// A.1, table 3: the stages add up to 3.616 s on the whole GPU and 4.488 s as one of seven. And of
// Needleman-Wunsch 0.523 and 1.172 s.
TEST(Migm, JobsTakeAsLongOnSevenSlicesAsMeasured) {
  const double whole = 0.24 + 0.0122 + 0.003555 + 3.36 + 0.00058;
  const double sliced = 0.98 + 0.0102 + 0.002647 + 3.47 + 0.02469;
  for (const std::string_view name : {"hm1", "hm3"}) {
    const Workload workload = made(fmt::format("{}:spread=0", name));
    EXPECT_NEAR(in_seconds(workload.jobs.front().duration), whole, 0.001) << name;
    EXPECT_NEAR(whole / speed_on(workload, "1g.5gb"), sliced, 0.002) << name;
    EXPECT_GT(speed_on(workload, "3g.20gb"), speed_on(workload, "1g.5gb")) << name;
    EXPECT_GT(speed_on(workload, "4g.20gb"), 0.99) << "has no neighbour of its size: " << name;
  }
  const Workload nw = made("nw:spread=0");
  EXPECT_NEAR(in_seconds(nw.jobs.front().duration) / speed_on(nw, "1g.5gb"), 1.171507, 0.002);
}

// 5.1: small jobs take less time. Ht1 fixes by how much: 11 small take as long as 2 large.
TEST(Migm, SmallJobsOfTheHeterogeneousMixesAreShorter) {
  for (const std::string_view name : {"ht1", "ht2", "ht3"}) {
    const Workload workload = made(name);
    EXPECT_NEAR(mean_seconds(workload, 40) / mean_seconds(workload, 5), 5.5, 0.3) << name;
  }
}

// MISO: BERT in training, batch 2, is at 0.39 of its speed on 2g; inference was at 0.86.
TEST(Migm, TrainingsRunAtTheSpeedsOfTrainings) {
  const Workload small = made("ml2");
  EXPECT_NEAR(speed_on(small, "1g.5gb"), 0.207, 0.002);
  EXPECT_EQ(speed_on(small, "2g.10gb"), 0.3891);
  EXPECT_EQ(speed_on(small, "4g.20gb"), 0.688);
  EXPECT_EQ(speed_on(made("ml2:small-row=4"), "2g.10gb"), 0.325);
  const Workload large = made("ml3");
  for (const Job& job : large.jobs) {
    const bool bert = *large.details_of(job)->application == "bert-large";
    EXPECT_EQ(large.speeds[job.speed].table->find("3g.20gb")->second, bert ? 0.5174 : 0.6524);
  }
  EXPECT_EQ(made("ml3:transfer-share=0.3").speeds.front().transfer_share, 0.3);
}

// 5.2.1: the small BERTs take about 3.5 and 4.7 GB. ResNet-50 at batch 32 is not a large job.
TEST(Migm, MemoryOfTrainingsIsTheEstimators) {
  std::set<std::int64_t> found;
  const Workload small = made("ml2"), large = made("ml3:resnet50-batch=32");
  for (const Job& job : small.jobs)
    found.insert(std::get<BySize>(small.requests[job.request].wanted).memory.value);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_NEAR(static_cast<double>(*found.begin()) / 1024, 3.5, 0.05);
  EXPECT_NEAR(static_cast<double>(*found.rbegin()) / 1024, 4.7, 0.05);
  for (const Job& job : large.jobs)
    if (*large.details_of(job)->application == "resnet50-large") {
      EXPECT_EQ(std::get<BySize>(large.requests[job.request].wanted).memory.value, 4076);
    }
  const auto beyond = generate_workload("ml3:vgg16-batch=500", 1);
  ASSERT_FALSE(beyond);
  EXPECT_NE(beyond.error().text().find("vgg16-batch"), std::string::npos) << beyond.error().text();
}

// Section 1: the same jobs, once on their tightest instance and once on the next larger.
TEST(Migm, TheTightFitSampleIsTheSameJobsOnLargerInstances) {
  const Workload tight = made("tight-fit", 5), next = made("tight-fit:instance=next", 5);
  const std::map<std::string, std::string> larger = {
      {"1g.6gb", "2g.12gb"}, {"2g.12gb", "4g.24gb"}, {"4g.24gb", "4g.24gb"}};
  ASSERT_EQ(tight.jobs.size(), 14U);
  for (std::size_t i = 0; i < tight.jobs.size(); ++i) {
    const auto asked = [i](const Workload& of) {
      return std::get<ByProfile>(of.requests[of.jobs[i].request].wanted).profile;
    };
    EXPECT_EQ(next.jobs[i].id, tight.jobs[i].id);
    EXPECT_EQ(next.jobs[i].duration, tight.jobs[i].duration);
    EXPECT_EQ(asked(next), larger.at(asked(tight)));
  }
}

// 5.2.2: the iteration at which the slice overflows, and the given peaks.
TEST(Migm, MemoryGrowsAsReported) {
  struct Reported {
    std::string_view name;
    std::int64_t slice_mib, iteration;
    double peak_gb;  // 0: not given
  };
  for (const Reported& paper : {Reported{"qwen2", 9984, 94, 12.23},
                                {"llama3", 9984, 72, 16.63},
                                {"flan-t5-train", 4864, 41, 0},
                                {"flan-t5", 4864, 27, 0}}) {
    const Workload workload = made(paper.name);
    const MemoryGrowth growth = *workload.details_of(workload.jobs.front())->growth;
    const auto at = [&](std::int64_t i) {
      return growth.base.value + growth.context.value_or(MiB{0}).value +
             i * growth.per_iteration.value;
    };
    EXPECT_LE(at(paper.iteration - 1), paper.slice_mib) << paper.name;
    EXPECT_GT(at(paper.iteration), paper.slice_mib) << paper.name;
    if (paper.peak_gb > 0) {
      EXPECT_NEAR(static_cast<double>(at(growth.iterations)) / 1024, paper.peak_gb, 0.05)
          << paper.name;
    }
    EXPECT_LT(at(growth.iterations) + growth.noise.value, 40320) << "the whole GPU holds it";
  }
}

TEST(Online, TasksAskForTheProfilesOfTheirModel) {
  const std::map<std::string, std::set<std::string>> profiles = {
      {"opt-6.7b", {"1g.5gb", "2g.10gb"}},
      {"bloom-1b7", {"1g.5gb", "2g.10gb"}},
      {"opt-13b", {"3g.20gb", "4g.20gb"}},
      {"bloom-7b1", {"3g.20gb", "4g.20gb"}}};
  std::map<std::string, std::set<std::string>> found;
  const Workload workload = made("normal-25");
  EXPECT_EQ(workload.jobs.size(), 200U);
  for (const Job& job : workload.jobs) {
    found[*workload.details_of(job)->application].insert(
        std::get<ByProfile>(workload.requests[job.request].wanted).profile);
    EXPECT_EQ(workload.details_of(job)->movable, true);
  }
  EXPECT_EQ(found, profiles);
}

TEST(Online, ArrivalsAndLengthsAreAsNamed) {
  const auto span = [](const Workload& workload) {
    return in_seconds(workload.jobs.back().arrival.time_since_epoch());
  };
  const auto work = [](const Workload& workload) {
    double sum = 0;
    for (const Job& job : workload.jobs) sum += in_seconds(job.duration);
    return sum;
  };
  EXPECT_NEAR(span(made("normal-25:jobs=4000")) / 4000, 25, 2);
  EXPECT_NEAR(span(made("long-50:jobs=4000")) / 4000, 50, 4);
  EXPECT_NEAR(span(made("normal-25:jobs=4000;unit=ms")) / 4, 25, 2);
  EXPECT_GT(work(made("long-25:jobs=4000")), 1.3 * work(made("normal-25:jobs=4000")));
}

TEST(DynaP, JobsAreAsInSection4) {
  const std::map<std::string_view, std::pair<std::size_t, std::set<std::int64_t>>> expected = {
      {"dyna-p-50", {50, {1, 2, 4, 8, 16, 32, 64}}},
      {"dyna-p-small", {10, {1, 2, 4, 8}}},
      {"dyna-p-large", {10, {32, 64}}},
      {"dyna-p-concurrent", {4, {1, 2, 4, 8, 16, 32, 64}}},
      {"dyna-p-5000", {5000, {1, 2, 4, 8, 16, 32, 64}}}};
  for (const GeneratorRow& row : dyna_p_generators()) {
    const Workload workload = made(row.name);
    const auto& [jobs, batches] = expected.at(row.name);
    EXPECT_EQ(workload.jobs.size(), jobs) << row.name;
    for (const Job& job : workload.jobs) {
      const JobDetails& details = *workload.details_of(job);
      EXPECT_TRUE(batches.contains(*details.batch)) << job.id;
      EXPECT_TRUE(details.application && details.latency && details.deadline) << job.id;
      EXPECT_GT(*details.deadline, job.duration) << job.id;
      const double runs = in_seconds(job.duration) / in_seconds(*details.latency);
      EXPECT_NEAR(runs, std::round(runs), 1e-6) << "whole batches: " << job.id;
      EXPECT_TRUE(std::holds_alternative<Unknown>(workload.requests[job.request].wanted));
    }
  }
}

// 2.1 and 2.2: the largest model does not run on the smallest slice with its largest batch, the
// smallest model does with any; beyond some batch, throughput hardly grows.
TEST(DynaP, SlicesAndBatchesAreAsDescribed) {
  const Workload workload = made("dyna-p-50:jobs=2000");
  std::map<std::pair<std::string, std::int64_t>, std::pair<Duration, SpeedTable>> rows;
  for (const Job& job : workload.jobs) {
    const JobDetails& details = *workload.details_of(job);
    rows[{*details.application, *details.batch}] = {*details.latency,
                                                    *workload.speeds[job.speed].table};
  }
  ASSERT_EQ(rows.size(), 35U) << "five models, seven batches";
  EXPECT_FALSE((rows[{"phi-1", 64}].second.contains("1g.6gb")));
  EXPECT_TRUE((rows[{"phi-1", 32}].second.contains("1g.6gb")));
  EXPECT_TRUE((rows[{"distilgpt", 64}].second.contains("1g.6gb")));
  const auto throughput = [&](const std::string& model, std::int64_t batch) {
    const auto& [latency, speeds] = rows[{model, batch}];
    return static_cast<double>(batch) / in_seconds(latency) * speeds.find("2g.12gb")->second;
  };
  for (const std::string model : {"distilgpt", "codegen", "flan-t5-large", "codellama", "phi-1"}) {
    EXPECT_GT(throughput(model, 2), 1.8 * throughput(model, 1)) << model;
    EXPECT_LT(throughput(model, 64), 1.3 * throughput(model, 32)) << model;
  }
}

TEST(DynaP, ArrivalsFollowTheRate) {
  const Workload slow = made("dyna-p-5000"), fast = made("dyna-p-5000:rate=4000");
  EXPECT_NEAR(in_seconds(slow.jobs.back().arrival.time_since_epoch()) / 3600, 5, 0.3);
  EXPECT_NEAR(in_seconds(fast.jobs.back().arrival.time_since_epoch()) / 3600, 1.25, 0.08);
  for (const Job& job : made("dyna-p-concurrent:jobs=9").jobs) EXPECT_EQ(job.arrival, Instant{});
}

// The log-normal of the run times and the frequency of each model, compared with the trace that
// they stand for.
TEST(DynaP, RunTimesAndSharesAreThoseOfTheTrace) {
  const std::string file =
      source_dir() + "/../shared/data/alibaba-gpu-v2023/openb_pod_list_default.csv.gz";
  if (!std::filesystem::exists(file))
    GTEST_SKIP() << "the public trace (alibaba-gpu-v2023) is not here";
  const std::string text = *read_text(file);
  auto csv = CsvReader::open(text, "pods.csv");
  const auto column = [&](std::string_view name) { return *csv->column(name); };
  std::vector<std::array<double, 3>> pods;  // scheduled, deleted, share
  double end = 0;
  std::vector<std::string> row;
  while (*csv->next(row)) {
    const auto from = parse_number(row[column("scheduled_time")]),
               to = parse_number(row[column("deletion_time")]);
    if (to) end = std::max(end, *to);
    if (row[column("num_gpu")] == "1" && from && to && *to > *from)
      pods.push_back({*from, *to, *parse_number(row[column("gpu_milli")])});
  }
  std::vector<double> logarithms;
  std::array<double, 5> bins{};
  double shared = 0;
  for (const auto& [from, to, milli] : pods) {
    if (to < end) logarithms.push_back(std::log(to - from));
    if (milli >= 1000) continue;
    ++shared;
    std::size_t bin = 0;
    while (bin < 4 && milli > 1000.0 * static_cast<double>(bin + 1) / 7) ++bin;
    ++bins[bin];
  }
  EXPECT_EQ(logarithms.size(), 6099U);
  double mean = 0, squares = 0;
  for (const double value : logarithms) mean += value / static_cast<double>(logarithms.size());
  for (const double value : logarithms)
    squares += (value - mean) * (value - mean) / static_cast<double>(logarithms.size());
  EXPECT_NEAR(std::exp(mean), 678, 1);
  EXPECT_NEAR(std::sqrt(squares), 1.82, 0.005);
  const std::map<std::string_view, std::size_t> order = {
      {"distilgpt", 0}, {"codegen", 1}, {"flan-t5-large", 2}, {"codellama", 3}, {"phi-1", 4}};
  std::array<double, 5> drawn{};
  const Workload workload = made("dyna-p-5000:jobs=50000");
  for (const Job& job : workload.jobs)
    drawn[order.at(*workload.details_of(job)->application)] += 1.0 / 50000;
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(drawn[i], bins[i] / shared, 0.01) << i;
}

TEST(Drawing, HasTheStatedDistributions) {
  Random random(3);
  double sum = 0, squares = 0, above = 0;
  constexpr int draws = 20000;
  for (int i = 0; i < draws; ++i) {
    const double value = draw_normal(random);
    sum += value;
    squares += value * value;
    above += draw_log_normal(random, 678, 1.82) > 678 ? 1 : 0;
    const double between = draw_log_uniform(random, 2, 50);
    EXPECT_TRUE(between >= 2 && between <= 50);
    EXPECT_NEAR(draw_around_one(random, 0.25), 1, 0.25);
  }
  EXPECT_NEAR(sum / draws, 0, 0.03);
  EXPECT_NEAR(squares / draws, 1, 0.04);
  EXPECT_NEAR(above / draws, 0.5, 0.015);
}

}  // namespace
}  // namespace cleave
