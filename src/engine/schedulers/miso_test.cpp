// The partition of best total speed against every assignment there is, and what `miso` answers to
// events.

#include "engine/schedulers/miso.hpp"

#include <gtest/gtest.h>

#include "base/format.hpp"
#include "base/random.hpp"
#include "engine/engine.hpp"
#include "engine/schedulers/miso_partition.hpp"
#include "engine/schedulers/miso_speeds.hpp"
#include "model/layout_text.hpp"

namespace cleave {
namespace {

struct Found {
  Millionths speed = -1;
  int kept = -1, memory = 0;
};

/// Every way to give each job an instance, one job after the other.
void try_all(const Geometry& geometry, std::span<const PartitionJob> jobs, PlacementSet fixed,
             PlacementSet taken, Found so_far, Found& best) {
  const auto i = static_cast<std::size_t>(taken.size());
  if (i == jobs.size()) {
    so_far.memory = geometry.memory(taken).value;
    if (std::tuple(-so_far.speed, -so_far.kept, so_far.memory) <
        std::tuple(-best.speed, -best.kept, best.memory))
      best = so_far;
    return;
  }
  for (const PlacementId placement : geometry.free(fixed | taken)) {
    const Millionths speed =
        jobs[i].speed[static_cast<std::size_t>(geometry[placement].profile_index)];
    if (speed == 0) continue;
    Found next = so_far;
    next.speed += speed;
    next.kept += jobs[i].at == placement ? 1 : 0;
    try_all(geometry, jobs, fixed, taken | PlacementSet::of(placement), next, best);
  }
}

/// A legal state of up to `most` placements.
PlacementSet random_state(Random& random, const Geometry& geometry, std::uint64_t most) {
  PlacementSet state;
  for (std::uint64_t left = random.below(most + 1); left > 0; --left) {
    const PlacementSet free = geometry.free(state);
    if (free.empty()) break;
    std::uint64_t skip = random.below(static_cast<std::uint64_t>(free.size()));
    for (const PlacementId placement : free)
      if (skip-- == 0) state.insert(placement);
  }
  return state;
}

TEST(Partition, IsTheBestOfAllAssignments) {
  int none = 0;
  for (const char* key : {"A100-40GB", "A30-24GB", "H200-141GB", "RTX-PRO-6000-BW-96GB"}) {
    const GpuModel& model = **find_gpu_model(key);
    const auto graph = StateGraph::of(model, ProfileChoice::plain().on(model));
    const Geometry& geometry = graph->geometry();
    Random random(11);
    for (int round = 0; round < 300; ++round) {
      const PlacementSet fixed = random_state(random, geometry, 2);
      const PlacementSet before = random_state(random, geometry, 5) - geometry.blocked(fixed);
      PartitionSearch search(graph, fixed);
      const std::size_t count = random.below(6);
      std::vector<std::vector<Millionths>> speeds(count);
      std::vector<PartitionJob> jobs;
      PlacementSet left = before;
      for (auto& speed : speeds) {
        // Few values, so that much is equal.
        for (std::size_t i = 0; i < model.profiles.size(); ++i)
          speed.push_back(static_cast<Millionths>(random.below(4)) * full_speed / 3);
        PartitionJob& job = jobs.emplace_back();
        job.speed = speed;
        if (left.empty() || random.below(3) == 0) continue;
        job.at = left.first();
        left.erase(left.first());
      }
      Found expected;
      try_all(geometry, jobs, fixed, {}, {0, 0, 0}, expected);
      const auto best = search.best(jobs);
      ASSERT_EQ(search.possible(jobs), best.has_value());
      ASSERT_EQ(search.possible(jobs), best.has_value()) << "and remembered";
      if (!best) {
        ASSERT_EQ(expected.speed, -1) << key << " round " << round;
        ++none;
        continue;
      }
      Found found{0, 0, 0};
      PlacementSet layout;
      for (std::size_t i = 0; i < count; ++i) {
        const auto profile = static_cast<std::size_t>(geometry[best->places[i]].profile_index);
        ASSERT_GT(jobs[i].speed[profile], 0);
        found.speed += jobs[i].speed[profile];
        found.kept += jobs[i].at == best->places[i] ? 1 : 0;
        layout.insert(best->places[i]);
      }
      ASSERT_EQ(layout.size(), static_cast<int>(count));
      ASSERT_FALSE(layout.meets(fixed));
      ASSERT_TRUE(geometry.legal(layout | fixed));
      ASSERT_EQ(best->speed, found.speed);
      ASSERT_EQ(found.speed, expected.speed) << key << " round " << round;
      ASSERT_EQ(found.kept, expected.kept) << key << " round " << round;
      ASSERT_EQ(geometry.memory(layout).value, expected.memory) << key << " round " << round;
    }
  }
  EXPECT_GT(none, 20) << "some GPUs cannot hold their jobs";
}

/// Drives `miso` by hand; answers as text, times in seconds.
class Miso {
 public:
  explicit Miso(std::string_view spec,
                std::string_view fleet = R"({"gpus": [{"name": "g", "model": "A100-40GB"}]})",
                std::uint64_t seed = 1)
      : file_(*parse_fleet(fleet, "f", *ProfileChoice::parse("plain"))),
        fleet_(file_),
        requests_(file_.geometries),
        spec_(*parse_scheduler(spec)),
        engine_(
            *Engine::make(spec_, {fleet_, requests_, true, nullptr, seed}, requests_, nullptr)) {}

