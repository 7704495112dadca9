// What is withheld from schedulers decides nothing: two worlds that differ only behind it see the
// same decisions until the first thing that the difference does: an end of a job or, where speeds
// are learnt, a job that leaves its place, of which it is known how far it came. And what is told
// decides something, or the test would hold of anything.

#include <gtest/gtest.h>

#include <algorithm>

#include "base/format.hpp"
#include "base/random.hpp"
#include "base/sanitized_test.hpp"
#include "placement/request_table.hpp"
#include "scenario.hpp"

namespace cleave::laws {
namespace {

/// Everything that is observed of a run.
class SeenEvents final : public RunObserver {
 public:
  void on(const RunEvent& event) override { events.push_back(event); }
  std::vector<RunEvent> events;
};

std::string text_of(const RunEvent& event) {
  const auto number = [](const auto& id) { return id ? static_cast<std::int64_t>(*id) : -1; };
  return fmt::format("{} {} {} {} {} {}", event.at.time_since_epoch().count(), name(event.kind),
                     number(event.job), number(event.gpu), number(event.placement),
                     event.until ? event.until->time_since_epoch().count() : -1);
}

bool made_by_the_world(const RunEvent& event) {
  using Kind = RunEvent::Kind;
  return event.kind == Kind::finished || event.kind == Kind::failed || event.kind == Kind::ran_out;
}

/// Whether a job left its place: how much work it did there in which time is known then.
bool tells_progress(const RunEvent& event) {
  using Kind = RunEvent::Kind;
  return event.kind == Kind::finished || event.kind == Kind::checkpointed ||
         event.kind == Kind::stopped || event.kind == Kind::restarted_early ||
         event.kind == Kind::migrated;
}

/// What a scheduler hears of the truth while jobs run: nothing, what they had done when they left
/// their place, or how far they are at any moment.
enum class Reports { nothing, on_leaving, always };

/// Where the first difference between two runs is a decision; empty where it is something that
/// happened or may follow from what was reported, or there is none.
std::string differing_decision(const std::vector<RunEvent>& a, const std::vector<RunEvent>& b,
                               Reports reports = Reports::nothing) {
  std::optional<Instant> running_since;
  const auto reported = [&](const RunEvent& event) {
    if (reports == Reports::nothing) return false;
    return tells_progress(event) ||
           (reports == Reports::always && running_since && event.at > *running_since);
  };
  std::size_t i = 0;
  while (i < a.size() && i < b.size() && text_of(a[i]) == text_of(b[i])) {
    if (reported(a[i])) return "";
    if (a[i].kind == RunEvent::Kind::started && !running_since) running_since = a[i].at;
    ++i;
  }
  if ((i < a.size() && reported(a[i])) || (i < b.size() && reported(b[i]))) return "";
  const RunEvent* in_a = i < a.size() ? &a[i] : nullptr;
  const RunEvent* in_b = i < b.size() ? &b[i] : nullptr;
  if (in_a == nullptr && in_b == nullptr) return "";
  const auto happens = [](const RunEvent* one, const RunEvent* other) {
    return one != nullptr && made_by_the_world(*one) && (other == nullptr || one->at <= other->at);
  };
  if (happens(in_a, in_b) || happens(in_b, in_a)) return "";
  return fmt::format("event {}: '{}' against '{}'", i, in_a ? text_of(*in_a) : "nothing",
                     in_b ? text_of(*in_b) : "nothing");
}

/// What two worlds differ in.
enum class Hidden { durations, speeds, both, fits };

/// A level of knowledge, and what it hides.
struct Level {
  const char* know;
  Hidden hidden;
  const char* forecaster = "none";
};

constexpr Level levels[] = {
    {"times=unknown", Hidden::durations},
    {"times=unknown;speeds=learn", Hidden::both},
    {"times=unknown;speeds=none", Hidden::both},
    {"speeds=none", Hidden::speeds},
    {"speeds=learn", Hidden::speeds},
    {"times=noise:0.7;speeds=none", Hidden::speeds},
    {"memory=none", Hidden::fits},
    {"times=unknown;speeds=none;memory=none", Hidden::fits},
    {"memory=forecast", Hidden::fits, "last-value"},
};

/// Jobs of which some facts are the same in both worlds of a seed, and those that are hidden are
/// not.
class Worlds {
 public:
  Worlds(std::uint64_t seed, Hidden hidden) : random_(seed), hidden_(hidden) {
    const char* fleets[] = {"1xA100-40GB", "2xA100-40GB", "3xA100-40GB", "2xA30-24GB"};
    fleet = *parse_fleet_in_short(fleets[random_.below(4)], ProfileChoice::plain());
    const std::size_t jobs = 10 + random_.below(25);
    Instant arrival{};
    for (std::size_t i = 0; i < jobs; ++i) {
      if (random_.uniform() < 0.5) arrival += std::chrono::seconds(random_.below(60));
      add(fmt::format("j{}", i), arrival);
    }
    for (Workload& workload : worlds) workload.read = jobs;
  }

