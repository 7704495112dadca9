#include "device/recording.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "base/random.hpp"
#include "base/text.hpp"
#include "device/live_instances.hpp"
#include "device/memory_door_test.hpp"

namespace cleave {
namespace {

/// A little of everything: work, refusals, every kind of answer.
std::string busy_recording() {
  const GpuModel& model = **find_gpu_model("A100-40GB");
  MemoryDoor door(model);
  std::ostringstream out;
  {
    RecordingDoor recorder(door, out);
    EXPECT_TRUE(
        create_instance(recorder, gpu0, door.driver_profile(*model.find("3g.20gb")), Span{4, 4}));
    EXPECT_FALSE(create_instance(recorder, gpu0, door.driver_profile(*model.find("7g.40gb")), {}));
    door.running = {{7, {}, GpuInstanceId{1}, ComputeInstanceId{0}},
                    {8, ~std::uint64_t{0} - 1, {}, {}}};
    (void)recorder.processes(gpu0);
    (void)recorder.energy_millijoules(gpu0);
    (void)recorder.set_mig_mode(gpu0, true);
    (void)recorder.busy_shares(gpu0, {}, Counting::anew);
    door.shares = BusyShares{0.75, 0.5, {}, 0};
    (void)recorder.busy_shares(gpu0, GpuInstanceId{1}, Counting::anew);
    (void)recorder.busy_shares(gpu0, GpuInstanceId{1}, Counting::on);
    EXPECT_TRUE(destroy_instance(recorder, gpu0, GpuInstanceId{1}));
  }
  return out.str();
}

std::string reading_recording() {
  const GpuModel& model = **find_gpu_model("RTX-PRO-6000-BW-96GB");
  MemoryDoor door(model);
  (void)create_instance(door, gpu0, door.driver_profile(*model.find("2g.48gb")), {});
  std::ostringstream out;
  record_reading(door, out);
  return out.str();
}

TEST(Recording, PlaysBackWhatWasRead) {
  const std::string text = reading_recording();
  const auto replay = ReplayDoor::parse(text, "gpu.jsonl");
  ASSERT_TRUE(replay) << replay.error().text();
  std::ostringstream again;
  record_reading(**replay, again);
  EXPECT_FALSE((*replay)->divergence()) << (*replay)->divergence()->text();
  EXPECT_TRUE((*replay)->at_end());
  EXPECT_EQ(again.str(), text);
}

TEST(Recording, PlaysBackWorkAndRefusals) {
  const GpuModel& model = **find_gpu_model("A100-40GB");
  const MemoryDoor same(model);
  const auto replay = ReplayDoor::parse(busy_recording(), "work.jsonl");
  ASSERT_TRUE(replay) << replay.error().text();
  Door& door = **replay;
  const auto made =
      create_instance(door, gpu0, same.driver_profile(*model.find("3g.20gb")), Span{4, 4});
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->computes.front().uuid, "MIG-1");
  EXPECT_FALSE(create_instance(door, gpu0, same.driver_profile(*model.find("7g.40gb")), {}));
  const auto processes = door.processes(gpu0);
  ASSERT_TRUE(processes);
  ASSERT_EQ(processes->size(), 2U);
  EXPECT_FALSE(processes->front().memory_bytes);
  EXPECT_EQ(processes->back().memory_bytes, ~std::uint64_t{0} - 1);
  EXPECT_EQ(door.energy_millijoules(gpu0), std::uint64_t{1} << 63);
  EXPECT_EQ(door.set_mig_mode(gpu0, true), nvml::Return::success);
  EXPECT_EQ(door.busy_shares(gpu0, {}, Counting::anew).error().code, nvml::Return::not_supported);
  const auto begun = door.busy_shares(gpu0, GpuInstanceId{1}, Counting::anew);
  ASSERT_TRUE(begun);
  EXPECT_FALSE(*begun);
  const auto shares = door.busy_shares(gpu0, GpuInstanceId{1}, Counting::on);
  ASSERT_TRUE(shares && *shares);
  EXPECT_EQ((*shares)->sm_activity, 0.75);
  EXPECT_EQ((*shares)->tensor_activity, std::nullopt);
  EXPECT_EQ((*shares)->dram_activity, 0);
  EXPECT_TRUE(destroy_instance(door, gpu0, GpuInstanceId{1}));
  EXPECT_FALSE((*replay)->divergence()) << (*replay)->divergence()->text();
  EXPECT_TRUE((*replay)->at_end());
}

TEST(Recording, DivergenceNamesTheLine) {
  const auto replay = ReplayDoor::parse(reading_recording(), "gpu.jsonl");
  ASSERT_TRUE(replay);
  Door& door = **replay;
  (void)door.driver();
  (void)door.gpu_count();
  const auto wrong = door.gpu(GpuIndex{5});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, nvml::Return::unknown);
  ASSERT_TRUE((*replay)->divergence());
  const std::string text = (*replay)->divergence()->text();
  EXPECT_NE(text.find("gpu.jsonl: line 4"), std::string::npos) << text;
  EXPECT_NE(text.find(R"({"call":"gpu","gpu":5})"), std::string::npos) << text;
  EXPECT_FALSE(door.gpu(gpu0)) << "what comes after a divergence answers nothing";
}

