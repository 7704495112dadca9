// One batch twice: through the daemon, with processes, and through the simulator. Jobs move, are
// restarted before their memory runs out, and die of memory and run again.
//
// The processes run at measured speeds: training on an A100 40 GB (MISO,
// physics/measured_speeds.hpp). The simulator is not told these. It is told two of them, as a user
// would measure, those of the smallest profile and of the whole GPU, and has the others by the law
// of speeds, with constants that are fitted here to other measurements: inference on an A100 80 GB
// (ParvaGPU).

#include <gtest/gtest.h>

#include <array>
#include <map>

#include "api/time_text.hpp"
#include "base/format.hpp"
#include "base/places_test.hpp"
#include "daemon_stand.hpp"
#include "physics/measured_speeds.hpp"
#include "physics/speed_law.hpp"

namespace cleave::whole {
namespace {

constexpr std::array<std::string_view, 5> sizes = {"1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb",
                                                   "7g.40gb"};
constexpr std::array<std::string_view, 5> sizes_of_80gb = {"1g.10gb", "2g.20gb", "3g.40gb",
                                                           "4g.40gb", "7g.80gb"};

std::vector<double> times_of(const MeasuredSpeed& row,
                             const std::array<std::string_view, 5>& profiles) {
  std::vector<double> times;
  for (const std::string_view profile : profiles) {
    const auto speed = row.speeds.find(profile);
    times.push_back(speed == row.speeds.end() ? 0 : 1 / speed->second);
  }
  return times;
}

/// How much longer GPU-bound work takes on each size, from inference alone. The first entry only
/// sets a scale that no prediction depends on.
const std::vector<double>& gpu_bound() {
  static const std::vector<double> fitted = [] {
    std::vector<std::vector<double>> jobs;
    for (const MeasuredSpeed& row : measured_speeds(MeasuredSet::parvagpu))
      jobs.push_back(times_of(row, sizes_of_80gb));
    constexpr double of_one_slice = 6.7;
    return fit_slice_times(jobs, {}, of_one_slice);
  }();
  return fitted;
}

/// Speeds by size: as measured, and as predicted from the first and the last of them.
struct Speeds {
  std::array<double, 5> measured{}, predicted{};
};
Speeds speeds_of(std::string_view application, int batch) {
  Speeds speeds;
  const MeasuredSpeed* row = find_measured(MeasuredSet::miso, application, batch);
  if (row == nullptr) {
    ADD_FAILURE() << application << " was not measured with batch " << batch;
    return speeds;
  }
  const std::vector<double> times = times_of(*row, sizes);
  const std::array known = {KnownTime{gpu_bound().front(), times.front()},
                            KnownTime{gpu_bound().back(), times.back()}};
  const auto job = fit_slice_law(known);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    speeds.measured[i] = 1 / times[i];
    speeds.predicted[i] =
        job ? time_on(job->law, gpu_bound().back()) / time_on(job->law, gpu_bound()[i]) : 0;
  }
  return speeds;
}

/// With the 1g of double memory, which nobody measured: as fast as the plain one.
std::map<std::string, double> table_of(const std::array<double, 5>& speeds) {
  std::map<std::string, double> table;
  for (std::size_t i = 0; i < sizes.size(); ++i) table[std::string(sizes[i])] = speeds[i];
  table["1g.10gb"] = speeds.front();
  return table;
}

enum class Course { moves, grows, starves };

struct BatchJob {
  std::string id, profile;  // an empty profile: nothing is asked for
  double seconds = 0;       // on the whole GPU
  Course course{};
  Speeds speeds;
};

std::vector<BatchJob> batch() {
  constexpr std::array<std::pair<std::string_view, int>, 7> applications = {{
      {"embedding", 128},
      {"gnn", 64},
      {"gnn", 128},
      {"mobilenet", 256},
      {"resnet", 256},
      {"cyclegan", 1},
      {"transformer", 16},
  }};
  constexpr std::array<std::string_view, 8> profiles = {"1g.5gb",  "3g.20gb", "2g.10gb", "1g.5gb",
                                                        "2g.10gb", "2g.10gb", "1g.5gb",  "3g.20gb"};
  const std::size_t count = sanitized ? 10 : 26;
  std::vector<BatchJob> jobs;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [application, samples] = applications[i % applications.size()];
    BatchJob& job = jobs.emplace_back();
    job.id = fmt::format("{}-{}", application, i);
    job.seconds = 0.4 + 0.09 * static_cast<double>(i * 7 % 11);
    job.speeds = speeds_of(application, samples);
    job.course = i % 6 == 2 ? Course::grows : i % 9 == 4 ? Course::starves : Course::moves;
    if (job.course == Course::moves) job.profile = profiles[i % profiles.size()];
  }
  return jobs;
}

constexpr int iterations = 100, growing_iterations = 40;

std::string workload_of(const std::vector<BatchJob>& jobs, std::array<double, 5> Speeds::*speeds) {
  std::string text;
  for (const BatchJob& job : jobs) {
    Json line{{"id", job.id}, {"duration_s", job.seconds}, {"speed", table_of(job.speeds.*speeds)}};
    if (!job.profile.empty()) line["profile"] = job.profile;
    line["progress"] = job.course == Course::moves ? "checkpoint" : "none";
    if (job.course == Course::grows)
      line["memory"] = {
          {"base_mib", 2048}, {"per_iteration_mib", 200}, {"iterations", growing_iterations}};
    if (job.course == Course::starves)
      line["memory"] = {{"base_mib", 8192}, {"per_iteration_mib", 0}, {"iterations", iterations}};
    text += line.dump() + "\n";
  }
  return text;
}