  Miso& submit(unsigned job, std::string profile) {
    return tell(
        Submitted{static_cast<JobId>(job), requests_.intern({ByProfile{std::move(profile)}, {}})});
  }
  Miso& finish(unsigned job) { return tell(Finished{static_cast<JobId>(job)}); }
  Miso& run_out(unsigned job, MiB had) { return tell(OutOfMemory{static_cast<JobId>(job), had}); }
  Miso& lose(unsigned gpu) { return tell(GpuLost{static_cast<GpuId>(gpu)}); }
  Miso& recover(unsigned gpu) { return tell(GpuReturned{static_cast<GpuId>(gpu)}); }
  Miso& wake() { return tell(Woken{}); }

  /// What comes out of all that was told since, now.
  std::string at(int seconds) {
    now_ = Instant{} + std::chrono::seconds(seconds);
    std::vector<Command> commands;
    for (const Event& event : told_) engine_.on(event, now_, commands);
    told_.clear();
    engine_.settle(now_, commands);
    std::vector<std::string> words;
    for (const Command& command : commands) words.push_back(std::visit(*this, command));
    return fmt::format("{}", fmt::join(words, ", "));
  }

  std::string operator()(const DestroyInstance& c) const {
    return "destroy " + where(c.gpu, c.placement);
  }
  std::string operator()(const CreateInstance& c) const {
    return "create " + where(c.gpu, c.placement);
  }
  std::string operator()(const StartJob& c) const {
    return fmt::format("start {} {}", index(c.job), where(c.gpu, c.placement));
  }
  std::string operator()(const StartShared& c) const {
    return fmt::format("share {} {}", index(c.job), where(c.gpu, c.placement));
  }
  std::string operator()(const CheckpointJob& c) const {
    return fmt::format("checkpoint {}", index(c.job));
  }
  std::string operator()(const FailJob& c) const { return fmt::format("fail {}", index(c.job)); }
  std::string operator()(const WakeAt& c) const {
    return fmt::format("wake {}", in_seconds(c.time - Instant{}));
  }
  template <class Other>
  std::string operator()(const Other&) const {
    return "unexpected";
  }

 private:
  Miso& tell(Event event) {
    told_.push_back(event);
    return *this;
  }
  std::string where(GpuId gpu, PlacementId placement) const {
    return fmt::format("{}/{}", index(gpu),
                       layout_text(fleet_.geometry(fleet_[gpu]), PlacementSet::of(placement)));
  }

