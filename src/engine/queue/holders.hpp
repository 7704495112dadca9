#pragma once
// What running jobs hold, and until when that is expected to last, as far as times are known: what
// backfill goes by.

#include <optional>
#include <vector>

#include "engine/job_facts.hpp"
#include "engine/queue/spot.hpp"
#include "placement/fleet.hpp"

namespace cleave {

/// A moment that does not come as far as is known.
inline constexpr Instant never = Instant::max();

/// The running jobs of a fleet, by GPU.
class Holders {
 public:
  /// Both must outlive this; `facts` may be null. Of `fleet` only the models matter.
  Holders(const Fleet& fleet, const JobFacts* facts)
      : fleet_(&fleet), facts_(facts), on_(fleet.size()) {}

  void start(JobId job, Spot spot, Instant now);
  /// It runs since then and takes this time from then on, whatever its own spot says of it.
  void takes(JobId job, Instant since, std::optional<Duration> time);
  /// Nothing where the job does not run.
  void leave(JobId job);
  /// Its work went on elsewhere, whence it is done in the same time.
  void move(JobId job, Spot to);

  /// The time of the job from its beginning there, as known.
  [[nodiscard]] std::optional<Duration> time_of(JobId job, Spot spot) const;
  /// Whether no running job is in the way of the spot.
  [[nodiscard]] bool free(Spot spot) const;
  /// From when on no job that runs now is in the way of the spot. One that takes longer than was
  /// expected may end at any moment, `now`; after a minute and a tenth of the time more, its end is
  /// not known. Where an end is not known it is `never`.
  [[nodiscard]] Instant free_from(Spot spot, Instant now) const;
  /// Memory slices of the jobs in its way.
  [[nodiscard]] int in_the_way(Spot spot) const;
  /// Memory slices of each job on the GPU, and which of them, a bit for each, are in its way.
  [[nodiscard]] std::vector<int> slices_on(GpuId gpu) const;
  [[nodiscard]] std::uint64_t which_in_the_way(Spot spot) const;
  /// The placements of the jobs that will not have left by then, none that has the whole GPU.
  [[nodiscard]] PlacementSet held_at(GpuId gpu, Instant then, Instant now) const;
  /// Appends when jobs on the GPU are expected to end, in the past too, where that is known.
  void known_ends_on(GpuId gpu, std::vector<Instant>& ends) const;
  /// Appends when jobs on the GPU are expected to end, as free_from sees it, where that is known.
  void ends_on(GpuId gpu, Instant now, std::vector<Instant>& ends) const;

  /// A job in the way of a spot; when it is expected to have left, as free_from sees it.
  struct Occupant {
    JobId job;
    Instant since, leaves;
    int slices = 0;  // of memory
  };
  [[nodiscard]] std::vector<Occupant> occupants(Spot spot, Instant now) const;

  /// When the next of those on the GPU is expected to end, or to have taken too long, after `now`.
  [[nodiscard]] Instant next_change(GpuId gpu, Instant now) const;
  /// When it is expected to have left, as free_from sees it; `never` where it does not run.
  [[nodiscard]] Instant leaves(JobId job, Instant now) const;
  /// Where the job runs; empty: nowhere.
  [[nodiscard]] std::optional<GpuId> gpu_of(JobId job) const;

  [[nodiscard]] const Geometry& geometry(GpuId gpu) const {
    return fleet_->geometry((*fleet_)[gpu]);
  }
  [[nodiscard]] std::size_t kind(GpuId gpu) const { return (*fleet_)[gpu].kind; }
  [[nodiscard]] std::size_t gpus() const { return on_.size(); }

 private:
  struct Holder {
    JobId job;
    std::optional<PlacementId> placement;
    Instant since, until;
    Duration patience{};
  };
  static constexpr std::uint32_t nowhere = 0xffffffff;

  /// When it is expected to end, in the past too.
  [[nodiscard]] Instant until(const Holder& holder) const;
  /// The same, not before `now`, and `never` for one that takes longer than it may.
  [[nodiscard]] Instant leaves(const Holder& holder, Instant now) const;
  [[nodiscard]] int slices(const Holder& holder, const Geometry& rules) const;

  const Fleet* fleet_;
  const JobFacts* facts_;
  std::vector<std::vector<Holder>> on_;  // by GPU
  std::vector<std::uint32_t> gpu_of_;    // by job
};

}  // namespace cleave
