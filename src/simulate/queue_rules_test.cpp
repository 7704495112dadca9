// What orders, limits and backfill do to whole runs.

#include <gtest/gtest.h>

#include <map>

#include "base/format.hpp"
#include "base/random.hpp"
#include "simulate/simulator.hpp"

namespace cleave {
namespace {

using namespace std::chrono_literals;

/// Jobs of random length on instances of random size, all at the beginning, each user's together.
Workload crowd(std::uint64_t seed, const std::vector<std::pair<std::string, std::string>>& owners,
               std::size_t each) {
  Random random(seed);
  Workload workload;
  SpeedModel flat;
  flat.flat = true;
  const std::uint32_t speed = workload.intern(flat);
  constexpr const char* sizes[] = {"1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb"};
  for (const auto& [account, user] : owners)
    for (std::size_t i = 0; i < each; ++i) {
      JobDetails details;
      details.user = user;
      if (!account.empty()) details.account = account;
      workload.details.push_back(details);
      Job job;
      job.id = fmt::format("{}{}", user, i);
      job.duration = std::chrono::seconds(60 + random.below(1200));
      job.speed = speed;
      job.request = workload.intern({ByProfile{sizes[random.below(4)]}, {}});
      job.details = static_cast<std::uint32_t>(workload.details.size() - 1);
      workload.jobs.push_back(job);
    }
  workload.read = workload.jobs.size();
  return workload;
}

/// Compute-slice seconds of each user until a time.
class Used final : public RunObserver {
 public:
  Used(const FleetFile& fleet, const Workload& workload, Instant until)
      : fleet_(fleet), workload_(workload), until_(until) {}

  void on(const RunEvent& event) override {
    if (event.kind == RunEvent::Kind::started) {
      const Geometry& rules = fleet_.geometries[fleet_.gpus[index(*event.gpu)].geometry];
      running_[*event.job] = {event.at, event.placement
                                            ? rules[*event.placement].profile->compute.value
                                            : rules.model().compute.value};
    } else if (event.kind == RunEvent::Kind::finished) {
      count(*event.job, event.at);
      running_.erase(*event.job);
    }
  }
  std::map<std::string, double> by_user() {
    for (const auto& [job, since] : running_) count(job, until_);
    running_.clear();
    return used_;
  }

