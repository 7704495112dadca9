// Engines that are rebuilt while work runs: at random moments the engine is thrown away and another
// is made from the present state, with the same or any other scheduler, while GPUs are lost,
// drained and paused, creates are refused, instances vanish and jobs are cancelled
// (moving_world.hpp has the laws). In the end every job has ended.
//
// CLEAVE_REBUILD_EVENTS is the number of events for each scheduler, CLEAVE_LAW_SEED the first seed.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/format.hpp"
#include "moving_world.hpp"
#include "scenario.hpp"
#include "simulate/known_jobs.hpp"

namespace cleave::laws {
namespace {

using namespace std::chrono_literals;

std::uint64_t setting_of(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// A run of one scenario.
class Restless {
 public:
  Restless(const SchedulerRow& row, std::uint64_t seed)
      : row_(row),
        random_(seed * 2 + 1),
        scenario_(random_scenario(seed, 300)),
        fleet_(scenario_.fleet),
        requests_(scenario_.fleet.geometries),
        speeds_(scenario_.workload, fleet_, {}),
        facts_(scenario_.workload, speeds_, fleet_, request_ids_),
        forecaster_(*make_forecaster(seed % 2 == 0 ? "last-value" : "none")),
        world_(scenario_.fleet, requests_, &facts_, forecaster_.get(), seed) {
    for (const Request& request : scenario_.workload.requests)
      request_ids_.push_back(requests_.intern(request));
    others_ = seed % 3 != 0;
  }

  void run() {
    begin(row_);
    if (random_.uniform() < 0.5) world_.refuse(random_.uniform() * 0.1);
    while (next_ < scenario_.workload.jobs.size() && world_.violations().empty()) step();
    world_.refuse(0);
    for (std::size_t i = 0; i < world_.gpus(); ++i) {
      world_.give_back(static_cast<GpuId>(i));
      world_.drain(static_cast<GpuId>(i), false);
    }
    world_.pause(false);
    drive_to_end();
  }

  [[nodiscard]] const MovingWorld& world() const { return world_; }
  [[nodiscard]] bool all_must_end() const {
    return scenario_.must_end && last_.find("dynamic=off") == std::string::npos;
  }

 private:
  GpuId any_gpu() { return static_cast<GpuId>(random_.below(world_.gpus())); }

  /// The search for the best fixed layout takes too long to be repeated.
  std::string spec_of(const SchedulerRow& row) {
    std::string text = random_spec(row, random_.bits());
    while (text.find("layout=best") != std::string::npos) text = random_spec(row, random_.bits());
    return text;
  }

  void begin(const SchedulerRow& row) {
    do last_ = spec_of(row);
    while (!world_.rebuild(*parse_scheduler(last_)));
  }

  void begin_again() {
    const auto rows = schedulers();
    if (random_.uniform() < 0.5) {
      world_.rebuild(*parse_scheduler(last_));
    } else {
      begin(others_ ? rows[random_.below(rows.size())] : row_);
    }
  }

  void step() {
    const double what = random_.uniform();
    if (what < 0.36) {
      world_.submit(request_ids_[scenario_.workload.jobs[next_++].request]);
    } else if (what < 0.66) {
      world_.end_one();
    } else if (what < 0.71) {
      world_.run_out_one();
    } else if (what < 0.78) {
      world_.report_one(static_cast<std::int64_t>(1 + random_.below(999)));
    } else if (what < 0.81) {
      world_.cancel_one();
    } else if (what < 0.87) {
      happen_to_gpus();
    } else if (what < 0.90) {
      begin_again();
    } else {
      return world_.wait(std::chrono::milliseconds(1 + random_.below(20'000)));
    }
    if (random_.uniform() < 0.7) world_.settle();
  }

  void happen_to_gpus() {
    const double what = random_.uniform();
    if (what < 0.2) {
      world_.lose(any_gpu());
    } else if (what < 0.5) {
      world_.give_back(any_gpu());
    } else if (what < 0.65) {
      world_.drain(any_gpu(), true);
    } else if (what < 0.85) {
      world_.drain(any_gpu(), false);
    } else if (what < 0.95) {
      world_.vanish_one();
    } else {
      world_.pause(random_.uniform() < 0.3);
    }
  }

  void drive_to_end() {
    for (std::size_t rounds = 0; rounds < 100'000 && world_.violations().empty(); ++rounds) {
      world_.settle();
      if (world_.running() > 0) {
        world_.end_one();
        if (random_.uniform() < 0.02) begin_again();
      } else if (const auto next = world_.next_wake()) {
        world_.wait(*next);
      } else {
        return;
      }
    }
    if (world_.violations().empty()) ADD_FAILURE() << "it does not end";
  }

  const SchedulerRow& row_;
  Random random_;
  Scenario scenario_;
  Fleet fleet_;
  RequestTable requests_;
  std::vector<RequestId> request_ids_;
  Speeds speeds_;
  KnownJobs facts_;
  std::unique_ptr<Forecaster> forecaster_;
  MovingWorld world_;
  std::string last_;
  bool others_ = true;
  std::size_t next_ = 0;
};

class Rebuild : public testing::TestWithParam<const SchedulerRow*> {};

TEST_P(Rebuild, NothingIsLost) {
#ifdef NDEBUG
  const std::uint64_t events = setting_of("CLEAVE_REBUILD_EVENTS", 100'000);
#else
  const std::uint64_t events = setting_of("CLEAVE_REBUILD_EVENTS", 10'000);
#endif
  MovingWorld::Counts all;
  for (std::uint64_t seed = setting_of("CLEAVE_LAW_SEED", 1); all.events < events && !HasFailure();
       ++seed) {
    SCOPED_TRACE(fmt::format("CLEAVE_LAW_SEED={}", seed));
    Restless run(*GetParam(), seed);
    run.run();
    for (const std::string& each : run.world().violations()) ADD_FAILURE() << each;
    if (run.all_must_end() && run.world().violations().empty()) {
      EXPECT_EQ(run.world().waiting().size(), 0U) << "they wait for ever";
    }
    const MovingWorld::Counts& counts = run.world().counts();
    all.events += counts.events;
    all.adopted += counts.adopted;
    all.refused += counts.refused;
    all.vanished += counts.vanished;
    all.cancelled += counts.cancelled;
    all.evicted += counts.evicted;
    all.ended += counts.ended;
    all.adopted_whole += counts.adopted_whole;
    all.shared += counts.shared;
    all.stopped += counts.stopped;
  }
  if (events < 10'000) return;
  // Laws hold easily if nothing happens.
  for (const std::size_t count :
       {all.adopted, all.refused, all.stopped, all.vanished, all.cancelled, all.evicted, all.ended,
        all.adopted_whole, all.shared})
    EXPECT_GT(count, 0U);
  RecordProperty("adopted", std::to_string(all.adopted));
}

std::vector<const SchedulerRow*> every_scheduler() {
  std::vector<const SchedulerRow*> rows;
  for (const SchedulerRow& row : schedulers()) rows.push_back(&row);
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Scheduler, Rebuild, testing::ValuesIn(every_scheduler()),
                         [](const testing::TestParamInfo<const SchedulerRow*>& row) {
                           std::string text(row.param->name);
                           std::ranges::replace(text, '-', '_');
                           return text;
                         });

}  // namespace
}  // namespace cleave::laws