TEST(Recording, BeyondItsEndIsADivergence) {
  const auto replay =
      ReplayDoor::parse("{\"recording\":\"cleave door\",\"version\":1}\n{\"calls\":0}\n", "r");
  ASSERT_TRUE(replay) << replay.error().text();
  EXPECT_TRUE((*replay)->at_end());
  EXPECT_FALSE((*replay)->gpu_count());
  EXPECT_TRUE((*replay)->divergence());
}

TEST(Recording, TornAnywhereIsRefusedWithTheLine) {
  const std::string text = busy_recording();
  for (std::size_t size = 0; size < text.size(); ++size) {
    const auto torn = ReplayDoor::parse(std::string_view(text).substr(0, size), "torn");
    ASSERT_FALSE(torn) << "cut after " << size << " of " << text.size();
    ASSERT_EQ(torn.error().kind, ErrorKind::bad_input);
    ASSERT_TRUE(torn.error().place.starts_with("torn: line ")) << torn.error().text();
  }
}

TEST(Recording, MissingAndStrayLinesAreRefused) {
  const std::string text = busy_recording();
  const auto lines = split(text, '\n');
  for (std::size_t out = 0; out + 1 < lines.size(); ++out) {
    std::string less, twice;
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
      const std::string line = fmt::format("{}\n", lines[i]);
      if (i != out) less += line;
      twice += i == out ? line + line : line;
    }
    EXPECT_FALSE(ReplayDoor::parse(less, "r")) << out;
    EXPECT_FALSE(ReplayDoor::parse(twice, "r")) << out;
  }
}

TEST(Recording, FunctionsThatNobodyKnowsAreRefused) {
  const auto read = ReplayDoor::parse(
      "{\"recording\":\"cleave "
      "door\",\"version\":1}\n{\"call\":\"driver\",\"answer\":{\"library\":\"l\","
      "\"driver_version\":\"1\",\"missing\":[\"nvmlSystemGetNVMLVersion\",\"nvmlNo\"]}}\n{"
      "\"calls\":1}\n",
      "r");
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().text().find("'nvmlNo'"), std::string::npos) << read.error().text();
}

/// Random bytes give a recording or an error with a message, and accepted recordings can be
/// replayed.
TEST(Recording, DamagedBytesAreRefusedOrPlay) {
  const std::vector<std::string> seeds = {busy_recording(), reading_recording()};
  constexpr std::string_view awkward = "-1\":{}[],0123456789eE.\\\xff\n nulltrue";
  std::size_t accepted = 0;
  constexpr int rounds = 3000;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    Random random(round);
    std::string text = seeds[random.below(seeds.size())];
    for (std::uint64_t changes = 1 + random.below(3); changes > 0; --changes) {
      const std::size_t at = random.below(text.size());
      const char byte = awkward[random.below(awkward.size())];
      if (random.below(3) == 0) {
        text.erase(at, 1 + random.below(5));
      } else if (random.below(2) == 0) {
        text[at] = byte;
      } else {
        text.insert(at, 1, byte);
      }
    }
    const auto replay = ReplayDoor::parse(text, "damaged");
    if (replay) {
      ++accepted;
      std::ostringstream out;
      record_reading(**replay, out);
      continue;
    }
    ASSERT_EQ(exit_code(replay.error().kind), 2);
    ASSERT_FALSE(replay.error().message.empty());
    for (const char c : replay.error().text())
      ASSERT_GE(static_cast<unsigned char>(c), 0x20) << round;
  }
  EXPECT_GT(accepted, 0U);
  EXPECT_LT(accepted, static_cast<std::size_t>(rounds));
}

}  // namespace
}  // namespace cleave
