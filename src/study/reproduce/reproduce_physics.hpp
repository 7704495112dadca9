#pragma once
// `cleave reproduce physics`: what the laws of src/physics are worth on measurements that they were
// not fitted to. Constants come from the other data set or from the other models; the rows that a
// law may see of the scored job are named. Same files and seed, same bytes.
//
//   V1, V2  speed on a profile from two others     speed_law.hpp
//   V3      the same from three                    speed_law.hpp
//   V4      time of a batch from six rows          batch_law.hpp
//   V5      processes that share an instance       batch_law.hpp
//   V6      what fits in memory                    memory_law.hpp
//   V7      creating and destroying instances      reconfiguration.hpp
//   V8      instances side by side                 no law: they do not slow each other
//   V9      energy of serial and shared runs       power.hpp, an identity and no evidence

#include <cstdint>
#include <vector>

#include "study/reproduce/physics_data.hpp"
#include "study/reproduce/physics_scores.hpp"

namespace cleave {

/// Everything that the command prints.
struct PhysicsReport {
  std::vector<PhysicsCheck> checks;  // V1 to V9
  PhysicsCheck hidden;               // two profiles drawn by the seed, the others predicted
  std::vector<PhysicsConstant> constants;
  std::vector<PhysicsRefit> refits;

  /// No check that was scored missed its target.
  [[nodiscard]] bool all_met() const;
};

/// Scores every law on the data that is there.
[[nodiscard]] PhysicsReport reproduce_physics(const PhysicsData& data, std::uint64_t seed);

// The parts, each of which fills in its checks.

/// Jobs on the profiles of an A100.
struct JobStudy {
  PhysicsCheck v1, v2, v3_training, v3_inference, hidden;
  std::vector<PhysicsConstant> constants;
  std::vector<PhysicsRefit> refits;
};
[[nodiscard]] JobStudy study_jobs(const PhysicsData& data, std::uint64_t seed);

/// Batches and processes.
struct BatchStudy {
  PhysicsCheck v4, v5;
  std::vector<PhysicsConstant> constants;
  std::vector<PhysicsRefit> refits;
};
[[nodiscard]] BatchStudy study_batches(const PhysicsData& data, std::uint64_t seed);

[[nodiscard]] PhysicsCheck study_memory(const PhysicsData& data);

/// Creating and destroying.
struct LayoutStudy {
  PhysicsCheck create, destroy;
  std::vector<PhysicsConstant> constants;
};
[[nodiscard]] LayoutStudy study_layouts(const PhysicsData& data);

/// Side by side: STREAM and ResNet-50.
struct CorunStudy {
  PhysicsCheck stream, resnet;
};
[[nodiscard]] CorunStudy study_coruns(const PhysicsData& data);

[[nodiscard]] PhysicsCheck study_energy(std::uint64_t seed);

}  // namespace cleave