  FleetFile file_;
  Fleet fleet_;
  RequestTable requests_;
  SchedulerSpec spec_;
  Engine engine_;
  Instant now_{};
  std::vector<Event> told_;
};

TEST(Miso, MeasuresThenPartitions) {
  Miso miso("miso");
  EXPECT_EQ(miso.submit(0, "1g.5gb").at(0), "create 0/7g.40gb@0, wake 30, start 0 0/7g.40gb@0");
  EXPECT_EQ(miso.submit(1, "1g.5gb").at(10), "") << "a GPU that measures takes no further job";
  EXPECT_EQ(miso.wake().at(30), "checkpoint 0, wake 90, share 0 0/7g.40gb@0, share 1 0/7g.40gb@0")
      << "30 s of it are for the checkpoint of job 0";
  EXPECT_EQ(miso.wake().at(60), "") << "a time that is not its own";
  EXPECT_EQ(
      miso.wake().at(90),
      "checkpoint 0, checkpoint 1, destroy 0/7g.40gb@0, create 0/4g.20gb@0, create 0/3g.20gb@4, "
      "start 0 0/4g.20gb@0, start 1 0/3g.20gb@4");
  EXPECT_EQ(miso.finish(1).at(100),
            "checkpoint 0, destroy 0/4g.20gb@0, destroy 0/3g.20gb@4, create 0/7g.40gb@0, "
            "start 0 0/7g.40gb@0");
  EXPECT_EQ(miso.finish(0).at(110), "");
}

TEST(Miso, WhatIsKnownIsPlacedAtOnce) {
  Miso miso("miso:measure=0;checkpoint=moved");
  EXPECT_EQ(miso.submit(0, "4g.20gb").submit(1, "2g.10gb").at(0),
            "create 0/4g.20gb@0, create 0/3g.20gb@4, start 0 0/4g.20gb@0, start 1 0/3g.20gb@4")
      << "jobs of one instant share a decision";
  EXPECT_EQ(miso.submit(2, "1g.5gb").at(1),
            "checkpoint 1, destroy 0/3g.20gb@4, create 0/2g.10gb@4, create 0/1g.5gb@6, start 1 "
            "0/2g.10gb@4, "
            "start 2 0/1g.5gb@6")
      << "who does not move is not disturbed";
  EXPECT_EQ(miso.submit(3, "2g.10gb").submit(4, "1g.5gb").at(2), "")
      << "no layout holds job 3: both wait";
  EXPECT_EQ(miso.finish(2).at(3),
            "checkpoint 1, destroy 0/2g.10gb@4, destroy 0/1g.5gb@6, create 0/3g.20gb@4, start 1 "
            "0/3g.20gb@4")
      << "there is still none, and nobody overtakes; the GPU's other jobs gain";
  EXPECT_EQ(miso.finish(1).at(4),
            "destroy 0/3g.20gb@4, create 0/2g.10gb@4, create 0/1g.5gb@6, start 3 0/2g.10gb@4, "
            "start 4 0/1g.5gb@6");
}

TEST(Miso, ChecksAllJobsOfTheGpuUnlessToldOtherwise) {
  Miso miso("miso:measure=0");
  EXPECT_EQ(miso.submit(0, "4g.20gb").submit(1, "2g.10gb").at(0),
            "create 0/4g.20gb@0, create 0/3g.20gb@4, start 0 0/4g.20gb@0, start 1 0/3g.20gb@4");
  EXPECT_EQ(
      miso.submit(2, "1g.5gb").at(1),
      "checkpoint 0, checkpoint 1, destroy 0/3g.20gb@4, create 0/2g.10gb@4, create 0/1g.5gb@6, "
      "start 0 0/4g.20gb@0, start 1 0/2g.10gb@4, start 2 0/1g.5gb@6");
}

TEST(Miso, AGpuThatIsLostWhileItMeasures) {
  Miso miso("miso", R"({"gpus": [{"name": "g/%d", "model": "A100-40GB", "count": 2}]})");
  EXPECT_EQ(miso.submit(0, "1g.5gb").submit(1, "1g.5gb").submit(2, "1g.5gb").at(0),
            "create 0/7g.40gb@0, wake 30, create 1/7g.40gb@0, wake 30, "
            "share 0 0/7g.40gb@0, start 1 1/7g.40gb@0, share 2 0/7g.40gb@0")
      << "the load is balanced";
  EXPECT_EQ(miso.lose(0).at(10), "") << "the other GPU measures: its jobs wait";
  EXPECT_EQ(miso.finish(1).at(20), "wake 50, share 0 1/7g.40gb@0, share 2 1/7g.40gb@0")
      << "the measuring of job 1 is over with it";
  EXPECT_EQ(miso.recover(0).wake().at(30), "") << "those times are no longer meant";
  EXPECT_EQ(miso.finish(2).at(40), "") << "job 0 is still being measured";
  EXPECT_EQ(miso.wake().at(50), "checkpoint 0, start 0 1/7g.40gb@0");
}

TEST(Miso, RunsOutOfMemoryAndComesBackLarger) {
  Miso miso("miso:measure=0");
  const GpuModel& model = **find_gpu_model("A100-40GB");
  EXPECT_EQ(miso.submit(0, "1g.5gb").submit(1, "3g.20gb").submit(2, "1g.5gb").at(0),
            "create 0/4g.20gb@0, create 0/2g.10gb@4, create 0/1g.5gb@6, start 0 0/2g.10gb@4, "
            "start 1 0/4g.20gb@0, start 2 0/1g.5gb@6");
  EXPECT_EQ(
      miso.run_out(2, *model.find("2g.10gb")->usable).at(10),
      "checkpoint 0, checkpoint 1, destroy 0/2g.10gb@4, destroy 0/1g.5gb@6, create 0/3g.20gb@4, "
      "start 0 0/3g.20gb@4, start 1 0/4g.20gb@0")
      << "beside two others there is no 3g.20gb for it: it waits";
  EXPECT_EQ(miso.finish(0).at(20), "start 2 0/3g.20gb@4");
  EXPECT_EQ(miso.run_out(2, *model.find("7g.40gb")->usable).at(30),
            "fail 2, checkpoint 1, destroy 0/4g.20gb@0, destroy 0/3g.20gb@4, create 0/7g.40gb@0, "
            "start 1 0/7g.40gb@0");
}

TEST(Miso, LeavesAloneWhatIsNotItsOwn) {
  Miso miso("miso", R"({"gpus": [{"name": "g", "model": "A100-40GB", "instances": [
      {"profile": "3g.20gb", "start": 4, "workload": "w"},
      {"profile": "1g.5gb", "start": 0, "owned": false},
      {"profile": "1g.5gb", "start": 2}]}]})");
  EXPECT_EQ(miso.submit(0, "1g.5gb").at(0),
            "destroy 0/1g.5gb@2, create 0/2g.10gb@2, wake 30, start 0 0/2g.10gb@2");
}

