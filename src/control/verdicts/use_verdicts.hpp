#pragma once
// What was used of a GPU between two readings of its counter, and by whom. Pure functions: the law
// is physics/energy_split.hpp, and this says what it is asked about.
//
// Of jobs that had one instance, together or one after the other, each has a part of it that goes
// by the time that it was there: their energy and their slices add up to the instance's. An
// instance that is not Cleave's, or one of Cleave's where strangers are, counts as busy while a
// process is there. What no counter told is counted as unmetered and never made up.

#include <optional>
#include <string>
#include <vector>

#include "control/node/node_state.hpp"

namespace cleave {

/// An instance or a GPU that somebody else has.
struct ForeignUse {
  std::int64_t slices = 0;
  bool works = false;  // processes are there
};

/// A time between two readings.
struct MeteredTime {
  std::string gpu;  // UUID
  const GpuModel* model = nullptr;
  Instant from{}, to{};               // wall clock
  std::optional<Millijoules> energy;  // that the counter showed; empty: it was not read
  std::optional<Milliwatts> idle;     // as measured; empty: by the model's table
  std::vector<Tenancy> tenancies;
  std::vector<ForeignUse> foreign;
};

/// Everything is divided by days first, where there are several.
[[nodiscard]] GpuUse divide_use(const MeteredTime& time);

/// What the GPU drew in the mean, where nothing ran on it for long enough to tell.
[[nodiscard]] std::optional<Milliwatts> idle_power(const MeteredTime& time);

/// What the counter showed since the last reading.
struct MeterStep {
  std::optional<Millijoules> energy;
  std::string doubt;  // why there is none although both were read; else empty
};
[[nodiscard]] MeterStep step_of(const MeterReading& last, const MeterReading& now,
                                const GpuModel& model);

/// Compute slices of what the attempt has; 0 where its profile is not one of the GPU's.
[[nodiscard]] std::int64_t slices_of(const GpuModel& model, const std::string& profile);
/// As long as the attempt has been there.
[[nodiscard]] Tenancy tenancy_of(const LiveJob& job, const LiveAttempt& attempt,
                                 const GpuModel& model);
/// The same of one that has ended; `record` says when.
[[nodiscard]] Tenancy ended_tenancy_of(const LiveJob& job, const LiveAttempt& attempt,
                                       const AttemptRecord& record, const GpuModel& model);
[[nodiscard]] UseParty party_of(const JobRecord& job);

/// What runs on the GPU, or has since the last reading; `all`: also attempts whose instances have
/// not been observed yet.
[[nodiscard]] std::vector<Tenancy> tenancies_of(const NodeState& node, GpuId gpu, bool all);
/// As observed last; where a tenant is or was, processes are the tenant's.
[[nodiscard]] std::vector<ForeignUse> foreign_on(const ManagedGpu& gpu,
                                                 const std::vector<Tenancy>& tenancies);

}  // namespace cleave
