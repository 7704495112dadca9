// Arrays of which only a limited number of jobs may run at a time, under every scheduler.

#include "engine/array_gate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/random.hpp"
#include "engine/engine.hpp"

namespace cleave {
namespace {

constexpr JobId job(unsigned number) {
  return static_cast<JobId>(number);
}

/// Jobs below 1000 are of array 1, of which `at_once` may run; those from 2000 on are of array 2
/// and all may. Others are in none.
class Arrays final : public ArrayFacts {
 public:
  explicit Arrays(std::int64_t at_once) : at_once_(at_once) {}
  [[nodiscard]] ArrayShare array(JobId id) const override {
    if (index(id) < 1000) return {1, at_once_};
    return index(id) < 2000 ? ArrayShare{} : ArrayShare{2, 0};
  }

 private:
  std::int64_t at_once_;
};

TEST(ArrayGate, LetsTheFirstInAndTheNextWhenOneIsOver) {
  const Arrays facts(2);
  ArrayGate gate(&facts);
  const auto request = static_cast<RequestId>(0);
  EXPECT_TRUE(gate.enter(job(1), request));
  EXPECT_TRUE(gate.enter(job(2), request));
  EXPECT_FALSE(gate.enter(job(4), request));
  EXPECT_FALSE(gate.enter(job(3), request));
  EXPECT_TRUE(gate.enter(job(1), request)) << "it is in already, and waits again";
  EXPECT_TRUE(gate.enter(job(1500), request));
  EXPECT_TRUE(gate.enter(job(2000), request));
  EXPECT_TRUE(gate.holds(job(3)) && !gate.holds(job(1)) && !gate.holds(job(1500)));
  EXPECT_FALSE(gate.next(job(1))) << "two are in";
  gate.leave(job(2));
  EXPECT_EQ(gate.next(job(2))->job, job(3)) << "in the order of submission";
  EXPECT_FALSE(gate.next(job(2)));
  gate.leave(job(4));  // it was cancelled here
  gate.leave(job(1));
  EXPECT_FALSE(gate.next(job(1)));
  gate.leave(job(3));
  EXPECT_TRUE(gate.idle());
}

TEST(ArrayGate, WhatRunsAlreadyCounts) {
  const Arrays facts(2);
  ArrayGate gate(&facts);
  for (const unsigned each : {7U, 8U, 9U}) gate.adopt(job(each));  // it had a larger share before
  EXPECT_FALSE(gate.enter(job(10), {}));
  gate.leave(job(7));
  EXPECT_FALSE(gate.next(job(7))) << "two still run";
  gate.leave(job(8));
  EXPECT_EQ(gate.next(job(8))->job, job(10));
}

/// An engine whose commands are believed to be carried out at once.
class World {
 public:
  World(const SchedulerRow& row, std::int64_t at_once)
      : file_(*parse_fleet_in_short("2xA100-40GB", *ProfileChoice::parse("plain"))),
        fleet_(file_),
        requests_(file_.geometries),
        arrays_(at_once) {
    const auto spec = parse_scheduler(row.name);
    if (!spec) return;
    auto made = Engine::make(*spec, {.fleet = fleet_, .requests = requests_, .facts = &facts_},
                             requests_, nullptr, nullptr, &arrays_);
    if (made) engine_ = std::make_unique<Engine>(std::move(*made));
  }

  [[nodiscard]] bool works() const { return engine_ != nullptr; }
  void submit(unsigned number) {
    const Request request{ByProfile{"1g.5gb"}, {}};
    tell(Submitted{job(number), requests_.intern(request)});
  }
  void tell(const Event& event) {
    std::vector<Command> commands;
    engine_->on(event, now_, commands);
    engine_->settle(now_, commands);
    heed(commands);
  }
  void pass(Duration time) {
    now_ += time;
    if (wake_ && *wake_ <= now_) {
      wake_.reset();
      tell(Woken{});
    }
  }
  void finish(JobId id) {
    running.erase(id);
    tell(Finished{id});
  }
  [[nodiscard]] std::size_t of_array() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(running, [](JobId id) { return index(id) < 1000; }));
  }
  [[nodiscard]] bool held(unsigned number) const { return engine_->array_is_full(job(number)); }

  std::set<JobId> running, rejected;

 private:
  void heed(const std::vector<Command>& commands) {
    for (const Command& command : commands) {
      if (const auto* start = std::get_if<StartJob>(&command)) running.insert(start->job);
      if (const auto* start = std::get_if<StartShared>(&command)) running.insert(start->job);
      if (const auto* start = std::get_if<StartOnWholeGpu>(&command)) running.insert(start->job);
      if (const auto* stop = std::get_if<StopJob>(&command)) running.erase(stop->job);
      if (const auto* save = std::get_if<CheckpointJob>(&command)) running.erase(save->job);
      if (const auto* reject = std::get_if<RejectJob>(&command)) rejected.insert(reject->job);
      if (const auto* wake = std::get_if<WakeAt>(&command))
        wake_ = wake_ ? std::min(*wake_, wake->time) : wake->time;
    }
  }

  class NoFacts final : public JobFacts {};
  FleetFile file_;
  Fleet fleet_;
  RequestTable requests_;
  NoFacts facts_;
  Arrays arrays_;
  Instant now_{};
  std::optional<Instant> wake_;
  std::unique_ptr<Engine> engine_;
};

TEST(ArrayGate, NoSchedulerStartsMoreThanTheShareAndAllRun) {
  std::size_t schedulers_tried = 0;
  for (const SchedulerRow& row : schedulers()) {
    World world(row, 3);
    if (!world.works()) continue;  // it needs to know more
    ++schedulers_tried;
    constexpr unsigned tasks = 24;
    for (unsigned i = 1; i <= tasks; ++i) world.submit(i);
    world.submit(1500);
    EXPECT_TRUE(world.held(4) && world.held(tasks)) << row.name;
    EXPECT_FALSE(world.held(1) || world.held(1500)) << row.name;
    world.tell(Cancelled{job(tasks)});
    Random random(7);
    std::set<JobId> seen, done;
    std::size_t most = 0;
    for (int step = 0; step < 2000 && done.size() < tasks; ++step) {
      seen.insert(world.running.begin(), world.running.end());
      most = std::max(most, world.of_array());
      ASSERT_LE(world.of_array(), 3U) << row.name;
      world.pass(std::chrono::seconds(20));
      if (world.running.empty()) continue;
      auto which = world.running.begin();
      std::advance(which, static_cast<std::ptrdiff_t>(random.below(world.running.size())));
      const JobId over = *which;
      done.insert(over);
      world.finish(over);
    }
    EXPECT_EQ(done.size() + world.rejected.size(), tasks) << row.name << ": 23 of the array, and 1";
    EXPECT_FALSE(seen.contains(job(tasks))) << row.name << ": it was cancelled";
    EXPECT_TRUE(!world.rejected.empty() || most > 0) << row.name;
  }
  EXPECT_GE(schedulers_tried, 4U);
}

}  // namespace
}  // namespace cleave
