// Services and leases go before batches, and batches make room for them.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/format.hpp"
#include "base/random.hpp"
#include "engine/command_words_test.hpp"
#include "engine/engine.hpp"
#include "engine/engine_driver_test.hpp"

namespace cleave {
namespace {

using namespace std::chrono_literals;

/// What a test says of a job.
struct Said {
  JobKind kind = JobKind::batch;
  std::int64_t priority = 0;
  bool restartable = true, saves = false;
};

class SaidFacts final : public JobFacts {
 public:
  [[nodiscard]] std::int64_t priority(JobId job) const override { return of.at(job).priority; }
  [[nodiscard]] JobKind kind(JobId job) const override { return of.at(job).kind; }
  [[nodiscard]] bool restartable(JobId job) const override { return of.at(job).restartable; }
  [[nodiscard]] bool saves(JobId job) const override { return of.at(job).saves; }
  std::map<JobId, Said> of;
};

constexpr Said service{.kind = JobKind::service}, lease{.kind = JobKind::lease},
    stays{.restartable = false};

/// An engine that is told of jobs of kinds; the clock goes on by a second each time.
class KindsDriver {
 public:
  explicit KindsDriver(std::string_view spec, std::string_view fleet = "1xA100-40GB")
      : file_(EngineDriver::in_short(fleet)),
        fleet_(file_),
        requests_(file_.geometries),
        engine_(*Engine::make(*parse_scheduler(spec),
                              {.fleet = fleet_,
                               .requests = requests_,
                               .facts = &facts_,
                               .live = false,
                               .kinds = true},
                              requests_, nullptr)) {}

  std::string submit(unsigned job, const std::string& profile, const Said& said = {}) {
    facts_.of[static_cast<JobId>(job)] = said;
    return tell(Submitted{static_cast<JobId>(job), requests_.intern({ByProfile{profile}, {}})});
  }
  std::string finish(unsigned job) { return tell(Finished{static_cast<JobId>(job)}); }
  std::string tell(const Event& event) {
    now_ += 1s;
    commands_.clear();
    engine_.on(event, now_, commands_);
    engine_.settle(now_, commands_);
    return CommandWords(fleet_).text(commands_);
  }
  RequestId request(const std::string& profile) {
    return requests_.intern({ByProfile{profile}, {}});
  }
  [[nodiscard]] Outlook outlook(unsigned job) const {
    return engine_.outlook(static_cast<JobId>(job));
  }
  [[nodiscard]] const std::vector<Command>& commands() const { return commands_; }
  SaidFacts& facts() { return facts_; }

