#pragma once
// For tests: a node of GPUs that nobody has looked at yet, and short words for what is in it.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "control/node/node_state.hpp"

namespace cleave {

/// The GPUs of a node, as they would have been found, and a node over them.
class NodeForTest {
 public:
  /// With MIG on, seen, and empty; "GPU-0" and so on.
  explicit NodeForTest(const std::vector<std::string>& names = {"A100-SXM4-40GB"}) {
    for (const std::string& name : names) {
      DriverReading reading;
      reading.gpu.index = GpuIndex{static_cast<std::uint32_t>(identities_.size())};
      reading.gpu.uuid = "GPU-" + std::to_string(identities_.size());
      reading.gpu.name = "NVIDIA " + name;
      GpuIdentity& identity = *identities_.emplace_back(std::make_unique<GpuIdentity>());
      identity.uuid = reading.gpu.uuid;
      identity.index = static_cast<std::uint32_t>(reading.gpu.index);
      identity.driver_name = reading.gpu.name;
      identity.geometry =
          std::make_shared<const DriverGeometry>(DriverGeometry::build(reading).value());
    }
    for (const auto& identity : identities_) {
      ManagedGpu& gpu = state.gpus.emplace_back();
      gpu.identity = identity.get();
      gpu.observation.emplace();
    }
  }

  /// The number of a placement, "3g.20gb" at 4.
  [[nodiscard]] PlacementId placement(std::string_view profile, int start, GpuId gpu = {}) const {
    return state.gpu(gpu).geometry().find(profile, start).value();
  }
  /// An instance of ours; its device is "MIG-" with its number.
  ManagedInstance& add_instance(PlacementId placement,
                                ManagedInstance::State as = ManagedInstance::State::ready,
                                GpuId gpu = {}) {
    ManagedInstance& instance = state.gpu(gpu).instances[placement];
    instance.state = as;
    instance.device = "MIG-" + std::to_string(placement);
    instance.user = 1000;  // as that of the jobs
    return instance;
  }
  /// A queued job.
  LiveJob& add_job(JobNumber number) {
    LiveJob& job = state.jobs[number];
    job.record.number = number;
    job.record.owner.uid = 1000;
    return job;
  }
  /// An attempt of it that runs on the instance, and counts.
  LiveAttempt& add_attempt(LiveJob& job, PlacementId placement, GpuId gpu = {}) {
    const JobKey key{job.record.number, ++job.record.attempts};
    LiveAttempt& attempt = job.attempts[key.attempt];
    attempt.record.key = key;
    attempt.record.gpu = state.gpu(gpu).identity->uuid;
    attempt.record.began = Instant{} + std::chrono::seconds(1);
    attempt.place = {gpu, placement};
    state.occupy(attempt.place, key);
    job.main = key.attempt;
    job.record.state = JobState::running;
    return attempt;
  }

  NodeState state;

 private:
  std::vector<std::unique_ptr<GpuIdentity>> identities_;
};

}  // namespace cleave
