// The scheduler `miso` in the simulator: a schedule computed by hand, and laws under random work
// and faults.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/places_test.hpp"
#include "base/random.hpp"
#include "model/workload_file.hpp"
#include "simulate/simulator.hpp"
#include "simulate/traces/miso_trace.hpp"

namespace cleave {
namespace {

/// When each job was first started, and when its process began.
class Starts final : public RunObserver {
 public:
  void on(const RunEvent& event) override {
    if (event.kind == RunEvent::Kind::started) started.push_back({*event.job, *event.until});
    if (event.kind == RunEvent::Kind::finished) finished.push_back({*event.job, event.at});
  }
  /// Whether no job was started for the first time after one that was submitted later.
  [[nodiscard]] bool in_order() const {
    std::vector<bool> seen;
    std::size_t next = 0;
    for (const auto& [job, begin] : started) {
      if (index(job) < seen.size() && seen[index(job)]) continue;
      if (index(job) < next) return false;
      next = index(job);
      seen.resize(next + 1);
      seen[next] = true;
    }
    return true;
  }
  std::vector<std::pair<JobId, Instant>> started, finished;
};

double second_of(Instant at) {
  return in_seconds(at - Instant{});
}

// Three jobs of 1000 s on an A100 whose changes take no time. Speeds: 1 on 7g, 0.8 on 4g, 0.6 on
// 3g, 0.5 on 2g and 0.2 on 1g. A checkpoint takes 20 s, half to write and half to restore;
// measuring takes 30 s.
//   0   a alone on 7g, measured until 30; stays there
//   100 b comes: a, at 0.1 of its work, is written until 110. Both share 7g from 110, each with
//   half its
//       speed: b makes progress from 110, a from 120. Measured until 100 + 20 + 30 = 150
//   150 a at 0.1 + 30 * s / 1000, b at (10 + 30 * s) / 1000, with s = 1 / 1.96 of two saturated
//   jobs
//       under MPS (batch_law.hpp), and b alone while a is restored; written until 160,
//   restored until
//       170. Partition 4g + 3g: 1.4. a on 4g, b on 3g
//   300 c comes, of the application of b: known. a is 130 * 0.8 / 1000 further, b
//       130 * 0.6 / 1000. The partition of three: 3g + 2g + 2g = 1.6 is better than
//       4g + 2g + 1g = 1.5, and b may keep its 3g: a and c on 2g. Written until 310, where c begins
//       and a and b are restored until 320
TEST(MisoScheduler, ThreeJobsByHand) {
  const std::string speed =
      R"("speed": {"7g.40gb": 1, "4g.20gb": 0.8, "3g.20gb": 0.6, "2g.10gb": 0.5, "1g.5gb": 0.2})";
  std::string jobs;
  for (const auto& [id, at, application] :
       {std::tuple("a", 0, "x"), {"b", 100, "y"}, {"c", 300, "y"}})
    jobs +=
        fmt::format(R"({{"id": "{}", "arrival_s": {}, "profile": "1g.5gb", "duration_s": 1000, )"
                    R"("application": "{}", {}}})"
                    "\n",
                    id, at, application, speed);
  const FleetFile fleet = *parse_fleet_in_short("1xA100-40GB", *ProfileChoice::parse("five"));
  const auto workload = parse_workload(jobs, "jobs");
  ASSERT_TRUE(workload) << workload.error().text();
  Starts seen;
  const auto summary = simulate(fleet, *workload, *parse_scheduler("miso"),
                                {.reconfiguration = Duration::zero(),
                                 .stops = {.checkpoint = std::chrono::seconds(20)},
                                 .observer = &seen});
  ASSERT_TRUE(summary) << summary.error().text();
  std::vector<double> begins;
  for (const auto& [job, begin] : seen.started) begins.push_back(second_of(begin));
  const std::vector<double> expected{0, 110, 110, 160, 160, 310, 310, 310};
  ASSERT_GE(begins.size(), expected.size());
  begins.resize(expected.size());
  EXPECT_EQ(begins, expected);

  // b is the first to end: the rest of it at 0.6 from 320 on.
  const double s = 1 / 1.96;
  const double b = 320 + (1000 - 10 - 30 * s - 78) / 0.6;
  ASSERT_EQ(seen.finished.size(), 3U);
  EXPECT_EQ(seen.finished[0].first, JobId{1});
  EXPECT_NEAR(second_of(seen.finished[0].second), b, 1e-6);
  // a and c are then on 4g and 3g: 1.4 exceeds 1 by more than the required gain. Both are written
  // for 10 s and restored for 10 s.
  const double a = 0.1 + 0.03 * s + 0.104 + (b - 320) * 0.5 / 1000, c = (b - 310) * 0.5 / 1000;
  const double a_ends = b + 20 + (1 - a) * 1000 / 0.8;
  EXPECT_EQ(seen.finished[1].first, JobId{0});
  EXPECT_NEAR(second_of(seen.finished[1].second), a_ends, 1e-6);
  // c alone on 7g.
  const double c_then = c + (a_ends - b - 20) * 0.6 / 1000;
  EXPECT_NEAR(second_of(seen.finished[2].second), a_ends + 20 + (1 - c_then) * 1000, 1e-6);
  EXPECT_EQ(summary->checkpoints, 1U + 2U + 2U + 2U + 1U);
}

/// Jobs of every kind of request, some with tables of speeds, applications and memory that grows.
Workload random_workload(Random& random, int jobs, bool all_fit) {
  const char* profiles[] = {"1g.5gb",  "1g.5gb+me", "1g.10gb", "2g.10gb", "3g.20gb",
                            "7g.40gb", "1g.6gb",    "2g.12gb", "9g"};
  Workload workload;
  double now = 0;
  for (int i = 0; i < jobs; ++i) {
    Request request{Unknown{}, {}};
    SpeedModel speed;
    JobDetails details;
    switch (random.below(4)) {
      case 0:
        request.wanted =
            BySize{MiB{static_cast<std::int64_t>(random.below(all_fit ? 20000 : 42000))},
                   {static_cast<int>(random.below(4))}};
        break;
      case 1:
        if (!all_fit) request.wanted = ByProfile{profiles[random.below(std::size(profiles))]};
        break;
      case 2:
        speed.table = SpeedTable{{"1g.5gb", 0.2},
                                 {"2g.10gb", 0.3 + 0.1 * static_cast<double>(random.below(3))},
                                 {"3g.20gb", 0.6},
                                 {"4g.20gb", 0.7},
                                 {"7g.40gb", 1}};
        request.fits =
            std::vector<std::string>{"1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"};
        break;
      default:
        details.growth =
            MemoryGrowth{MiB{1000 + static_cast<std::int64_t>(random.below(3000))},
                         MiB{static_cast<std::int64_t>(random.below(300))}, MiB{20}, 100};
        break;
    }
    if (random.below(3) == 0) {
      details.application = fmt::format("app{}", random.below(5));
      details.batch = 1 + static_cast<std::int64_t>(random.below(2));
    }
    Job job;
    job.id = std::to_string(i);
    now += random.below(4) == 0 ? 0 : random.exponential(60);
    job.arrival = Instant{} + *duration_from_seconds(now);
    job.duration = *duration_from_seconds(random.below(10) == 0 ? 0 : random.exponential(200));
    job.request = workload.intern(request);
    job.speed = workload.intern(speed);
    job.details = static_cast<std::uint32_t>(workload.details.size());
    workload.details.push_back(details);
    workload.jobs.push_back(std::move(job));
  }
  workload.read = workload.jobs.size();
  return workload;
}

constexpr const char* specs[] = {"miso", "miso:measure=0", "miso:checkpoint=moved;gain=0",
                                 "miso:reuse=off;speed-error=0.3;measure=5",
                                 "miso:on-departure=off;checkpoint=moved;measure=0"};

constexpr std::string_view mixed_fleet = R"({"gpus": [
  {"name": "a/%d", "model": "A100-40GB", "count": 2},
  {"name": "b/0", "model": "A30-24GB", "instances": [{"profile": "1g.6gb", "start": 1, )"
                                         R"("owned": false}]},
  {"name": "b/1", "model": "RTX-PRO-6000-BW-96GB"}, {"name": "b/2", "model": "A30-24GB"},
  {"name": "a/9", "model": "A100-40GB", "instances": [{"profile": "2g.10gb", "start": 2, )"
                                         R"("workload": "w"},
    {"profile": "1g.5gb", "start": 5}, {"profile": "1g.5gb", "start": 6, "owned": false}]}]})";

// The world refuses every violation of a hardware law, so a run that ends well had none.
TEST(MisoScheduler, FaultsBreakNoLawAndLoseNoJob) {
  const FleetFile mixed = *parse_fleet(mixed_fleet, "fleet", {});
  const FleetFile a30 = *parse_fleet_in_short("3xA30-24GB", {});
  const FleetFile a100 = *parse_fleet_in_short("2xA100-40GB", {});
  std::size_t events = 0, losses = 0, out_of_memory = 0, checkpoints = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    Random random(seed);
    const Workload workload = random_workload(random, 300, false);
    for (const FleetFile* fleet : {&mixed, &a30, &a100}) {
      for (const char* spec : specs) {
        SimulationOptions options{.seed = seed};
        options.faults = *parse_faults("mtbf=4000;repair=500;job-failure=0.1");
        if (seed % 2 == 0) options.forecaster = "last-value:margin=0.3";
        const auto s = simulate(*fleet, workload, *parse_scheduler(spec), options);
        ASSERT_TRUE(s) << s.error().text() << " seed " << seed << " " << spec;
        ASSERT_EQ(s->jobs, s->finished + s->failed + s->rejected + s->waiting)
            << seed << " " << spec;
        ASSERT_EQ(s->waiting, 0U) << "seed " << seed << " " << spec;
        events += s->events;
        losses += s->gpu_losses;
        out_of_memory += s->oom_restarts;
        checkpoints += s->checkpoints;
      }
    }
  }
  EXPECT_GT(events, 30000U);
  EXPECT_GT(losses, 1000U);
  EXPECT_GT(out_of_memory, 100U);
  EXPECT_GT(checkpoints, 10000U);
}

