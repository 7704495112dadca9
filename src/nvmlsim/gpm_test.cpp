// GPU performance monitoring of simulated GPUs: which have it, what it refuses, and what it counts.

#include <cmath>
#include <limits>

#include "nvmlsim/energy.hpp"
#include "nvmlsim/gpm_samples.hpp"
#include "nvmlsim/gpu_rules.hpp"
#include "nvmlsim/library_test.hpp"

namespace cleave::sim {
namespace {

using enum nvml::Return;
using nvml::GpmMetricsGet;
using nvml::GpmSample;

const Functions& lib = library();
constexpr std::uint32_t half = 2, small = 0;  // NVML's numbers: 3 slices and 1

bool is_supported(nvml::Device device) {
  nvml::GpmSupport support{nvml::gpm_version, 99};
  EXPECT_EQ(lib.nvmlGpmQueryDeviceSupport(device, &support), success);
  return support.is_supported_device == 1;
}

GpmSample new_sample() {
  GpmSample sample = nullptr;
  EXPECT_EQ(lib.nvmlGpmSampleAlloc(&sample), success);
  return sample;
}

/// Asks for these metrics between the two.
std::unique_ptr<GpmMetricsGet> between(GpmSample first, GpmSample second,
                                       std::initializer_list<std::uint32_t> metrics) {
  auto asked = std::make_unique<GpmMetricsGet>();
  asked->version = nvml::gpm_version;
  asked->sample1 = first;
  asked->sample2 = second;
  for (const std::uint32_t metric : metrics)
    asked->metrics[asked->metrics_count++].metric_id = metric;
  return asked;
}

/// Takes second samples until enough time has passed, and has the SM activity.
template <class Take>
double activity_since(GpmSample first, Take take) {
  const GpmSample second = new_sample();
  const auto asked = between(first, second, {nvml::gpm_sm_activity});
  do {
    EXPECT_EQ(take(second), success);
  } while (lib.nvmlGpmMetricsGet(asked.get()) == invalid_argument &&
           !::testing::Test::HasFailure());
  EXPECT_EQ(asked->metrics[0].answer, success);
  EXPECT_EQ(lib.nvmlGpmSampleFree(second), success);
  return asked->metrics[0].value;
}

TEST(Gpm, IsThereOnHopperAndNewer) {
  const OpenNode node("A30-24GB,A100-40GB,H100-80GB-SXM5,H200-141GB,H100-96GB-GH200,B200-180GB");
  const std::vector<bool> expected = {false, false, true, true, true, true};
  for (std::uint32_t gpu = 0; gpu < expected.size(); ++gpu)
    EXPECT_EQ(is_supported(node.gpu(gpu)), expected[gpu]) << gpu;
  EXPECT_TRUE(is_supported(make_instance(node.gpu(2), small).mig));
  const GpmSample sample = new_sample();
  EXPECT_EQ(lib.nvmlGpmSampleGet(node.gpu(1), sample), not_supported);
  EXPECT_EQ(lib.nvmlGpmMigSampleGet(node.gpu(1), 0, sample), not_supported);
}

TEST(Gpm, RefusesWrongArguments) {
  const OpenNode node("H100-80GB-SXM5");
  const nvml::Device gpu = node.gpu();
  EXPECT_EQ(lib.nvmlGpmQueryDeviceSupport(gpu, nullptr), invalid_argument);
  nvml::GpmSupport support{2, 0};
  EXPECT_EQ(lib.nvmlGpmQueryDeviceSupport(gpu, &support), argument_version_mismatch);
  EXPECT_EQ(lib.nvmlGpmSampleAlloc(nullptr), invalid_argument);
  EXPECT_EQ(lib.nvmlGpmSampleFree(nullptr), invalid_argument);
  EXPECT_EQ(lib.nvmlGpmSampleGet(gpu, nullptr), invalid_argument);
  EXPECT_EQ(lib.nvmlGpmMetricsGet(nullptr), invalid_argument);

  const GpmSample first = new_sample(), second = new_sample();
  EXPECT_EQ(lib.nvmlGpmSampleGet(nullptr, first), invalid_argument);
  EXPECT_EQ(lib.nvmlGpmMigSampleGet(gpu, 99, first), not_found);
  auto asked = between(first, second, {nvml::gpm_sm_activity});
  EXPECT_EQ(lib.nvmlGpmMetricsGet(asked.get()), invalid_argument) << "nothing was read";
  EXPECT_EQ(lib.nvmlGpmSampleGet(gpu, first), success);
  EXPECT_EQ(lib.nvmlGpmSampleGet(gpu, second), success);
  EXPECT_EQ(lib.nvmlGpmMetricsGet(asked.get()), invalid_argument) << "one at once after the other";
  asked->version = 2;
  EXPECT_EQ(lib.nvmlGpmMetricsGet(asked.get()), argument_version_mismatch);
  EXPECT_EQ(lib.nvmlGpmSampleFree(first), success);
  EXPECT_EQ(lib.nvmlGpmSampleFree(first), invalid_argument) << "twice";
  EXPECT_EQ(lib.nvmlGpmSampleGet(gpu, first), invalid_argument);
}

TEST(Gpm, NeedsNvmlAndMig) {
  GpmSample sample = nullptr;
  EXPECT_EQ(lib.nvmlGpmSampleAlloc(&sample), uninitialized);
  SimNodeSpec spec = node_spec("H100-80GB-SXM5");
  spec.mig_enabled = false;
  const OpenNode node(spec);
  sample = new_sample();
  EXPECT_EQ(lib.nvmlGpmMigSampleGet(node.gpu(), 0, sample), not_supported);
  EXPECT_EQ(lib.nvmlGpmSampleGet(node.gpu(), sample), success);
}

TEST(Gpm, CountsEachInstance) {
  const OpenNode node("H100-80GB-SXM5");
  const MadeInstance busy = make_instance(node.gpu(), half), idle = make_instance(node.gpu(), half);
  auto process = SimProcess::start(node.path(), busy.uuid, static_cast<std::uint32_t>(::getpid()));
  ASSERT_TRUE(process);
  ASSERT_TRUE(process->keep_busy(0.8));
  const auto of = [&](const MadeInstance& made) {
    nvml::GpuInstanceInfo info{};
    EXPECT_EQ(lib.nvmlGpuInstanceGetInfo(made.gpu_instance, &info), success);
    return [&node, id = info.id](GpmSample sample) {
      return lib.nvmlGpmMigSampleGet(node.gpu(), id, sample);
    };
  };
  const auto of_gpu = [&](GpmSample sample) { return lib.nvmlGpmSampleGet(node.gpu(), sample); };
  const auto of_device = [&](GpmSample sample) { return lib.nvmlGpmSampleGet(busy.mig, sample); };
  std::array<GpmSample, 3> first = {new_sample(), new_sample(), new_sample()};
  ASSERT_EQ(of(busy)(first[0]), success);
  ASSERT_EQ(of(idle)(first[1]), success);
  ASSERT_EQ(of_gpu(first[2]), success);
  EXPECT_NEAR(activity_since(first[0], of(busy)), 80, 1e-6);
  EXPECT_NEAR(activity_since(first[0], of_device), 80, 1e-6);
  EXPECT_NEAR(activity_since(first[1], of(idle)), 0, 1e-6);
  EXPECT_NEAR(activity_since(first[2], of_gpu), 80 * 3 / 7.0, 1e-6);
  // Of different instances there is nothing between.
  const auto mixed = between(first[0], first[1], {nvml::gpm_sm_activity});
  EXPECT_EQ(lib.nvmlGpmMetricsGet(mixed.get()), invalid_argument);
  ASSERT_TRUE(process->end());
  EXPECT_EQ(node.flaw(), "");
}

TEST(Gpm, MetricsFollowFromBusyTime) {
  const GpmReading first{0, 7, 1'000'000'000, 10}, second{0, 7, 5'000'000'000, 12};
  const auto value = [&](std::uint32_t id) {
    nvml::GpmMetric metric{id, unknown, -1, "", "", ""};
    set_gpm_metric(first, second, metric);
    return metric.answer == success ? metric.value : -1;
  };
  EXPECT_EQ(value(nvml::gpm_graphics), 50);
  EXPECT_EQ(value(nvml::gpm_sm_activity), 50);
  EXPECT_EQ(value(nvml::gpm_sm_occupancy), 25);
  EXPECT_EQ(value(nvml::gpm_dram_bandwidth), 25);
  EXPECT_EQ(value(nvml::gpm_tensor), 12.5);
  EXPECT_EQ(value(60), 0) << "there is no traffic on NVLink";
  EXPECT_EQ(value(59), -1) << "no H100 counts it";

  GpmReading soon = first;
  soon.at_ns += 100'000'000;
  EXPECT_FALSE(gpm_comparable(first, soon));
  soon.at_ns += 1;
  EXPECT_TRUE(gpm_comparable(first, soon));
  EXPECT_FALSE(gpm_comparable(second, first));
  EXPECT_FALSE(gpm_comparable(first, {0, 8, 5'000'000'000, 12}));
  EXPECT_FALSE(gpm_comparable(first, {1, 7, 5'000'000'000, 12}));
  const GpmReading before_boot{0, 7, std::numeric_limits<std::int64_t>::max(), 0};
  EXPECT_FALSE(gpm_comparable(before_boot, first));
}

TEST(Gpm, BusyTimeAddsUpOverChanges) {
  const Board& board = board_of(**find_gpu_model("H100-80GB-SXM5"));
  GpuRecord record{};
  record.process_count = 1;
  record.processes[0] = {1, 0, 0, 0.5};
  account_before(board, record, 10'000'000'000);  // half of ten seconds
  record.processes[0].busy = 1;
  EXPECT_DOUBLE_EQ(busy_seconds(board, record, {}, 12'000'000'000), 7);
  account_before(board, record, 12'000'000'000);
  record.process_count = 0;
  EXPECT_DOUBLE_EQ(busy_seconds(board, record, {}, 99'000'000'000), 7);
  record.busy_s = std::nan("");
  EXPECT_EQ(flaw_of(board, record), "its busy time is not a number");
}

}  // namespace
}  // namespace cleave::sim