Json submission_of(const BatchJob& job, const std::string& checkpoint) {
  std::string speeds;
  for (const auto& [profile, speed] : table_of(job.speeds.measured))
    speeds += fmt::format("{}{}={}", speeds.empty() ? "" : ",", profile, speed);
  std::vector<std::string> command = {"cleave-job", "--seconds", fmt::format("{}", job.seconds),
                                      "--speeds",   speeds,      "--quiet"};
  const auto add = [&](const std::string& option, const std::string& value) {
    command.insert(command.end(), {option, value});
  };
  const bool grows = job.course == Course::grows;
  add("--iterations", fmt::format("{}", grows ? growing_iterations : iterations));
  if (grows) {
    add("--base", "2048");
    add("--per-iteration", "200");
  } else {
    add("--memory", job.course == Course::starves ? "8192" : "1024");
  }
  if (job.course == Course::moves) add("--checkpoint", checkpoint);
  Json body{{"command", command},
            {"environment", {"PATH=" + binary_dir() + "/bin:/usr/bin:/bin"}},
            {"directory", "/"},
            {"name", job.id},
            {"progress", job.course == Course::moves ? "checkpoint" : "none"},
            {"restartable", job.course != Course::moves}};
  if (!job.profile.empty()) body["profile"] = job.profile;
  return body;
}

/// What came of the batch, in seconds and numbers of attempts.
struct Result {
  double makespan = 0, turnaround = 0;
  std::int64_t moved = 0, early = 0, starved = 0;
};

Result simulated(const std::vector<BatchJob>& jobs, const std::string& file) {
  // Writing and restoring a checkpoint is starting a process here.
  const Outcome outcome = testing_program::shell(
      fmt::format("cleave simulate --fleet 2xA100-40GB --workload '{}' --scheduler online "
                  "--forecast laws --checkpoint 0.02 --json",
                  file));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto summary = parse_json(outcome.out, "simulate");
  if (!summary) return {};
  EXPECT_EQ((*summary)["finished"], jobs.size());
  return {(*summary)["makespan_s"].get<double>(), (*summary)["turnaround_s"]["mean"].get<double>(),
          (*summary)["migrations"].get<std::int64_t>(),
          (*summary)["early_restarts"].get<std::int64_t>(),
          (*summary)["oom_restarts"].get<std::int64_t>()};
}

Result through_the_daemon(DaemonStand& stand, const std::vector<BatchJob>& jobs) {
  stand.run("pause");
  std::vector<std::int64_t> numbers;
  for (const BatchJob& job : jobs) {
    const auto answer =
        stand.ask("POST", "/v1/jobs", submission_of(job, stand.path(job.id + ".done")).dump());
    EXPECT_TRUE(answer) << answer.error().text();
    if (!answer) return {};
    numbers.push_back((*answer)["id"].get<std::int64_t>());
  }
  const auto begin = std::chrono::system_clock::now();
  EXPECT_TRUE(stand.ask("POST", "/v1/resume", "{}"));
  Result result;
  for (const std::int64_t number : numbers) {
    const Json job = stand.over(number);
    EXPECT_EQ(job["state"], "finished") << job.dump(1);
    const auto ended = parse_utc_text(job["ended_at"].get<std::string>());
    if (!ended) continue;
    const double took = std::chrono::duration<double>(*ended - begin).count();
    result.makespan = std::max(result.makespan, took);
    result.turnaround += took / static_cast<double>(numbers.size());
    for (const Json& attempt : job["history"]) {
      result.moved += attempt["end"] == "moved";
      result.early += attempt["end"] == "early-restart";
      result.starved += attempt["end"] == "out-of-memory";
    }
  }
  return result;
}

double off(double value, double from) {
  return 100 * (value / from - 1);
}

void compare(const Result& was, const Result& expected, const std::string& speeds) {
  fmt::print("simulated {}: {:.2f} s, daemon {:+.1f} %; turnaround {:.2f} s, daemon {:+.1f} %; ",
             speeds, expected.makespan, off(was.makespan, expected.makespan), expected.turnaround,
             off(was.turnaround, expected.turnaround));
  fmt::print("{} moved, {} restarted early, {} out of memory\n", expected.moved, expected.early,
             expected.starved);
  const double tolerance = sanitized ? 100 : 10;
  EXPECT_LT(std::abs(off(was.makespan, expected.makespan)), tolerance);
  EXPECT_LT(std::abs(off(was.turnaround, expected.turnaround)), tolerance);
  EXPECT_EQ(was.early, expected.early);
  EXPECT_EQ(was.starved, expected.starved);
  EXPECT_GT(expected.moved, sanitized ? -1 : 0) << "otherwise this shows nothing";
}

TEST(DaemonAgreement, ABatchWithMovesAndRestartsTakesAsLongAsSimulated) {
  StandOptions options;
  options.instant = false;
  DaemonStand stand(options);
  const std::vector<BatchJob> jobs = batch();
  ASSERT_EQ(stand.run("scheduler online").exit_code, 0);
  const Result was = through_the_daemon(stand, jobs);
  fmt::print(
      "{} jobs on 2 GPUs through the daemon: {:.2f} s, turnaround {:.2f} s; {} moved, {} "
      "restarted early, {} out of memory\n",
      jobs.size(), was.makespan, was.turnaround, was.moved, was.early, was.starved);
  const testing_program::Scratch scratch;
  compare(was, simulated(jobs, scratch.write("predicted", workload_of(jobs, &Speeds::predicted))),
          "with two speeds of each job");
  compare(was, simulated(jobs, scratch.write("measured", workload_of(jobs, &Speeds::measured))),
          "with all its speeds");
  if (sanitized) return;
  for (const std::int64_t each : {was.moved, was.early, was.starved})
    EXPECT_GT(each, 0) << "otherwise this shows nothing";
}

}  // namespace
}  // namespace cleave::whole
