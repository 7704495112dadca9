// GPUs that refuse rest, also under an engine that is made later.

#include <gtest/gtest.h>

#include "engine/command_words_test.hpp"
#include "engine/engine.hpp"

namespace cleave {
namespace {

using namespace std::chrono_literals;

TEST(Refusals, AreAnsweredWithLongerAndLongerRests) {
  Refusals refusals;
  const GpuId gpu{3};
  Instant now{};
  EXPECT_EQ(refusals.rests_until(gpu, now), std::nullopt);
  for (const Duration rest : {1s, 2s, 4s, 8s, 16s, 32s, 64s, 128s, 256s, 300s, 300s}) {
    EXPECT_EQ(refusals.refused(gpu, now), now + rest);
    EXPECT_EQ(refusals.refused(gpu, now + rest / 2), now + rest) << "of the same change";
    EXPECT_EQ(refusals.rests_until(gpu, now + rest / 2), now + rest);
    EXPECT_EQ(refusals.rests_until(GpuId{2}, now), std::nullopt);
    now += rest;
    EXPECT_EQ(refusals.rests_until(gpu, now), std::nullopt);
  }
  EXPECT_EQ(refusals.refused(gpu, now + 10min), now + 10min + 300s) << "not yet forgiven";
  now += 10min + 300s + 10min + 1ns;
  EXPECT_EQ(refusals.refused(gpu, now), now + 1s) << "a first one again";
  EXPECT_EQ(refusals.refused(gpu, now + 1s), now + 3s);
  refusals.made(gpu);
  EXPECT_EQ(refusals.refused(gpu, now + 3s), now + 4s) << "it has made an instance since";
}

TEST(Refusals, OutliveAnEngine) {
  const FleetFile file = *parse_fleet_in_short("2xA30-24GB", *ProfileChoice::parse("plain"));
  const Fleet fleet(file);
  for (const SchedulerRow& row : schedulers()) {
    SCOPED_TRACE(row.name);
    RequestTable requests(file.geometries);
    Refusals refusals;
    for (const GpuId gpu : {GpuId{0}, GpuId{1}}) refusals.refused(gpu, Instant{});
    const Instant again = refusals.refused(GpuId{1}, Instant{} + 1s);
    Engine engine =
        *Engine::make(*parse_scheduler(row.name), {fleet, requests}, requests, nullptr, &refusals);
    const RequestId request = requests.intern({ByProfile{"1g.6gb"}, {}});
    const auto told = [&](const Event& event, Instant now) {
      std::vector<Command> commands;
      engine.on(event, now, commands);
      engine.settle(now, commands);
      return CommandWords(fleet).text(commands);
    };
    EXPECT_EQ(told(Submitted{JobId{0}, request}, Instant{} + 500ms), "wake at 1 s, wake at 3 s");
    const std::string first = told(Woken{}, Instant{} + 1s);
    EXPECT_NE(first.find("start 0 on"), std::string::npos) << first;
    EXPECT_EQ(told(Woken{}, Instant{} + 2s), "");
    EXPECT_EQ(again, Instant{} + 3s);
  }
}

}  // namespace
}  // namespace cleave