 private:
  void count(JobId job, Instant end) {
    const auto& [since, slices] = running_.at(job);
    const double seconds = in_seconds(std::min(end, until_) - std::min(since, until_));
    used_[*workload_.details_of(workload_.jobs[index(job)])->user] += seconds * slices;
  }
  const FleetFile& fleet_;
  const Workload& workload_;
  Instant until_;
  std::map<JobId, std::pair<Instant, int>> running_;
  std::map<std::string, double> used_;
};

constexpr const char* keepers[] = {"full-gpu", "static:layout=3g.20gb@0+2g.10gb@4+1g.5gb@6",
                                   "scheme-b", "online"};

std::string with(const std::string& scheduler, const std::string& options) {
  return scheduler + (scheduler.find(':') == std::string::npos ? ":" : ";") + options;
}

std::map<std::string, double> used_in_a_day(const std::string& spec, const Workload& workload) {
  const auto fleet = *parse_fleet_in_short("3xA100-40GB", *ProfileChoice::parse("plain"));
  Used used(fleet, workload, Instant{24h});
  SimulationOptions options;
  options.observer = &used;
  const auto summary = simulate(fleet, workload, *parse_scheduler(spec), options);
  EXPECT_TRUE(summary) << summary.error().text();
  EXPECT_GT(summary->makespan, 24h) << "there was not enough work to share";
  return used.by_user();
}

TEST(FairShareRuns, GiveEachUserTheirShareOfADay) {
  for (const char* scheduler : keepers)
    for (const char* backfill : {"none", "easy", "conservative"}) {
      const std::string spec =
          with(scheduler,
               fmt::format("order=fair-share;shares=ann=2+bob=1+cid=1;backfill={}", backfill));
      SCOPED_TRACE(spec);
      const Workload workload = crowd(1, {{"", "ann"}, {"", "bob"}, {"", "cid"}}, 1700);
      auto used = used_in_a_day(spec, workload);
      const double all = used["ann"] + used["bob"] + used["cid"];
      EXPECT_NEAR(used["ann"] / all, 0.5, 0.05 * 0.5);
      EXPECT_NEAR(used["bob"] / all, 0.25, 0.05 * 0.25);
      EXPECT_NEAR(used["cid"] / all, 0.25, 0.05 * 0.25);
    }
}

TEST(FairShareRuns, ShareAnAccountAmongItsUsers) {
  const Workload workload = crowd(
      2, {{"physics", "ann"}, {"physics", "bob"}, {"physics", "cid"}, {"chemistry", "dan"}}, 2300);
  auto used = used_in_a_day("online:order=fair-share", workload);
  const double all = used["ann"] + used["bob"] + used["cid"] + used["dan"];
  EXPECT_NEAR(used["dan"] / all, 0.5, 0.05 * 0.5);
  for (const char* user : {"ann", "bob", "cid"})
    EXPECT_NEAR(used[user] / all, 1.0 / 6, 0.05 / 6) << user;
}

// Without it, the first user's jobs go first.
TEST(FairShareRuns, DifferFromTheOrderOfSubmission) {
  const Workload workload = crowd(1, {{"", "ann"}, {"", "bob"}, {"", "cid"}}, 1700);
  auto used = used_in_a_day("full-gpu", workload);
  EXPECT_EQ(used["cid"], 0);
}

TEST(QueueOrder, DeadlinesGoFirst) {
  Workload workload = crowd(3, {{"", "ann"}}, 40);
  for (std::size_t i = 0; i < workload.jobs.size(); ++i)
    workload.details[workload.jobs[i].details].deadline = std::chrono::hours(1 + (i * 7) % 40);
  const auto fleet = *parse_fleet_in_short("1xA100-40GB", *ProfileChoice::parse("plain"));
  const auto missed = [&](const char* spec) {
    return simulate(fleet, workload, *parse_scheduler(spec), {})->deadline_misses;
  };
  EXPECT_LT(missed("full-gpu:order=deadline"), missed("full-gpu"));
}

TEST(Backfilling, ShortensQueuesWithoutLosingWork) {
  const Workload workload = crowd(4, {{"", "ann"}}, 400);
  const auto fleet = *parse_fleet_in_short("2xA100-40GB", *ProfileChoice::parse("plain"));
  for (const char* scheduler : keepers) {
    if (std::string_view(scheduler) == "full-gpu") continue;  // jobs of one size each
    SCOPED_TRACE(scheduler);
    const auto run = [&](const char* backfill) {
      return *simulate(fleet, workload,
                       *parse_scheduler(with(scheduler, fmt::format("backfill={}", backfill))), {});
    };
    const RunSummary none = run("none"), easy = run("easy"), conservative = run("conservative");
    EXPECT_EQ(easy.finished, none.finished);
    EXPECT_LT(easy.turnaround.mean, none.turnaround.mean);
    EXPECT_LT(conservative.turnaround.mean, none.turnaround.mean);
    EXPECT_LE(easy.makespan, none.makespan);
  }
}

// A job was told to end long ago and does not: the first in the queue is served elsewhere.
TEST(Backfilling, AJobThatTakesFarTooLongKeepsNobodyWaiting) {
  Workload workload = crowd(6, {{"", "ann"}}, 60);
  const auto all = workload.intern({ByProfile{"7g.40gb"}, {}});
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    workload.jobs[i].request = workload.intern({ByProfile{"1g.5gb"}, {}});
    workload.jobs[i].arrival = Instant{} + std::chrono::minutes(10 * i);
    workload.jobs[i].duration = 40min;
    workload.details[workload.jobs[i].details].application = "short";
  }
  // The first ones were measured to take a second, and take a week on the first GPU.
  workload.jobs[0].duration = 24h * 7;
  workload.details[workload.jobs[0].details].application = "wrong";
  workload.jobs[1].request = all;
  workload.details[workload.jobs[1].details].application = "large";
  ProfileRepository measured;
  const auto measure = [&](const char* application, const char* profile, double seconds) {
    ProfileRecord record;
    record.key = {application, "A100-40GB", 1, profile, false};
    record.time_s = seconds;
    measured.add(std::move(record), MergeRule::mean);
  };
  measure("wrong", "1g.5gb", 1);
  measure("short", "1g.5gb", 2400);
  measure("large", "7g.40gb", 2400);
  SimulationOptions options;
  options.applications = std::make_shared<ApplicationTimes>(std::move(measured), std::nullopt);
  std::vector<JobOutcome> outcomes;
  options.outcomes = &outcomes;
  const auto fleet =
      *parse_fleet_in_short("1xA100-40GB,1xA100-40GB", *ProfileChoice::parse("plain"));
  const auto summary =
      simulate(fleet, workload, *parse_scheduler("online:migration=off;backfill=easy"), options);
  ASSERT_TRUE(summary) << summary.error().text();
  EXPECT_EQ(outcomes[1].end, JobOutcome::End::finished);
  EXPECT_LT(outcomes[1].wait, 3h);
}

/// Where and when jobs begin.
class Begins final : public RunObserver {
 public:
  void on(const RunEvent& event) override {
    if (event.kind == RunEvent::Kind::started) all.push_back({*event.job, *event.gpu, event.at});
  }
  struct Begin {
    JobId job;
    GpuId gpu;
    Instant at;
  };
  std::vector<Begin> all;
};

// Another user's jobs fill two GPUs for hours; one of them is kept for two hours all the same, and
// what starts there before has ended by then.
TEST(Reservations, KeepAGpuForTheUserWhoMadeThem) {
  Workload workload = crowd(5, {{"", "ann"}, {"lab", "bob"}}, 300);
  for (Job& job : workload.jobs) {
    const bool anns = *workload.details_of(job)->user == "ann";
    job.request = workload.intern({ByProfile{"1g.5gb"}, {}});
    job.duration = 20min;
    job.arrival = Instant{} + (anns ? 0h : 1h + 30min);
  }
  std::erase_if(workload.jobs, [](const Job& job) { return job.id.starts_with("bob1"); });
  workload.sort();
  const auto fleet = *parse_fleet_in_short("2xA100-40GB", *ProfileChoice::parse("plain"));
  for (const char* scheduler : keepers)
    for (const char* backfill : {"none", "easy", "conservative"})
      for (const char* name : {"bob", "lab", ""}) {
        const std::string spec = with(scheduler, fmt::format("backfill={}", backfill));
        SCOPED_TRACE(fmt::format("{} for '{}'", spec, name));
        Begins begins;
        SimulationOptions options;
        options.observer = &begins;
        options.reconfiguration = Duration{};
        options.reservations = {{GpuId{0}, Instant{1h}, Instant{3h}, name}};
        const auto run = simulate(fleet, workload, *parse_scheduler(spec), options);
        ASSERT_TRUE(run) << run.error().text();
        EXPECT_EQ(run->finished, workload.jobs.size());
        std::size_t before = 0, bobs = 0, others = 0, after = 0;
        std::optional<Instant> first;
        for (const auto& [job, gpu, at] : begins.all) {
          if (gpu != GpuId{0}) continue;
          const bool anns = *workload.details_of(workload.jobs[index(job)])->user == "ann";
          if (at < Instant{1h}) {
            ++before;
            EXPECT_LE(at, Instant{40min}) << "it would not have ended";
          } else if (at >= Instant{3h}) {
            ++after;
          } else if (anns) {
            ++others;
          } else {
            ++bobs;
            first = first.value_or(at);
          }
        }
        EXPECT_GT(before, 0U);
        EXPECT_GT(after, 0U);
        EXPECT_EQ(others, 0U);
        EXPECT_EQ(bobs > 0, *name != '\0');
        if (bobs > 0) {
          EXPECT_EQ(*first, Instant{1h + 30min}) << "whichever jobs wait before";
        }
      }
}

// A job of the first one's user would run into the second.
TEST(Reservations, OneAfterAnotherBothHold) {
  Workload workload = crowd(7, {{"", "ann"}}, 3);
  for (Job& job : workload.jobs) job.request = workload.intern({ByProfile{"1g.5gb"}, {}});
  workload.jobs[0].duration = 20min;
  workload.jobs[1].duration = 50min;
  workload.jobs[2].duration = 90min;
  const auto fleet = *parse_fleet_in_short("1xA100-40GB", *ProfileChoice::parse("plain"));
  for (const char* scheduler : keepers) {
    if (std::string_view(scheduler) == "full-gpu") continue;  // one job at a time
    SCOPED_TRACE(scheduler);
    Begins begins;
    SimulationOptions options;
    options.observer = &begins;
    options.reconfiguration = Duration{};
    options.reservations = {{GpuId{0}, Instant{0h}, Instant{1h}, "ann"},
                            {GpuId{0}, Instant{1h}, Instant{2h}, ""}};
    ASSERT_TRUE(
        simulate(fleet, workload, *parse_scheduler(with(scheduler, "backfill=easy")), options));
    ASSERT_EQ(begins.all.size(), 3U);
    EXPECT_EQ(begins.all[0].at, Instant{});
    EXPECT_EQ(begins.all[1].at, Instant{});
    EXPECT_EQ(begins.all[2].at, Instant{2h}) << "90 min would run into the second hour";
  }
}

TEST(Reservations, AreRefusedByThoseThatKeepNothing) {
  const auto fleet = *parse_fleet_in_short("1xA100-40GB", *ProfileChoice::parse("plain"));
  SimulationOptions options;
  options.reservations = {{GpuId{0}, Instant{1h}, Instant{3h}, "bob"}};
  for (const char* spec : {"miso", "dyna-p", "scheme-a", "static:layout=best", "online:compact=60"})
    EXPECT_FALSE(simulate(fleet, Workload{}, *parse_scheduler(spec), options)) << spec;
}

TEST(QueueRules, RefuseOrdersThatWouldNotBeKept) {
  for (const char* wrong : {"deadline+fair-share", "submission+deadline", "fair-share+fair-share",
                            "deadline+deadline", "size"}) {
    const auto spec = parse_scheduler(fmt::format("full-gpu:order={}", wrong));
    ASSERT_TRUE(spec);
    const auto fleet = *parse_fleet_in_short("1xA100-40GB", *ProfileChoice::parse("plain"));
    EXPECT_FALSE(simulate(fleet, Workload{}, *spec, {})) << wrong;
  }
}

}  // namespace
}  // namespace cleave
