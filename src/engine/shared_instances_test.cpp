// `static` with several jobs on each instance: seats, parts, memory, and what becomes of the jobs
// when instances and GPUs go.

#include <gtest/gtest.h>

#include "engine/engine_driver_test.hpp"
#include "engine/schedulers/instance_seats.hpp"

namespace cleave {
namespace {

TEST(SharedInstances, FillEvenlyUntilNoSeatIsLeft) {
  EngineDriver fixed("static:layout=3g.20gb@0+3g.20gb@4;sharing=mps;sharers=2");
  EXPECT_EQ(fixed.submit(0, "1g.5gb"),
            "create 0 3g.20gb@0, create 0 3g.20gb@4, share 0 on 0 3g.20gb@0");
  EXPECT_EQ(fixed.submit(1, "1g.5gb"), "share 1 on 0 3g.20gb@4");
  EXPECT_EQ(fixed.submit(2, "1g.5gb"), "share 2 on 0 3g.20gb@0");
  EXPECT_EQ(fixed.submit(3, "1g.5gb"), "share 3 on 0 3g.20gb@4");
  EXPECT_EQ(fixed.submit(4, "1g.5gb"), "");
  EXPECT_EQ(fixed.finish(1), "share 4 on 0 3g.20gb@4");
  EXPECT_EQ(fixed.finish(3), "");
  EXPECT_EQ(fixed.finish(4), "") << "the instance is empty, and stays";
  EXPECT_EQ(fixed.submit(5, "1g.5gb"), "share 5 on 0 3g.20gb@4");
}

TEST(SharedInstances, HoldOnlyWhatFitsTogether) {
  EngineDriver fixed("static:layout=7g.40gb@0;sharing=mps");
  EXPECT_EQ(fixed.submit(0, "4g.20gb"), "create 0 7g.40gb@0, share 0 on 0 7g.40gb@0");
  EXPECT_EQ(fixed.submit(1, "4g.20gb"), "") << "two halves and contexts are more than there is";
  EXPECT_EQ(fixed.submit(2, "1g.5gb"), "") << "nobody overtakes";
  EXPECT_EQ(fixed.finish(0), "share 1 on 0 7g.40gb@0, share 2 on 0 7g.40gb@0");
}

TEST(SharedInstances, AJobThatRanOutNeedsAWholeSizeMore) {
  EngineDriver fixed("static:layout=7g.40gb@0;sharing=mps");
  EXPECT_EQ(fixed.submit_all({{"1g.5gb", 0}, {"1g.5gb", 0}}, 0),
            "create 0 7g.40gb@0, share 0 on 0 7g.40gb@0, share 1 on 0 7g.40gb@0");
  EXPECT_EQ(fixed.run_out(1, 30'000), "") << "what holds more is the whole, for it alone";
  EXPECT_EQ(fixed.finish(0), "share 1 on 0 7g.40gb@0");
  EXPECT_EQ(fixed.submit(2, "1g.5gb"), "");
}

TEST(SharedInstances, AllJobsOfAGpuThatIsLostWaitAgain) {
  EngineDriver fixed("static:layout=7g.40gb@0;sharing=time-slicing;sharers=3");
  fixed.submit_all({{"1g.5gb", 0}, {"1g.5gb", 0}, {"1g.5gb", 0}}, 0);
  EXPECT_EQ(fixed.lose(0), "");
  EXPECT_EQ(fixed.recover(0),
            "create 0 7g.40gb@0, share 0 on 0 7g.40gb@0, share 1 on 0 7g.40gb@0, "
            "share 2 on 0 7g.40gb@0");
  const PlacementId all = 0;
  EXPECT_EQ(fixed.answer(InstanceVanished{GpuId{0}, all}),
            "create 0 7g.40gb@0, share 0 on 0 7g.40gb@0, share 1 on 0 7g.40gb@0, "
            "share 2 on 0 7g.40gb@0");
}

Profile profile_of(std::string_view name) {
  const GpuModel& model = **find_gpu_model("A100-40GB");
  return *std::ranges::find(model.profiles, name, &Profile::name);
}

TEST(SharedInstances, PartsAreThoseThatDriversOffer) {
  const auto part = [](std::string_view name, int jobs) {
    return InstanceSeats({SharingMode::compute_instances, jobs, 0}).share_of(profile_of(name)).part;
  };
  EXPECT_EQ(part("7g.40gb", 0), 1);
  EXPECT_EQ(part("7g.40gb", 3), 2);
  EXPECT_EQ(part("7g.40gb", 2), 3);
  EXPECT_EQ(part("7g.40gb", 1), 7);
  EXPECT_EQ(part("3g.20gb", 2), 1);
  EXPECT_EQ(part("3g.20gb", 9), 1) << "no more of them than slices";
  EXPECT_EQ(InstanceSeats({SharingMode::mps, 7, 13}).share_of(profile_of("7g.40gb")).part, 13);
  EXPECT_EQ(InstanceSeats({SharingMode::mps, 7, 100}).share_of(profile_of("7g.40gb")).part, 0);
}

TEST(SharedInstances, OptionsThatSayNothingAreRefused) {
  const FleetFile file = EngineDriver::in_short("1xA100-40GB");
  const Fleet fleet(file);
  const RequestTable requests(file.geometries);
  const auto refused = [&](std::string_view spec, bool live = false) {
    const auto made = make_scheduler(*parse_scheduler(spec),
                                     {.fleet = fleet, .requests = requests, .live = live});
    return made ? std::string() : made.error().text();
  };
  EXPECT_NE(refused("static:sharers=3").find("sharing"), std::string::npos);
  EXPECT_NE(refused("static:sharing=time-slicing;percent=20").find("sharing=mps"),
            std::string::npos);
  EXPECT_NE(refused("static:sharing=mps;percent=0").find("percent"), std::string::npos);
  EXPECT_NE(refused("static:sharing=mps", true).find("simulations only"), std::string::npos);
  EXPECT_EQ(refused("static:sharing=mps"), "");
}

}  // namespace
}  // namespace cleave