  FleetFile fleet;
  Workload worlds[2];

 private:
  const GpuModel& model() const { return fleet.geometries.front().model(); }

  Request wanted() {
    const auto& profiles = fleet.geometries.front().profile_list();
    const Profile& profile = *profiles[random_.below(profiles.size())];
    switch (random_.below(3)) {
      case 0:
        return {Unknown{}, {}, {}};
      case 1:
        return {BySize{MiB{profile.usable->value - static_cast<std::int64_t>(random_.below(900))},
                       ComputeSlices{0}},
                {},
                {}};
      default:
        return {ByProfile{std::string(profile.name)}, {}, {}};
    }
  }

  /// Eighths, so that times on what a job asks for are the same to the nanosecond.
  SpeedTable table() {
    SpeedTable table;
    for (const Profile* profile : fleet.geometries.front().profile_list())
      table[std::string(profile->name)] = static_cast<double>(1 + random_.below(8)) / 8;
    return table;
  }

  /// As the processors say, on the profile asked for, the largest, and some others.
  SpeedTable where_it_fits(const Profile& asked) {
    SpeedTable table;
    for (const Profile* profile : fleet.geometries.front().profile_list())
      if (profile == &asked || profile == &model().largest() || random_.uniform() < 0.5)
        table[std::string(profile->name)] =
            static_cast<double>(profile->sms->value) / model().largest().sms->value;
    return table;
  }

  const Profile& asked(const Request& request) const {
    const ResolvedRequest resolved = resolve(request, fleet.geometries);
    return *fleet.geometries.front()[resolved.candidates.front().first()].profile;
  }

  void add(const std::string& id, Instant arrival) {
    Request request = wanted();
    const Profile& of = asked(request);
    const auto takes = std::chrono::seconds(100 + random_.below(2000));
    SpeedTable first = hidden_ == Hidden::fits ? where_it_fits(of) : table();
    SpeedTable second = hidden_ == Hidden::durations ? first
                        : hidden_ == Hidden::fits    ? where_it_fits(of)
                                                     : table();
    JobDetails details;
    details.application = fmt::format("app{}", random_.below(3));
    details.batch = 8;
    details.latency = std::chrono::milliseconds(20);
    if (random_.uniform() < 0.3) details.deadline = std::chrono::seconds(random_.below(9000));
    if (random_.uniform() < 0.3) details.keeps = Keeps::checkpoint;
    details.user = fmt::format("u{}", random_.below(3));
    const double factor = 0.2 + 3 * random_.uniform();
    for (std::size_t w = 0; w < 2; ++w) {
      Workload& workload = worlds[w];
      SpeedTable speeds = w == 0 ? first : second;
      Job job{.id = id, .arrival = arrival};
      const bool same_time_asked = hidden_ == Hidden::speeds || hidden_ == Hidden::fits;
      const double speed = same_time_asked ? speeds.at(std::string(of.name)) : 1;
      job.duration = Duration{std::llround(static_cast<double>(Duration(takes).count()) * speed)};
      if (!same_time_asked && w == 1)
        job.duration =
            Duration{std::llround(static_cast<double>(Duration(takes).count()) * factor)};
      Request with = request;
      if (hidden_ == Hidden::fits) {
        with.fits.emplace();
        for (const auto& [profile, each] : speeds) with.fits->push_back(profile);
      }
      SpeedModel model_of;
      model_of.table = std::move(speeds);
      job.speed = workload.intern(model_of);
      job.request = workload.intern(with);
      job.details = static_cast<std::uint32_t>(workload.details.size());
      workload.details.push_back(details);
      workload.jobs.push_back(job);
    }
  }

