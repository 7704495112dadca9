// Jobs that are as fast on the smallest profile as on the whole GPU: one GPU runs at most as many
// at a time as it has instances of its smallest profile, so whatever the scheduler does, n equal
// jobs take at least ceil(n / (k x GPUs)) times the time of one, and one GPU gains at most n /
// ceil(n / k) over running them one after the other.

#include <gtest/gtest.h>

#include <algorithm>

#include "base/format.hpp"
#include "base/random.hpp"
#include "base/sanitized_test.hpp"
#include "scenario.hpp"

namespace cleave::laws {
namespace {

using namespace std::chrono_literals;

constexpr Duration each = 100s;

int most_instances(const GpuModel& model) {
  int most = 0;
  for (const Profile& profile : model.profiles) most = std::max(most, profile.max_instances);
  return most;
}

Workload equal_jobs(const GpuModel& model, std::size_t count) {
  Workload workload;
  const auto speed = workload.intern(
      SpeedModel{.table = {}, .phases = {}, .law = {}, .reference = nullptr, .flat = true});
  const auto smallest = std::ranges::find_if(model.profiles, [&](const Profile& profile) {
    return profile.max_instances == most_instances(model);
  });
  const auto of_smallest = workload.intern({ByProfile{std::string(smallest->name)}, {}, {}});
  workload.details.emplace_back().application = "one";
  workload.details.back().batch = 1;
  workload.details.back().latency = 10ms;
  for (std::size_t i = 0; i < count; ++i) {
    Job job;
    job.id = fmt::format("j{}", i);
    job.duration = each;
    job.speed = speed;
    job.request = of_smallest;
    job.details = 0;
    workload.jobs.push_back(job);
  }
  return workload;
}

TEST(Speedup, NoSchedulerBeatsTheNumberOfInstances) {
  for (const SchedulerRow& row : schedulers())
    for (const char* name : {"A30-24GB", "A100-40GB", "H100-80GB-SXM5"})
      for (std::uint64_t seed = 1; seed <= (sanitized ? 12 : 60); ++seed) {
        Random random(seed);
        const std::size_t gpus = seed % 3 == 0 ? 1 + random.below(4) : 1, n = 1 + random.below(60);
        const GpuModel& model = **find_gpu_model(name);
        const std::string text = random_spec(row, seed);
        const auto fleet =
            parse_fleet_in_short(fmt::format("{}x{}", gpus, name), ProfileChoice::plain());
        const auto s =
            simulate(*fleet, equal_jobs(model, n), *parse_scheduler(text), {.seed = seed});
        if (!s && s.error().kind == ErrorKind::bad_usage)
          continue;  // options that exclude each other
        ASSERT_TRUE(s) << s.error().text();
        SCOPED_TRACE(fmt::format("{}: {} jobs on {} {}", text, n, gpus, name));
        if (s->rejected == n) continue;  // a fixed layout without an instance for it
        ASSERT_EQ(s->finished, n);
        const std::size_t k = static_cast<std::size_t>(most_instances(model)) * gpus;
        const std::size_t rounds = (n + k - 1) / k;
        EXPECT_GE(s->makespan, each * rounds);
        const double gain = in_seconds(each) * static_cast<double>(n) / in_seconds(s->makespan);
        EXPECT_LE(gain, static_cast<double>(n) / static_cast<double>(rounds) + 1e-9);
      }
}

}  // namespace
}  // namespace cleave::laws