 private:
  FleetFile file_;
  Fleet fleet_;
  RequestTable requests_;
  SaidFacts facts_;
  Engine engine_;
  Instant now_{};
  std::vector<Command> commands_;
};

bool has(const std::string& answer, std::string_view words) {
  return answer.find(words) != std::string::npos;
}

/// Those that take them, on one GPU that one job of 7g fills.
const std::vector<std::string> takers = {"adaptive", "full-gpu", "static:layout=7g.40gb@0",
                                         "scheme-b", "online"};

std::string with(const std::string& spec, std::string_view option) {
  return fmt::format("{}{}{}", spec, spec.contains(':') ? ';' : ':', option);
}

TEST(Kinds, AreTakenBySomeAndRefusedByTheOthers) {
  for (const SchedulerRow& row : schedulers()) {
    SCOPED_TRACE(row.name);
    const bool taken = std::ranges::any_of(
        takers, [&](const std::string& spec) { return spec.starts_with(row.name); });
    EXPECT_EQ(row.kinds, taken);
    if (taken) continue;
    KindsDriver driver(row.name);
    EXPECT_EQ(driver.submit(0, "7g.40gb", service), "reject 0");
    const auto& reject = std::get<RejectJob>(driver.commands().front());
    EXPECT_TRUE(has(std::string(reject.reason), row.name)) << reject.reason;
    EXPECT_EQ(driver.submit(1, "7g.40gb", lease), "reject 1");
    EXPECT_TRUE(has(driver.submit(2, "7g.40gb"), "start 2"));
  }
}

TEST(Kinds, ServicesAndLeasesGetNoMoreThanTheyAskFor) {
  for (const char* spec : {"adaptive", "scheme-b", "online"}) {
    SCOPED_TRACE(spec);
    KindsDriver driver(spec);
    EXPECT_TRUE(has(driver.submit(0, "2g.10gb", service), "start 0 on 0 2g.10gb"));
    EXPECT_TRUE(has(driver.submit(1, "3g.20gb", lease), "start 1 on 0 3g.20gb"));
    EXPECT_TRUE(has(driver.submit(2, "1g.5gb", stays), "start 2 on 0 1g.5gb"));
  }
}

TEST(Kinds, ServicesGoFirstThenLeasesThenBatches) {
  for (const std::string& spec : takers) {
    SCOPED_TRACE(spec);
    KindsDriver driver(spec);
    EXPECT_TRUE(has(driver.submit(0, "7g.40gb", stays), "start 0"));
    driver.submit(1, "7g.40gb", stays);
    driver.submit(2, "7g.40gb", lease);
    driver.submit(3, "7g.40gb", service);
    driver.submit(4, "7g.40gb", {.kind = JobKind::batch, .priority = 1, .restartable = false});
    unsigned before = 0;
    for (const unsigned job : {4U, 3U, 2U, 1U})
      EXPECT_TRUE(has(driver.finish(std::exchange(before, job)), fmt::format("start {} on", job)));

    KindsDriver plain(with(spec, "kinds=off"));
    EXPECT_TRUE(has(plain.submit(0, "7g.40gb", stays), "start 0"));
    plain.submit(1, "7g.40gb", stays);
    plain.submit(2, "7g.40gb", service);
    EXPECT_TRUE(has(plain.finish(0), "start 1 on"));
  }
}

TEST(Kinds, BatchesThatMayBeStoppedMakeRoom) {
  for (const std::string& spec : takers) {
    SCOPED_TRACE(spec);
    for (const Said& arrives : {service, lease}) {
      KindsDriver driver(spec);
      EXPECT_TRUE(has(driver.submit(0, "7g.40gb"), "start 0"));
      EXPECT_TRUE(driver.submit(1, "7g.40gb", arrives).starts_with("stop 0, "));
      EXPECT_TRUE(has(driver.finish(1), "start 0")) << "it waits at its old place";
    }
    KindsDriver saved(spec);
    saved.submit(0, "7g.40gb", {.saves = true});
    EXPECT_TRUE(saved.submit(1, "7g.40gb", service).starts_with("checkpoint 0, "));

    for (const Said& runs : {stays, service, lease, Said{.priority = 1}}) {
      KindsDriver driver(spec);
      driver.submit(0, "7g.40gb", runs);
      EXPECT_EQ(driver.submit(1, "7g.40gb", service), "");
    }
    KindsDriver off(with(spec, "evict=off"));
    off.submit(0, "7g.40gb");
    EXPECT_EQ(off.submit(1, "7g.40gb", service), "");
  }
}

TEST(Kinds, NoMoreAreStoppedThanAreInTheWayAndThoseThatLoseLeast) {
  for (const char* spec : {"online", "scheme-b", "static:layout=3g.20gb@0+2g.10gb@4+1g.5gb@6"}) {
    SCOPED_TRACE(spec);
    KindsDriver driver(spec, "2xA100-40GB");
    for (unsigned job = 0; job < 2; ++job) driver.submit(job, "3g.20gb");
    for (unsigned job = 2; job < 4; ++job) driver.submit(job, "2g.10gb");
    // Where instances are made, what is left of the two GPUs is filled, with what stays.
    for (unsigned job = 4; job < 12; ++job) driver.submit(job, "1g.5gb", stays);
    const std::string answer = driver.submit(20, "2g.10gb", lease);
    EXPECT_TRUE(answer.starts_with("stop 3, ")) << answer;
    EXPECT_FALSE(has(answer, "stop 0") || has(answer, "stop 1") || has(answer, "stop 2"));
  }
}

TEST(Kinds, ABatchIsStoppedNoMoreOftenThanItSays) {
  for (const std::string& spec : takers)
    for (const unsigned most : {1U, 3U}) {
      SCOPED_TRACE(spec);
      KindsDriver driver(with(spec, fmt::format("evict={}", most)));
      driver.submit(0, "7g.40gb");
      for (unsigned i = 1; i <= most; ++i) {
        EXPECT_TRUE(has(driver.submit(i, "7g.40gb", lease), "stop 0"));
        EXPECT_TRUE(has(driver.finish(i), "start 0"));
      }
      EXPECT_EQ(driver.submit(most + 1, "7g.40gb", lease), "") << "it runs to its end now";
      EXPECT_TRUE(has(driver.finish(0), fmt::format("start {} on", most + 1)));
    }
}

TEST(Kinds, BatchesDoNotWaitForServicesThatFindNoRoom) {
  for (const char* spec : {"online", "scheme-b", "static:layout=4g.20gb@0+3g.20gb@4"}) {
    SCOPED_TRACE(spec);
    KindsDriver driver(spec);
    EXPECT_TRUE(has(driver.submit(0, "4g.20gb", service), "start 0"));
    EXPECT_EQ(driver.submit(1, "4g.20gb", service), "");
    EXPECT_TRUE(driver.outlook(1).kept.has_value()) << "it is said where it will be";
    EXPECT_FALSE(driver.outlook(1).kept->from.has_value()) << "but not when";
    EXPECT_TRUE(has(driver.submit(2, "3g.20gb"), "start 2"));
    EXPECT_EQ(driver.submit(3, "4g.20gb", stays), "");
    EXPECT_TRUE(has(driver.finish(0), "start 1")) << "and what is kept for it is not taken";
  }
}

TEST(Kinds, ALeaseShrinksAndGrowsWhereThereIsRoom) {
  for (const char* spec : {"online", "scheme-b", "static:layout=3g.20gb@0+2g.10gb@4+1g.5gb@6"}) {
    SCOPED_TRACE(spec);
    KindsDriver driver(spec);
    EXPECT_TRUE(has(driver.submit(0, "3g.20gb", lease), "start 0"));
    EXPECT_TRUE(has(driver.tell(LeaseIdle{JobId{0}, driver.request("1g.5gb")}), "migrate 0 to"));
    EXPECT_FALSE(has(driver.tell(LeaseIdle{JobId{0}, driver.request("1g.5gb")}), "migrate"));
    EXPECT_TRUE(has(driver.tell(LeaseBusy{JobId{0}}), "migrate 0 to 0 3g.20gb"));
    EXPECT_FALSE(has(driver.tell(LeaseBusy{JobId{0}}), "migrate"));
    driver.tell(LeaseIdle{JobId{0}, driver.request("1g.5gb")});
    EXPECT_TRUE(has(driver.submit(1, "3g.20gb", stays), "start 1"));
    if (!std::string_view(spec).starts_with("static")) continue;
    EXPECT_EQ(driver.tell(LeaseBusy{JobId{0}}), "") << "there is no room to grow";
  }
}

/// Whatever comes and goes: what is stopped is a batch that may be, as often as it may be, where a
/// service or lease starts at that moment.
TEST(Kinds, EvictionsKeepTheirRules) {
  const std::string profiles[] = {"1g.5gb", "2g.10gb", "3g.20gb", "7g.40gb"};
  std::size_t stops = 0;
  for (const std::string spec :
       {"full-gpu", "scheme-b", "online", "online:backfill=easy", "scheme-b:backfill=conservative",
        "online:order=fair-share", "static:layout=3g.20gb@0+2g.10gb@4+1g.5gb@6"}) {
    SCOPED_TRACE(spec);
    KindsDriver driver(with(spec, "evict=2"), "3xA100-40GB");
    Random random(7);
    std::map<unsigned, unsigned> stopped;
    std::set<unsigned> runs;
    const auto hear = [&](unsigned arrived) {
      std::size_t stopped_now = 0, kinds_started = 0;
      for (const Command& command : driver.commands()) {
        const auto stop = [&](JobId job) {
          const auto id = static_cast<unsigned>(index(job));
          ASSERT_EQ(runs.erase(id), 1U) << id;
          const Said& said = driver.facts().of.at(job);
          EXPECT_EQ(said.kind, JobKind::batch);
          EXPECT_TRUE(said.restartable);
          EXPECT_LE(++stopped[id], 2U);
          ++stopped_now;
        };
        const auto start = [&](JobId job) {
          EXPECT_TRUE(runs.insert(static_cast<unsigned>(index(job))).second);
          kinds_started += driver.facts().of.at(job).kind != JobKind::batch ? 1 : 0;
        };
        if (const auto* what = std::get_if<StopJob>(&command)) stop(what->job);
        if (const auto* what = std::get_if<CheckpointJob>(&command)) stop(what->job);
        if (const auto* what = std::get_if<StartJob>(&command)) start(what->job);
        if (const auto* what = std::get_if<StartOnWholeGpu>(&command)) start(what->job);
      }
      EXPECT_TRUE(stopped_now == 0 || kinds_started > 0) << arrived;
      stops += stopped_now;
    };
    for (unsigned job = 0; job < 600; ++job) {
      const Said said{.kind = random.below(4) > 0    ? JobKind::batch
                              : random.below(2) == 0 ? JobKind::service
                                                     : JobKind::lease,
                      .priority = static_cast<std::int64_t>(random.below(2)),
                      .restartable = random.below(4) > 0,
                      .saves = random.below(2) == 0};
      driver.submit(job, profiles[random.below(spec.starts_with("static") ? 3 : 4)], said);
      hear(job);
      while (!runs.empty() && random.below(2) == 0) {
        const unsigned ends = *std::next(runs.begin(), static_cast<int>(random.below(runs.size())));
        runs.erase(ends);
        driver.finish(ends);
        hear(job);
      }
    }
  }
  EXPECT_GT(stops, 200U);
}

}  // namespace
}  // namespace cleave
