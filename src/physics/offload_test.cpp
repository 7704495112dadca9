// Offloading: only what does not fit is on the host, and it never makes a job faster.

#include "physics/offload.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "physics/models_by_key_test.hpp"
#include "physics/speed.hpp"

namespace cleave {
namespace {

TEST(Offload, OnlyWhatDoesNotFitIsOnTheHost) {
  const Offload job{MiB{16'000}, MiB{6'000}, 1};
  EXPECT_EQ(in_host_memory(job, MiB{16'000}), MiB{0});
  EXPECT_EQ(in_host_memory(job, MiB{15'999}), MiB{1});
  EXPECT_EQ(in_host_memory(job, MiB{10'000}), MiB{6'000});
  EXPECT_EQ(in_host_memory(job, MiB{9'999}), std::nullopt) << "more than it can keep there";
  EXPECT_EQ(in_host_memory(job, std::nullopt), std::nullopt) << "nobody knows what fits";
}

TEST(Offload, CrossesTheLinkOncePerTouch) {
  // 6,000 MiB, five times a second, over 24 GB/s.
  const Offload job{MiB{16'000}, MiB{6'500}, 5};
  const double once = 6'000.0 * 1048576 / 24e9;
  EXPECT_NEAR(offload_time(job, MiB{6'000}, host_link(model("A100-40GB"))), 5 * once, 1e-12);
  SpeedModel speed;
  speed.offload = job;
  const GpuModel& a100 = model("A100-40GB");
  EXPECT_NEAR(parts_on(speed, a100, a100.find("2g.10gb"))->direct,
              offload_time(job, MiB{16'000} - *a100.find("2g.10gb")->usable, host_link(a100)),
              1e-12)
      << "what does not fit there, and no more";
  EXPECT_EQ(parts_on(speed, a100, a100.find("3g.20gb"))->direct, 0);
}

// Kernels read host memory without copy engines (Taming, table IV(b)).
TEST(Offload, SmallInstancesOfGraceHopperDoNotReachTheWholeLink) {
  const GpuModel& gh200 = model("H100-96GB-GH200");
  const HostLink& link = host_link(gh200);
  EXPECT_NEAR(link.direct_share(gh200.find("1g.12gb")->compute), 207.0 / 333, 1e-3);
  EXPECT_NEAR(link.direct_share(gh200.find("2g.24gb")->compute), 303.0 / 333, 1e-3);
  EXPECT_EQ(link.direct_share(gh200.find("3g.48gb")->compute), 1);
  EXPECT_GT(link.direct_share(ComputeSlices{1}), link.instance_share());
  EXPECT_EQ(host_link(model("A30-24GB")).direct_share(ComputeSlices{1}), 1);
}

// A table's times were taken where they are listed, offloading included.
TEST(Offload, IsInTheListedTimesOfATable) {
  const GpuModel& gh200 = model("H100-96GB-GH200");
  const Profile& small = *gh200.find("1g.12gb");
  SpeedModel job;
  job.table = SpeedTable{{"1g.12gb", 0.1}, {"7g.96gb", 1}};
  job.offload = Offload{*small.usable + MiB{4'096}, MiB{4'096}, 100};
  const double share = host_link(gh200).direct_share(small.compute);
  const SharedGpu gpu;
  SharedLoad load{.parts = *parts_on(job, gh200, &small), .direct_link = share};
  EXPECT_GT(load.parts.direct, 0);
  EXPECT_NEAR(pace_alone(gpu, load).speed, 0.1, 1e-12);
}

SpeedModel some_job(Random& random) {
  SpeedModel job;
  switch (random.below(4)) {
    case 0:
      job.phases = Phases{Duration{1 + static_cast<std::int64_t>(random.below(1'000'000))},
                          Duration{static_cast<std::int64_t>(random.below(1'000'000))},
                          Duration{static_cast<std::int64_t>(random.below(1'000'000))},
                          Duration{static_cast<std::int64_t>(random.below(1'000'000))}};
      return job;
    case 1:
      job.law = SliceLaw{random.uniform(), 0.01 + random.uniform(), 1 + 3 * random.uniform()};
      break;
    case 2:
      job.flat = true;
      break;
    default:
      break;
  }
  job.transfer_share = random.below(2) == 0 ? 0 : random.uniform();
  return job;
}

TEST(Offload, NeverMakesAJobFasterAndMoreTouchesNeverDo) {
  Random random(5);
  int slowed = 0, untouched = 0;
  for (int round = 0; round < 20'000; ++round) {
    const GpuModel& gpu = gpu_models()[random.below(gpu_models().size())];
    const Profile& profile = gpu.profiles[random.below(gpu.profiles.size())];
    SpeedModel job = some_job(random);
    const SharedGpu shared{.instance_link = host_link(gpu).instance_share()};
    const double direct_link = host_link(gpu).direct_share(profile.compute);
    const auto pace = [&] {
      return pace_alone(shared,
                        {.parts = *parts_on(job, gpu, &profile), .direct_link = direct_link});
    };
    const double without = pace().speed;
    const MiB all{1 + static_cast<std::int64_t>(random.below(100'000))};
    job.offload = Offload{all, MiB{static_cast<std::int64_t>(random.below(100'000))}, 0};
    EXPECT_EQ(pace().speed, without) << "what is never touched costs nothing";
    double before = without;
    for (int more = 0; more < 3; ++more) {
      job.offload->touches_per_s += 10 * random.uniform();
      const double now = pace().speed;
      EXPECT_LE(now, before);
      before = now;
    }
    const auto in_host = in_host_memory(*job.offload, profile.usable);
    if (!in_host || *in_host == MiB{0}) {
      EXPECT_EQ(before, without);
      ++untouched;
    } else {
      EXPECT_LT(before, without);
      ++slowed;
    }
  }
  EXPECT_GT(slowed, 1000);
  EXPECT_GT(untouched, 1000);
}

}  // namespace
}  // namespace cleave
