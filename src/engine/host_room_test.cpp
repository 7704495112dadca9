// What is counted of hosts: starts, moves, ends and adopted jobs, in the order in which commands
// are appended.

#include "engine/host_room.hpp"

#include <gtest/gtest.h>

#include "base/format.hpp"
#include "engine/engine_driver_test.hpp"

namespace cleave {
namespace {

constexpr JobId one{1}, two{2}, three{3};

class HostRooms : public testing::Test {
 protected:
  static FleetFile fleet_file(const char* nodes) {
    return *parse_fleet(std::string(R"({"gpus": [{"name": "n0/%d", "model": "A100-40GB",
                                                  "count": 2}], "nodes": )") +
                            nodes + "}",
                        "fleet", *ProfileChoice::parse("plain"));
  }
  RequestId asks(JobId job, std::optional<std::int64_t> millicpus, std::optional<MiB> memory = {}) {
    Request request{ByProfile{"1g.5gb"}, {}};
    request.host = {millicpus, memory};
    const RequestId id = requests.intern(request);
    room.asks(job, id);
    return id;
  }
  [[nodiscard]] PlacementId small(int start) const {
    return *file.geometries.front().find("1g.5gb", start);
  }
  [[nodiscard]] PlacementId large() const { return *file.geometries.front().find("3g.20gb", 4); }

  FleetFile file = fleet_file(R"([{"name": "n0", "cpus": 14, "host_memory_mib": 1600}])");
  Fleet fleet{file};
  RequestTable requests{file.geometries};
  HostRoom room{fleet, requests};
  std::vector<Command> commands;
};

