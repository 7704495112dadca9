#pragma once
// What a job needs at the very least, whatever a scheduler does: the shortest time, and the least
// of each resource of the fleet, slices times seconds. A job is never faster on a profile than
// alone on the GPU there, and it runs only on profiles on which it has a speed and whose memory
// holds what it asks for, if need be with the rest on the host. Whether it asks for another profile
// does not count: some schedulers give it what they have. One that asks for whole GPUs gets those.
// A job of several places is as fast as its slowest process, and holds as many instances.

#include <optional>
#include <unordered_map>
#include <vector>

#include "simulate/speeds.hpp"

namespace cleave {

/// What a fleet has so much of that a job on an instance holds a part of it: compute slices, memory
/// slices, and for fleets of several GPU models the same as shares of a GPU.
struct FleetResource {
  double all = 0;                         // on the fleet
  std::vector<std::vector<double>> held;  // by GPU model, then profile; last the whole GPU
};

/// Answers for the jobs of one workload. What jobs of the same kind share is worked out once.
class LeastNeeds {
 public:
  /// All must outlive it.
  LeastNeeds(const Workload& workload, const Fleet& fleet, const Speeds& speeds);

  /// On the profile on which it is fastest, or a whole GPU with MIG off; nullopt where it runs
  /// nowhere.
  [[nodiscard]] std::optional<Duration> shortest(const Job& job) const;
  [[nodiscard]] const std::vector<FleetResource>& resources() const { return resources_; }
  /// Of the resource, times seconds, on the profile that takes least of it, with all its places; 0
  /// where it runs nowhere.
  [[nodiscard]] double least(const Job& job, std::size_t resource) const;

 private:
  /// For each second of the job's duration.
  struct Needs {
    double shortest = -1;       // below zero: it runs nowhere
    std::vector<double> least;  // by resource
  };

  [[nodiscard]] const Needs& needs_of(const Job& job) const;
  [[nodiscard]] Needs work_out(const Job& job) const;
  [[nodiscard]] bool holds(const Job& job, std::optional<MiB> usable) const;

  const Workload* workload_;
  const Fleet* fleet_;
  const Speeds* speeds_;
  std::vector<FleetResource> resources_;
  mutable std::vector<std::optional<Needs>> by_speed_;  // of jobs that ask for a profile or nothing
  mutable std::unordered_map<std::uint64_t, Needs> by_speed_and_request_;
};

}  // namespace cleave
