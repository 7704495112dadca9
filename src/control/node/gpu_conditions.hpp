#pragma once
// Why a GPU or an instance is not given out, and which jobs were there when something happened to
// it. Plain values; verdicts/health_verdicts.hpp reads them, loop/health_keeper.hpp changes them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "control/job_record.hpp"
#include "model/health_facts.hpp"

namespace cleave {

/// A sign of the table that holds for a GPU or an instance since it was seen.
struct GpuCondition {
  const HealthFact* fact = nullptr;
  std::string device;                     // the instance's MIG UUID; empty: the whole GPU
  Instant since{};                        // wall clock
  JobNumber job = 0;                      // that was alone there; 0: none, or several
  std::optional<std::uint32_t> uid = {};  // its user
  bool accepted = false;                  // an operator took the GPU back although the sign stays
  bool asked = false;                     // the driver has asked for a recovery action since then
  friend bool operator==(const GpuCondition&, const GpuCondition&) = default;
};

/// Something that happened to a GPU while a job was alone there.
struct JobFault {
  std::string gpu;     // UUID
  Instant at{};        // wall clock
  bool grave = false;  // such as drains GPUs
  friend bool operator==(const JobFault&, const JobFault&) = default;
};

/// What an attempt can say when it fails soon after something happened where it runs.
struct GpuBlame {
  std::string why;
  Duration until{};        // on the steady clock: soon
  std::int64_t count = 1;  // of such faults of its job within a day, with this one
  bool of_job = false;     // the job is taken for the cause
};

/// Whether the condition keeps new jobs off the whole GPU.
[[nodiscard]] inline bool drains(const GpuCondition& condition) {
  return condition.device.empty() && !condition.accepted &&
         condition.fact->reaction == HealthReaction::drain_gpu;
}

}  // namespace cleave
