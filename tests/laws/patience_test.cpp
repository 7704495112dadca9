// The bound of `adaptive` on overtaking, docs/adaptive.md: once as many others as its `patience`
// says, for each GPU, have started while a job waited, a place is kept for it, or for one that
// comes before it; nothing starts there; and once it has started it is no more stopped to wait. All
// that under random jobs, ends, losses and drains (moving_world.hpp).
//
// CLEAVE_LAW_SEED is the first seed, CLEAVE_LAW_EVENTS the number of events.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "base/format.hpp"
#include "moving_world.hpp"
#include "scenario.hpp"
#include "simulate/known_jobs.hpp"

namespace cleave::laws {
namespace {

std::uint64_t set_to(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// Holds the law, by what is seen before and after each decision.
class PatienceLaw {
 public:
  struct Terms {
    std::size_t patience = 0;  // of the fleet
    bool keeps_places = true;  // with backfill; else nothing goes past those that have waited
    bool told_times = false;   // what is expected to have ended may start in a kept place
  };
  PatienceLaw(MovingWorld& world, const JobFacts& facts, const Terms& terms)
      : world_(world), facts_(facts), terms_(terms) {}

  void settle() {
    // Much else may happen of which a scheduler is not told, and then it decides nothing.
    const bool decides = std::exchange(ended_, world_.counts().ended) != ended_;
    waited_ = world_.waiting();
    const auto ran = world_.running_jobs();
    static_cast<void>(world_.take_begun());
    due_.clear();
    for (const JobId job : waited_) {
      if (outranked(job)) {
        in_the_way_.erase(job);
      } else if (decides && overtaken_[job] >= terms_.patience) {
        due_.push_back(job);
      }
    }
    was_due_.insert(due_.begin(), due_.end());
    world_.settle();
    begun_ = world_.take_begun();
    for (const JobId job : ran)
      if (was_due_.contains(job) && !world_.place_of(job))
        ADD_FAILURE() << "job " << index(job) << " had waited long, and is stopped to wait";
    std::erase_if(in_the_way_, [&](const auto& each) {
      const JobId job = each.first;
      return !world_.outlook(job).kept || is_behind_another(job) ||
             std::ranges::any_of(begun_, [&](JobId one) { return world_.comes_before(one, job); });
    });
    for (const JobId job : due_) check(job);
    count();
  }
  /// Something happened to GPUs: what was expected of them is void.
  void gpus_changed() { in_the_way_.clear(); }

  std::size_t kept = 0, started_after = 0;  // how often things happened

 private:
  [[nodiscard]] std::int64_t priority(JobId job) const { return facts_.priority(job); }
  /// One of higher priority waits.
  [[nodiscard]] bool outranked(JobId job) const {
    return std::ranges::any_of(waited_, [&](JobId each) { return priority(each) > priority(job); });
  }

  /// A place is kept for one that comes before it.
  [[nodiscard]] bool is_behind_another(JobId job) const {
    return std::ranges::any_of(waited_, [&](JobId each) {
      return world_.comes_before(each, job) && world_.outlook(each).kept;
    });
  }

  void check(JobId job) {
    if (world_.place_of(job)) {
      ++started_after;
      in_the_way_.erase(job);
      return;
    }
    if (!world_.could_start(job)) return;
    if (!terms_.keeps_places) return check_nothing_passes(job);
    const auto own = world_.outlook(job).kept;
    const bool behind = is_behind_another(job);
    if (!own) {
      EXPECT_TRUE(behind) << "no place is kept for job " << index(job) << ", which "
                          << overtaken_[job] << " have overtaken";
      return;
    }
    ++kept;
    if (terms_.told_times) return;
    check_place(job, {own->gpu, own->placement});
    if (!behind) check_in_the_way(job, {own->gpu, own->placement});
  }

  void check_nothing_passes(JobId job) {
    for (const JobId other : begun_)
      EXPECT_TRUE(world_.comes_before(other, job))
          << "job " << index(other) << " goes past job " << index(job);
  }

  void check_place(JobId job, MovingWorld::Place place) {
    for (const JobId other : begun_) {
      const auto there = world_.place_of(other);
      EXPECT_FALSE(there && world_.meet(*there, place) && !world_.comes_before(other, job))
          << "job " << index(other) << " begins on what is kept for job " << index(job);
    }
  }

  /// What has to leave before it can start only becomes less, unless one begins that comes before.
  void check_in_the_way(JobId job, MovingWorld::Place place) {
    int slices = 0;
    for (const JobId other : world_.running_jobs())
      if (const auto there = world_.place_of(other); world_.meet(*there, place))
        slices += world_.memory_slices(*there);
    const auto [before, first] = in_the_way_.try_emplace(job, slices);
    EXPECT_LE(slices, before->second) << "more is in the way of job " << index(job);
    before->second = slices;
  }

  void count() {
    for (const JobId job : waited_)
      if (!world_.place_of(job)) overtaken_[job] += begun_.size();
  }

  MovingWorld& world_;
  const JobFacts& facts_;
  Terms terms_;
  std::map<JobId, std::size_t> overtaken_;  // by how many, while it waited
  std::map<JobId, int> in_the_way_;         // memory slices, of those with a kept place
  std::set<JobId> was_due_;
  std::size_t ended_ = 0;
  std::vector<JobId> waited_, due_, begun_;  // before this decision, and in it
};

/// A run of one scenario.
class LongRun {
 public:
  explicit LongRun(std::uint64_t seed)
      : random_(seed * 2 + 1),
        scenario_(random_scenario(seed, 400)),
        fleet_(scenario_.fleet),
        requests_(scenario_.fleet.geometries),
        speeds_(scenario_.workload, fleet_, {}),
        told_times_(random_.below(3) == 0),
        facts_(scenario_.workload, speeds_, fleet_, request_ids_, nullptr, told()),
        world_(scenario_.fleet, requests_, &facts_, nullptr, seed) {
    for (const Request& request : scenario_.workload.requests)
      request_ids_.push_back(requests_.intern(request));
    const std::size_t patience = 1 + random_.below(20);
    constexpr std::string_view backfills[] = {"easy", "conservative", "none"};
    const std::string_view backfill = backfills[random_.below(std::size(backfills))];
    spec_ = fmt::format("adaptive:patience={};backfill={};disruptions={}", patience, backfill,
                        random_.below(10));
    world_.rebuild(*parse_scheduler(spec_));
    law_.emplace(world_, facts_,
                 PatienceLaw::Terms{.patience = patience * world_.gpus(),
                                    .keeps_places = backfill != "none",
                                    .told_times = told_times_});
  }

  void play() {
    for (std::size_t next = 0; next < scenario_.workload.jobs.size() && !broken();) {
      step(next);
      law_->settle();
    }
    while (world_.running() > 0 && !broken()) {
      world_.end_one();
      law_->settle();
    }
    for (const std::string& each : world_.violations()) ADD_FAILURE() << each;
  }

  [[nodiscard]] const std::string& spec() const { return spec_; }
  [[nodiscard]] const PatienceLaw& law() const { return *law_; }
  [[nodiscard]] const MovingWorld& world() const { return world_; }

 private:
  [[nodiscard]] bool broken() const {
    return !world_.violations().empty() || testing::Test::HasFailure();
  }
  [[nodiscard]] Told told() const {
    Told told{.requests = &requests_};
    if (!told_times_) told.knowledge.times = KnownTimes::unknown;
    return told;
  }

  void step(std::size_t& next) {
    const double what = random_.uniform();
    if (what < 0.47) {
      world_.submit(request_ids_[scenario_.workload.jobs[next++].request]);
    } else if (what < 0.9) {
      world_.end_one();
    } else if (what < 0.92) {
      world_.cancel_one();
    } else if (what < 0.94) {
      law_->gpus_changed();
      happen_to_gpus();
    } else {
      world_.wait(std::chrono::milliseconds(1 + random_.below(20'000)));
    }
  }

  void happen_to_gpus() {
    const auto gpu = static_cast<GpuId>(random_.below(world_.gpus()));
    switch (random_.below(6)) {
      case 0:
        return world_.lose(gpu);
      case 1:
        return world_.give_back(gpu);
      case 2:
        return world_.drain(gpu, true);
      case 3:
        return world_.vanish_one();
      case 4:
        return world_.run_out_one();
      default:
        return world_.drain(gpu, false);
    }
  }

  Random random_;
  Scenario scenario_;
  Fleet fleet_;
  RequestTable requests_;
  std::vector<RequestId> request_ids_;
  Speeds speeds_;
  bool told_times_;
  KnownJobs facts_;
  MovingWorld world_;
  std::string spec_;
  std::optional<PatienceLaw> law_;
};

TEST(Patience, BoundsHowOftenAWaitingJobIsOvertaken) {
#ifdef NDEBUG
  const std::uint64_t events = set_to("CLEAVE_LAW_EVENTS", 150'000);
#else
  const std::uint64_t events = set_to("CLEAVE_LAW_EVENTS", 20'000);
#endif
  std::size_t seen = 0, kept = 0, started = 0;
  for (std::uint64_t seed = set_to("CLEAVE_LAW_SEED", 1); seen < events && !HasFailure(); ++seed) {
    LongRun run(seed);
    SCOPED_TRACE(fmt::format("CLEAVE_LAW_SEED={} {}", seed, run.spec()));
    run.play();
    seen += run.world().counts().events;
    kept += run.law().kept;
    started += run.law().started_after;
  }
  if (events < 10'000) return;
  EXPECT_GT(kept, 100U);
  EXPECT_GT(started, 50U);
}

}  // namespace
}  // namespace cleave::laws