TEST(Miso, SpeedsAreWrongByNoMoreThanAsked) {
  const FleetFile file =
      *parse_fleet_in_short("1xA100-40GB,1xA30-24GB", *ProfileChoice::parse("plain"));
  const Fleet fleet(file);
  RequestTable requests(file.geometries);
  const RequestId request = requests.intern({Unknown{}, {}});
  const SchedulerSetup setup{fleet, requests};
  const PredictedSpeeds exact = predicted_speeds(setup, JobId{3}, request, 0);
  EXPECT_EQ(exact[0][0], full_speed);
  const PredictedSpeeds wrong = predicted_speeds(setup, JobId{3}, request, 0.2);
  EXPECT_EQ(wrong, predicted_speeds(setup, JobId{3}, request, 0.2));
  EXPECT_NE(wrong, predicted_speeds(setup, JobId{4}, request, 0.2));
  EXPECT_NE(wrong, exact);
  for (std::size_t kind = 0; kind < exact.size(); ++kind)
    for (std::size_t i = 0; i < exact[kind].size(); ++i)
      EXPECT_NEAR(static_cast<double>(wrong[kind][i]), static_cast<double>(exact[kind][i]),
                  0.2 * static_cast<double>(exact[kind][i]) + 1);
}

TEST(Miso, RefusesOptionsThatMeanNothing) {
  const FleetFile file = *parse_fleet_in_short("1xA30-24GB", {});
  const Fleet fleet(file);
  const RequestTable requests(file.geometries);
  for (const char* spec :
       {"miso:measure=-1", "miso:measure=x", "miso:speed-error=2", "miso:gain=-0.1"})
    EXPECT_FALSE(make_scheduler(*parse_scheduler(spec), {fleet, requests})) << spec;
  EXPECT_FALSE(parse_scheduler("miso:reuse=maybe"));
}

}  // namespace
}  // namespace cleave
