#pragma once
// How fast jobs are and what they draw, by (speed model, GPU model, profile), computed when first
// needed. The last column of a GPU model is the whole GPU with MIG off.

#include <cmath>
#include <limits>
#include <vector>

#include "model/job.hpp"
#include "physics/contention.hpp"
#include "physics/speed.hpp"
#include "placement/fleet.hpp"
#include "simulate/world_terms.hpp"

namespace cleave {

/// A table of speeds that fills itself.
class Speeds {
 public:
  Speeds(const Workload& workload, const Fleet& fleet, const WorldTerms& terms);

  /// In place of a profile: the whole GPU with MIG off.
  static constexpr std::size_t whole_gpu = SIZE_MAX;

  /// The speed of a job that has the GPU to itself; 0 means that it does not run there.
  Speed on(const Job& job, std::size_t kind, std::size_t profile) const {
    const Known& known = known_at(job, kind, profile);
    return {std::abs(known.speed), known.speed < 0};
  }
  /// What it draws then.
  Milliwatts power_on(const Job& job, std::size_t kind, std::size_t profile) const {
    return {known_at(job, kind, profile).milliwatts};
  }
  /// The mean share of the link that it uses then, rounded up, in units of which as many as
  /// `whole_link` are the link: whole numbers, so that parts add up exactly.
  std::uint32_t link_on(const Job& job, std::size_t kind, std::size_t profile) const {
    return known_at(job, kind, profile).link;
  }
  static constexpr std::uint32_t whole_link = 1U << 24;
  /// What it keeps on the host where it can use this much on the GPU; nullopt where it does not
  /// offload, or cannot offload enough to run.
  [[nodiscard]] std::optional<MiB> host_memory(const Job& job, std::optional<MiB> usable) const;
  bool may_offload(const Job& job) const { return offloads_[job.speed]; }
  /// Whether it uses the link to the host, which others use too.
  bool transfers(const Job& job) const { return transfers_[job.speed]; }

  /// The job as its neighbours see it; it must run there.
  const SharedLoad& load_on(const Job& job, std::size_t kind, std::size_t profile) const {
    const Known& known = known_at(job, kind, profile);
    return loads_[static_cast<std::size_t>(&known - known_.data())];
  }
  /// What all jobs on a GPU of this model share, with MIG or without.
  [[nodiscard]] const SharedGpu& shared(std::size_t kind, std::size_t profile) const {
    return profile == whole_gpu ? whole_[kind] : in_slices_[kind];
  }

 private:
  struct Known {
    double speed = unknown;  // a negative sign marks an inferred speed
    std::int32_t milliwatts = 0;
    std::uint32_t link = 0;
  };
  static constexpr double unknown = std::numeric_limits<double>::infinity();

  const Known& known_at(const Job& job, std::size_t kind, std::size_t profile) const {
    const std::size_t column = profile == whole_gpu ? columns_ - 1 : profile;
    Known& known = known_[(job.speed * models_.size() + kind) * columns_ + column];
    if (known.speed == unknown)
      known =
          work_out(job, kind, profile, loads_[static_cast<std::size_t>(&known - known_.data())]);
    return known;
  }
  [[nodiscard]] SpeedModel timed(const Job& job) const;
  [[nodiscard]] SharedLoad load_of(const SpeedModel& speed, std::size_t kind,
                                   std::size_t profile) const;
  [[nodiscard]] Known work_out(const Job& job, std::size_t kind, std::size_t profile,
                               SharedLoad& load) const;

  const Workload* workload_;
  std::vector<const GpuModel*> models_;
  std::vector<SharedGpu> in_slices_, whole_;        // by GPU model
  std::vector<std::uint8_t> transfers_, offloads_;  // by speed model: whether it does
  std::size_t columns_ = 1;                         // profiles of the model that has most, and one
  mutable std::vector<Known> known_;
  mutable std::vector<SharedLoad> loads_;  // the same, apart: few jobs need them
};

}  // namespace cleave
