// Warp folding: the paper's example, residency against numbers of NVIDIA's calculation, and its
// laws.

#include "forecast/choice/warp_folding.hpp"

#include <gtest/gtest.h>

#include "base/format.hpp"
#include "base/random.hpp"

namespace cleave {
namespace {

const SmLimits ampere = *find_sm_limits("8.0");

TEST(WarpFolding, ThePapersExample) {
  // 4.3: 120 SMs are wanted and 100 exist: two time steps, and 60 SMs take two as well.
  const auto folding = fold({120, 1024, 32, 0}, ampere, 100, {.sharing = 1, .more_waves = 0});
  ASSERT_TRUE(folding);
  EXPECT_EQ(folding->needed, 120);
  EXPECT_EQ(folding->waves, 2);
  EXPECT_EQ(folding->folded, 60);
  EXPECT_EQ(folding->folded_waves, 2);
  EXPECT_EQ(folding->freed, 40);
}

TEST(WarpFolding, BlocksOfAnSmAreLimitedByWhatRunsOutFirst) {
  const auto held = [](const KernelLaunch& launch, const SmLimits& limits = ampere) {
    const auto result = residency(launch, limits);
    EXPECT_TRUE(result) << result.error().text();
    return result ? std::pair(result->blocks, result->limit) : std::pair(0, ResidencyLimit::blocks);
  };
  using enum ResidencyLimit;
  EXPECT_EQ(held({1, 32, 0, 0}), std::pair(32, blocks));
  EXPECT_EQ(held({1, 256, 32, 0}), std::pair(8, warps));
  EXPECT_EQ(held({1, 1000, 0, 0}), std::pair(2, warps)) << "a warp begun is a warp taken";
  EXPECT_EQ(held({1, 256, 64, 0}), std::pair(4, registers));
  EXPECT_EQ(held({1, 256, 65, 0}), std::pair(3, registers))
      << "registers go in units of 256 a warp";
  EXPECT_EQ(held({1, 96, 255, 0}), std::pair(2, registers))
      << "8 warps, two in each quarter of the SM";
  EXPECT_EQ(held({1, 128, 32, 48 * 1024}), std::pair(3, shared_memory))
      << "each block takes 1 KiB more";
  EXPECT_EQ(held({1, 128, 32, 163 * 1024}), std::pair(1, shared_memory));
  EXPECT_EQ(held({1, 128, 32, 227 * 1024}, *find_sm_limits("9.0")), std::pair(1, shared_memory));
  EXPECT_EQ(held({1, 32, 16, 0}, *find_sm_limits("12.0")), std::pair(24, blocks));
  EXPECT_EQ(held({1, 512, 32, 0}, *find_sm_limits("12.0")), std::pair(3, warps));
}

TEST(WarpFolding, ImpossibleLaunchesAreRefused) {
  const auto says = [](const KernelLaunch& launch, const std::string& what) {
    const auto result = fold(launch, ampere, 98);
    ASSERT_FALSE(result) << what;
    EXPECT_NE(result.error().text().find(what), std::string::npos) << result.error().text();
  };
  says({0, 32, 0, 0}, "blocks");
  says({std::int64_t{1} << 63 >> 1, 32, 0, 0}, "blocks");
  says({1, 1025, 0, 0}, "threads of a block");
  says({1, 32, 256, 0}, "registers of a thread");
  says({1, 32, 0, 164 * 1024}, "shared bytes of a block");
  says({1, 1024, 128, 0}, "registers are too many");
  EXPECT_FALSE(fold({1, 32, 0, 0}, ampere, 0));
  EXPECT_FALSE(find_sm_limits("7.0"));
}

TEST(WarpFolding, IsTheFewestSmsThatTakeNoMoreWaves) {
  Random random(31);
  int gained = 0;
  for (int round = 0; round < 5000; ++round) {
    const auto number = [&](std::uint64_t most) {
      return static_cast<std::int64_t>(random.below(most)) + 1;
    };
    const KernelLaunch launch{number(3000), static_cast<int>(number(1024)),
                              static_cast<int>(number(64)) - 1, number(48 * 1024)};
    const FoldingOptions options{
        random.below(2) == 0 ? std::optional(static_cast<int>(number(4))) : std::nullopt,
        static_cast<std::int64_t>(random.below(3))};
    const std::int64_t sms = number(148);
    const auto folding = fold(launch, ampere, sms, options);
    ASSERT_TRUE(folding) << folding.error().text();
    const int sharing = std::min(options.sharing.value_or(64), residency(launch, ampere)->blocks);
    const auto waves_on = [&](std::int64_t count) {
      std::int64_t waves = 0;
      for (std::int64_t left = launch.blocks; left > 0; left -= count * sharing) ++waves;
      return waves;
    };
    EXPECT_EQ(folding->waves, waves_on(sms));
    std::int64_t fewest = 1;
    while (waves_on(fewest) > folding->waves + options.more_waves) ++fewest;
    EXPECT_EQ(folding->folded, fewest);
    EXPECT_EQ(folding->folded_waves, waves_on(fewest));
    EXPECT_EQ(folding->freed, sms - fewest);
    gained += folding->freed > 0 ? 1 : 0;
  }
  EXPECT_GT(gained, 1000);
}

TEST(WarpFolding, ChoosesTheProfile) {
  const auto model = find_gpu_model("A100-40GB");
  ASSERT_TRUE(model);
  const auto onto = [&](std::int64_t blocks, const FoldingOptions& options) {
    const auto profile = fold_onto({blocks, 1024, 32, 0}, **model, options);
    return profile && *profile != nullptr ? std::string((*profile)->name) : "none";
  };
  EXPECT_EQ(onto(100, {.sharing = 1, .more_waves = 0}), "4g.20gb")
      << "two waves on 98 SMs and on 50";
  EXPECT_EQ(onto(98, {.sharing = 1, .more_waves = 0}), "7g.40gb");
  EXPECT_EQ(onto(98, {.sharing = 1, .more_waves = 1}), "4g.20gb");
  EXPECT_EQ(onto(14, {.sharing = 1, .more_waves = 0}), "1g.5gb") << "of equal SMs the least memory";
  const auto unknown = find_gpu_model("H20-96GB");
  EXPECT_EQ(*fold_onto({1, 32, 0, 0}, **unknown), nullptr);
}

TEST(WarpFolding, AJobsKernelIsComputeSlices) {
  const GpuModel* const a100 = *find_gpu_model("A100-40GB");
  const GpuModel* const a30 = *find_gpu_model("A30-24GB");
  const GpuModel* const unknown = *find_gpu_model("H20-96GB");
  const auto slices = [](const KernelUse& kernel, std::vector<const GpuModel*> models) {
    const auto answer = slices_for(kernel, models);
    return answer ? fmt::format("{}", answer->value) : answer.error().text();
  };
  EXPECT_EQ(slices({200, 256, 40, 0}, {a100}), "3");
  EXPECT_EQ(slices({200, 256, 40, 0}, {a100, a100}), "3");
  EXPECT_NE(slices({200, 256, 40, 0}, {a100, a30}).find("several"), std::string::npos);
  EXPECT_NE(slices({200, 256, 40, 0}, {unknown}).find("SMs"), std::string::npos);
  EXPECT_NE(slices({1, std::int64_t{1} << 40, 0, 0}, {a100}).find("threads of a block"),
            std::string::npos);
}

TEST(WarpFolding, EveryModelHasLimits) {
  for (const GpuModel& model : gpu_models()) EXPECT_GT(sm_limits_of(model).warps, 0) << model.key;
  EXPECT_EQ(sm_limits_of(**find_gpu_model("A30-24GB")).capability, "8.0");
  EXPECT_EQ(sm_limits_of(**find_gpu_model("H200-141GB")).capability, "9.0");
  EXPECT_EQ(sm_limits_of(**find_gpu_model("B200-180GB")).capability, "10.0");
  EXPECT_EQ(sm_limits_of(**find_gpu_model("RTX-PRO-6000-BW-96GB")).capability, "12.0");
}

}  // namespace
}  // namespace cleave