TEST_F(HostRooms, CountWhatIsAppended) {
  const RequestId asked = asks(one, 8000, MiB{100});
  asks(two, {});
  room.follow(commands);
  EXPECT_EQ(room.left(0), (HostAmount{14'000, MiB{1600}}));
  commands.emplace_back(StartJob{one, GpuId{0}, small(0)});
  EXPECT_EQ(room.left(0), (HostAmount{6000, MiB{1500}}));
  EXPECT_FALSE(room.takes(asked, {GpuId{1}, small(0)}));
  EXPECT_TRUE(room.takes(asked, {GpuId{1}, small(0)}, one)) << "it leaves its place for this";
  commands.emplace_back(StartJob{two, GpuId{1}, small(0)});
  EXPECT_EQ(room.left(0), (HostAmount{5000, MiB{1400}}));
  commands.emplace_back(MigrateJob{two, GpuId{0}, large()});
  EXPECT_EQ(room.left(0), (HostAmount{3000, MiB{1100}}));
  commands.emplace_back(CheckpointJob{one});
  EXPECT_TRUE(room.takes(asked, {GpuId{1}, small(0)}));
  room.unfollow();
  room.leave(two);
  room.leave(two);
  EXPECT_EQ(room.left(0), (HostAmount{14'000, MiB{1600}}));
}

TEST_F(HostRooms, CountAJobThatStopsAndStartsInOneAnswer) {
  asks(one, 8000);
  asks(two, 2000);
  room.follow(commands);
  commands.emplace_back(StartJob{one, GpuId{0}, small(0)});
  EXPECT_EQ(room.left(0).millicpus, 6000);
  commands.emplace_back(CheckpointJob{one});
  commands.emplace_back(StartJob{two, GpuId{0}, small(1)});
  commands.emplace_back(StartJob{one, GpuId{1}, small(0)});
  EXPECT_EQ(room.left(0).millicpus, 4000);
  commands.emplace_back(MigrateJob{one, GpuId{0}, small(0)});
  commands.emplace_back(CheckpointJob{one});
  EXPECT_EQ(room.left(0).millicpus, 12'000);
}

TEST_F(HostRooms, CountAdoptedJobsThoughTheyHaveMoreThanThereIs) {
  const RequestId asked = asks(one, 13'000);
  asks(two, 4000);
  room.adopt({one, asked, GpuId{0}, small(0)});
  room.adopt({two, asked, GpuId{1}, std::nullopt});
  EXPECT_EQ(room.left(0).millicpus, -3000);
  EXPECT_FALSE(room.takes(asks(three, 0), {GpuId{1}, small(0)}));
  room.gone(GpuId{1});
  EXPECT_EQ(room.left(0).millicpus, 1000);
  room.gone(Spot{GpuId{0}, small(1)});
  EXPECT_EQ(room.left(0).millicpus, 1000);
  room.gone(Spot{GpuId{0}, small(0)});
  EXPECT_EQ(room.left(0).millicpus, 14'000);
}

TEST_F(HostRooms, GiveASharedInstanceItsPartOnce) {
  const RequestId silent = asks(one, {});
  asks(two, {});
  asks(three, 500);
  room.follow(commands);
  for (const JobId job : {one, two, three})
    commands.emplace_back(StartShared{job, GpuId{0}, large()});
  EXPECT_EQ(room.left(0), (HostAmount{14'000 - 3000 - 500, MiB{1600 - 400}}));
  EXPECT_EQ(room.amount(silent, {GpuId{0}, large()}), HostAmount{});
  room.leave(one);
  EXPECT_EQ(room.left(0), (HostAmount{10'500, MiB{1200}}));
  room.leave(two);
  EXPECT_EQ(room.left(0), (HostAmount{13'500, MiB{1200}}));
  room.leave(three);
  EXPECT_EQ(room.left(0), (HostAmount{14'000, MiB{1600}}));
}

TEST_F(HostRooms, SayWhatIsTooLittle) {
  room.adopt({one, asks(one, 13'000, MiB{1600}), GpuId{0}, small(0)});
  EXPECT_EQ(room.why_waits(asks(two, 1500, MiB{0}), false),
            "running jobs leave 1 of 14 CPUs, of which it needs 1.5");
  EXPECT_EQ(room.why_waits(asks(two, 1000, MiB{0}), false), "");
  EXPECT_EQ(room.why_waits(asks(two, 2000), false),
            "running jobs leave 1 of 14 CPUs, of which it needs 2, and 0 of 1600 MiB of host "
            "memory, of which it needs 100");
  EXPECT_EQ(room.why_never(asks(two, 15'000, MiB{2000})),
            "no node with a GPU for it has 15 CPUs and 2000 MiB of host memory");
}

TEST_F(HostRooms, TellEnginesWhoWaits) {
  EngineDriver engine("online", file);
  Request asked{ByProfile{"1g.5gb"}, {}};
  asked.host.millicpus = 8000;
  EXPECT_EQ(engine.submit(1, asked), "create 0 1g.5gb@6, start 1 on 0 1g.5gb@6");
  EXPECT_EQ(engine.submit(2, asked), "");
  EXPECT_EQ(engine.outlook(2).host, "running jobs leave 6 of 14 CPUs, of which it needs 8");
  EXPECT_EQ(engine.finish(1), "start 2 on 0 1g.5gb@6");
  asked.host.millicpus = 14'001;
  engine.submit(3, asked);
  EXPECT_EQ(engine.reason(), "no node with a GPU for it has 14.001 CPUs");
}

FleetFile one_node(int gpus, int cpus) {
  return *parse_fleet(fmt::format(R"({{"gpus": [{{"name": "n0/%d", "model": "A100-40GB",
                                                 "count": {}}}],
                                      "nodes": [{{"name": "n0", "cpus": {}}}]}})",
                                  gpus, cpus),
                      "fleet", *ProfileChoice::parse("plain"));
}

Request several(decltype(Request::wanted) wanted, std::uint32_t places, Together together) {
  Request request{std::move(wanted), {}};
  request.places = places;
  request.together = together;
  return request;
}

TEST(HostsOfFullGpu, SayWhatAGpuLacks) {
  EngineDriver engine("full-gpu", one_node(3, 9));
  Request asked{ByProfile{"1g.5gb"}, {}};
  asked.host.millicpus = 7000;
  EXPECT_EQ(engine.submit(1, asked), "start 1 on whole 0");
  EXPECT_EQ(engine.submit(2, "1g.5gb"), "");
  EXPECT_EQ(engine.outlook(2).host, "running jobs leave 2 of 9 CPUs, of which it needs 3");
}

// A place of two has three of nine CPUs where it is a whole GPU, whatever it asks for.
TEST(HostsOfGangs, CountTheGpusThatFullGpuGives) {
  EngineDriver engine("full-gpu", one_node(3, 9), {.gangs = true});
  Request asked{ByProfile{"1g.5gb"}, {}};
  asked.host.millicpus = 4000;
  EXPECT_EQ(engine.submit(1, asked), "start 1 on whole 0");
  EXPECT_EQ(engine.submit(2, several(ByProfile{"1g.5gb"}, 2, Together::spread)), "");
  EXPECT_EQ(engine.finish(1), "start 2 on whole 0, start 200 on whole 1");
}

// Two instances of different sizes have no more than the GPU's share.
TEST(HostsOfGangs, HoldInstancesThatTheGpuHolds) {
  EngineDriver engine("online", one_node(1, 7), {.gangs = true});
  EXPECT_EQ(engine.submit(1, several(BySize{MiB{15'000}, {}}, 2, Together::gpu)),
            "create 0 4g.20gb@0, start 1 on 0 4g.20gb@0, create 0 3g.20gb@4, start 100 on 0 "
            "3g.20gb@4");
}

}  // namespace
}  // namespace cleave