TEST(MisoScheduler, StartsInTheOrderOfSubmission) {
  for (const char* model : {"3xA30-24GB", "2xA100-40GB"}) {
    const FleetFile fleet = *parse_fleet_in_short(model, {});
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      Random random(seed);
      const Workload workload = random_workload(random, 300, true);
      for (const char* spec : specs) {
        Starts seen;
        const auto s =
            simulate(fleet, workload, *parse_scheduler(spec), {.seed = seed, .observer = &seen});
        ASSERT_TRUE(s) << s.error().text();
        ASSERT_TRUE(seen.in_order()) << model << " seed " << seed << " " << spec;
        ASSERT_EQ(s->waiting, 0U);
      }
    }
  }
}

TEST(MisoScheduler, TheIndexChangesNothing) {
  const FleetFile fleet = *parse_fleet(mixed_fleet, "fleet", {});
  Random random(5);
  const Workload workload = random_workload(random, 800, false);
  SimulationOptions options;
  options.faults = *parse_faults("mtbf=4000;repair=500");
  for (const char* spec : specs) {
    options.use_index = true;
    const auto quick = simulate(fleet, workload, *parse_scheduler(spec), options);
    options.use_index = false;
    const auto slow = simulate(fleet, workload, *parse_scheduler(spec), options);
    ASSERT_TRUE(quick && slow);
    EXPECT_EQ(to_json(*quick).dump(), to_json(*slow).dump()) << spec;
  }
}

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(MisoScheduler, RunsTheLabsDayAndItsOwnExperimentToTheEnd) {
  const FleetFile lab = *parse_fleet_in_short("4xA100-40GB", {});
  const auto day =
      parse_workload(text_of(source_dir() + "/data/workloads/lab-day.jsonl"), "lab-day");
  ASSERT_TRUE(day) << day.error().text();
  for (const char* spec : specs) {
    const auto s = simulate(lab, *day, *parse_scheduler(spec));
    ASSERT_TRUE(s) << s.error().text();
    EXPECT_EQ(s->finished, s->jobs) << spec;
  }
  const std::string path = source_dir() + "/../shared/data/mig-miso-a100-40gb/jobs_100.csv";
  if (!std::filesystem::exists(path)) {
    std::cout << "MISO's jobs are not here: " << path << "\n";
    return;
  }
  const auto jobs = read_miso(text_of(path), "jobs_100.csv", {});
  ASSERT_TRUE(jobs) << jobs.error().text();
  for (const char* spec : specs) {
    const auto s =
        simulate(*parse_fleet_in_short("8xA100-40GB", {}), *jobs, *parse_scheduler(spec));
    ASSERT_TRUE(s) << s.error().text();
    EXPECT_EQ(s->finished, s->jobs) << spec;
  }
}

}  // namespace
}  // namespace cleave