  Random random_;
  Hidden hidden_;
};

constexpr const char* specs[] = {"full-gpu",
                                 "full-gpu:backfill=easy",
                                 "static",
                                 "static:sharing=mps",
                                 "static:backfill=conservative;fit=any",
                                 "scheme-a",
                                 "scheme-b",
                                 "scheme-b:backfill=easy",
                                 "online",
                                 "online:backfill=conservative;order=fair-share",
                                 "online:compact=60",
                                 "miso",
                                 "miso:measure=0",
                                 "dyna-p",
                                 "dyna-p:base=own;beta=100000",
                                 "adaptive",
                                 "adaptive:order=fair-share"};

std::vector<RunEvent> events_of(const Worlds& of, std::size_t world, const SchedulerSpec& spec,
                                const Level& level, const char* know) {
  SimulationOptions options;
  options.know = *parse_knowledge(know);
  options.forecaster = level.forecaster;
  SeenEvents seen;
  options.observer = &seen;
  const auto summary = simulate(of.fleet, of.worlds[world], spec, options);
  EXPECT_TRUE(summary) << summary.error().text();
  return std::move(seen.events);
}

/// Progress is reported where speeds are told or learnt; only one scheduler asks for it.
Reports reports_of(const SchedulerRow& row, std::string_view know) {
  const bool progress = !know.contains("speeds=none") && !know.contains("memory=");
  if (progress && row.name == "adaptive") return Reports::always;
  return know.contains("speeds=learn") ? Reports::on_leaving : Reports::nothing;
}

TEST(Knowledge, WhatIsWithheldDecidesNothing) {
  for (const Level& level : levels) {
    std::size_t decided_by_truth = 0;
    for (std::uint64_t seed = 1; seed <= (sanitized ? 10U : 25U) && !HasFailure(); ++seed) {
      const Worlds worlds(seed, level.hidden);
      for (const char* text : specs) {
        const auto spec = parse_scheduler(text);
        ASSERT_TRUE(spec) << spec.error().text();
        SCOPED_TRACE(fmt::format("{} {} seed {}", level.know, text, seed));
        EXPECT_EQ(differing_decision(events_of(worlds, 0, *spec, level, level.know),
                                     events_of(worlds, 1, *spec, level, level.know),
                                     reports_of(*spec->row, level.know)),
                  "");
        if (seed > 20) continue;
        decided_by_truth += differing_decision(events_of(worlds, 0, *spec, level, ""),
                                               events_of(worlds, 1, *spec, level, ""))
                                    .empty()
                                ? 0
                                : 1;
      }
    }
    EXPECT_GT(decided_by_truth, 5U) << level.know << ": the truth decides nothing either";
  }
}

TEST(Knowledge, SchedulersThatKnowTheTruthAreToldIt) {
  const auto oracle = parse_scheduler("oracle");
  for (std::uint64_t seed = 1; seed <= 10; ++seed)
    for (const Level& level : levels) {
      const Worlds worlds(seed, level.hidden);
      const auto less = events_of(worlds, 0, *oracle, level, level.know);
      const auto all = events_of(worlds, 0, *oracle, level, "");
      EXPECT_TRUE(std::ranges::equal(less, all, {}, text_of, text_of)) << level.know;
    }
}

TEST(Knowledge, NothingIsStoppedOrMovedThatMayNotBe) {
  std::size_t moved = 0, restarted = 0, checkpointed = 0;
  for (const SchedulerRow& row : schedulers())
    for (std::uint64_t seed = 1; seed <= 150 && !HasFailure(); ++seed) {
      Scenario scenario = random_scenario(seed, 60);
      const std::string text = random_spec(row, seed);
      SCOPED_TRACE(fmt::format("seed {} {}", seed, text));
      const auto run = [&](MayInterrupt may) {
        scenario.options.may = may;
        return simulate(scenario.fleet, scenario.workload, *parse_scheduler(text),
                        scenario.options);
      };
      if (const auto none = run(MayInterrupt::never)) {
        EXPECT_FALSE(row.interrupts);
        EXPECT_EQ(none->migrations + none->restarts + none->checkpoints + none->early_restarts, 0U);
      } else {
        EXPECT_EQ(none.error().kind, ErrorKind::bad_usage) << none.error().text();
      }
      // No job of these says what it keeps: a move would cost none of them anything.
      const auto some = run(MayInterrupt::checkpoint), all = run(MayInterrupt::all);
      if (!some || !all) continue;
      EXPECT_EQ(some->migrations, 0U);
      moved += all->migrations;
      restarted += some->restarts;
      checkpointed += some->checkpoints;
    }
  EXPECT_GT(moved, 10U);
  EXPECT_GT(restarted, 10U);
  EXPECT_GT(checkpointed, 100U);
}

}  // namespace
}  // namespace cleave::laws
