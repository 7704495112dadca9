// Batches twice: through the daemon, with processes, and through the simulator. Jobs move, are
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
#include <thread>

#include "api/time_text.hpp"
#include "base/format.hpp"
#include "base/places_test.hpp"
#include "base/random.hpp"
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

enum class Course { moves, grows, starves, stays };

struct BatchJob {
  std::string id, profile;  // an empty profile: nothing is asked for
  double seconds = 0;       // on the whole GPU
  Course course{};
  Speeds speeds;
  int places = 1;  // instances at a time
};

/// Random sizes and times, 0.4 to 2.2 s on the instance that a job asks for or ends up on.
std::vector<BatchJob> batch(std::uint64_t seed) {
  constexpr auto applications = std::to_array<std::pair<std::string_view, int>>({
      {"embedding", 128},
      {"gnn", 64},
      {"gnn", 128},
      {"mobilenet", 256},
      {"resnet", 256},
      {"cyclegan", 1},
      {"transformer", 16},
  });
  Random random(seed);
  std::vector<BatchJob> jobs;
  for (std::size_t i = 0; i < (sanitized ? 10 : 24); ++i) {
    const auto& [application, samples] = applications[i % applications.size()];
    BatchJob& job = jobs.emplace_back();
    job.id = fmt::format("{}-{}", application, i);
    job.speeds = speeds_of(application, samples);
    job.course = i % 6 == 2 ? Course::grows : i % 9 == 4 ? Course::starves : Course::moves;
    constexpr std::array<std::size_t, 4> asked = {0, 1, 1, 2};
    const std::size_t size = job.course == Course::moves     ? asked[random.below(asked.size())]
                             : job.course == Course::starves ? 1
                                                             : 0;
    if (job.course == Course::moves) job.profile = sizes[size];
    job.seconds = (0.4 + 1.8 * random.uniform()) * job.speeds.measured[size];
  }
  return jobs;
}

/// Jobs of one to four instances.
std::vector<BatchJob> batch_of_gangs(std::uint64_t seed) {
  Random random(seed);
  std::vector<BatchJob> jobs;
  for (std::size_t i = 0; i < 14; ++i) {
    BatchJob& job = jobs.emplace_back();
    job.id = fmt::format("gang-{}", i);
    job.speeds = speeds_of("resnet", 256);
    job.course = Course::stays;
    const std::size_t size = random.below(2);
    job.profile = sizes[size];
    job.places = static_cast<int>(1 + random.below(4));
    job.seconds = (0.6 + 1.2 * random.uniform()) * job.speeds.measured[size];
  }
  return jobs;
}

constexpr int iterations = 100, growing_iterations = 40;

std::string workload_of(const std::vector<BatchJob>& jobs, std::array<double, 5> Speeds::*speeds) {
  std::string text;
  for (const BatchJob& job : jobs) {
    Json line{{"id", job.id}, {"duration_s", job.seconds}, {"speed", table_of(job.speeds.*speeds)}};
    if (!job.profile.empty()) line["profile"] = job.profile;
    if (job.places > 1) line["instances"] = job.places;
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
  if (job.places > 1) body["instances"] = job.places;
  if (!job.profile.empty()) body["profile"] = job.profile;
  return body;
}

/// What came of the batch, in seconds and numbers of attempts. The simulator also counts moves of
/// jobs that have not begun.
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
      const auto end = attempt["end"].get<std::string>();
      result.moved += end == "moved" ? 1 : 0;
      result.early += end == "early-restart" ? 1 : 0;
      result.starved += end == "out-of-memory" ? 1 : 0;
    }
  }
  return result;
}

double off(double value, double from) {
  return 100 * (value / from - 1);
}

Result& operator+=(Result& sum, const Result& each) {
  sum.makespan += each.makespan;
  sum.turnaround += each.turnaround;
  sum.moved += each.moved;
  sum.early += each.early;
  sum.starved += each.starved;
  return sum;
}

void print(const std::string& what, const Result& was, const Result& expected) {
  fmt::print(
      "{}: {:.2f} s, {:.2f} s simulated: {:+.1f} %; turnaround {:.2f} s, {:.2f} s: {:+.1f} %; "
      "{} moved ({}), {} restarted early, {} out of memory\n",
      what, was.makespan, expected.makespan, off(was.makespan, expected.makespan), was.turnaround,
      expected.turnaround, off(was.turnaround, expected.turnaround), was.moved, expected.moved,
      was.early, was.starved);
}

/// A batch through a daemon of its own, and simulated with the predicted and the measured speeds.
struct Batch {
  std::vector<BatchJob> jobs;
  Result was, predicted, measured;

  void run(const testing_program::Scratch& scratch, std::uint64_t seed) {
    StandOptions options;
    options.instant = false;
    DaemonStand stand(options);
    EXPECT_EQ(stand.run("scheduler online").exit_code, 0);
    was = through_the_daemon(stand, jobs);
    const auto simulate = [&](const char* name, std::array<double, 5> Speeds::*speeds) {
      const std::string file = fmt::format("{}-{}.jsonl", name, seed);
      return simulated(jobs, scratch.write(file, workload_of(jobs, speeds)));
    };
    predicted = simulate("predicted", &Speeds::predicted);
    measured = simulate("measured", &Speeds::measured);
  }
};

// Where jobs of one batch end at almost the same time, their order decides what moves and what
// starts where, and 5 % in a job's speed make up to 10 % of a makespan. So the sums are compared.
// The daemons run side by side: their jobs only wait.
TEST(DaemonAgreement, BatchesWithMovesAndRestartsTakeAsLongAsSimulated) {
  const testing_program::Scratch scratch;
  std::array<Batch, 3> batches;
  for (std::size_t i = 0; i < batches.size(); ++i) batches[i].jobs = batch(i + 1);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < batches.size(); ++i)
    threads.emplace_back([&, i] { batches[i].run(scratch, i + 1); });
  for (std::thread& each : threads) each.join();
  Result was, predicted, measured;
  for (const Batch& each : batches) {
    print(fmt::format("{} jobs on 2 GPUs", each.jobs.size()), each.was, each.predicted);
    EXPECT_EQ(each.was.early, each.predicted.early);
    EXPECT_EQ(each.was.starved, each.predicted.starved);
    was += each.was;
    predicted += each.predicted;
    measured += each.measured;
  }
  print("all, with two speeds of each job", was, predicted);
  print("all, with all its speeds", was, measured);
  // A sanitized daemon on a busy machine takes several times as long: there, that all ends is
  // asked.
  const double tolerance = sanitized ? 1000 : 10;
  for (const Result& expected : {predicted, measured}) {
    EXPECT_LT(std::abs(off(was.makespan, expected.makespan)), tolerance);
    EXPECT_LT(std::abs(off(was.turnaround, expected.turnaround)), tolerance);
  }
  if (sanitized) return;
  for (const std::int64_t each : {was.moved, was.early, was.starved})
    EXPECT_GT(each, 0) << "otherwise this shows nothing";
}

/// All processes of a job begin and end together, there and here.
TEST(DaemonAgreement, JobsOfSeveralInstancesTakeAsLongAsSimulated) {
  const testing_program::Scratch scratch;
  Result was, expected;
  for (const std::uint64_t seed : {1U, 2U}) {
    Batch each;
    each.jobs = batch_of_gangs(seed);
    each.run(scratch, seed);
    print(fmt::format("{} jobs of several instances", each.jobs.size()), each.was, each.measured);
    was += each.was;
    expected += each.measured;
  }
  const double tolerance = sanitized ? 1000 : 15;
  EXPECT_LT(std::abs(off(was.makespan, expected.makespan)), tolerance);
  EXPECT_LT(std::abs(off(was.turnaround, expected.turnaround)), tolerance);
}

}  // namespace
}  // namespace cleave::whole
