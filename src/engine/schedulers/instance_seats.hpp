#pragma once
// How many jobs run on each instance that several may share, how much of its memory they may need,
// and whether another one fits.

#include <map>
#include <optional>
#include <utility>

#include "base/options.hpp"
#include "engine/job_facts.hpp"
#include "model/geometry.hpp"
#include "model/sharing.hpp"
#include "placement/request_table.hpp"

namespace cleave {

/// How the instances of a scheduler are shared.
struct SharingRule {
  SharingMode mode = SharingMode::mps;
  int jobs = 0;     // the most on one instance; 0: one for each of its compute slices
  int percent = 0;  // mps: of the threads that each job may use; 0: all
};

/// The rows of its options, and what they say; nothing where `sharing` is none.
inline constexpr OptionRow sharing_option = {
    "sharing", "none|mps|time-slicing|compute-instances", "none",
    "how several jobs share each instance; in simulations only"};
inline constexpr OptionRow sharers_option = {
    "sharers", "N", "0",
    "with sharing: the most jobs on one instance; 0: one for each of its compute slices, which is "
    "also the limit for compute instances"};
inline constexpr OptionRow percent_option = {
    "percent", "N", "100", "with sharing=mps: the percentage of the threads that each job may use"};
[[nodiscard]] Result<std::optional<SharingRule>> sharing_rule(const OptionTexts& options);

/// The jobs on shared instances.
class InstanceSeats {
 public:
  explicit InstanceSeats(SharingRule rule) : rule_(rule) {}

  /// What a job with this request may need on a GPU of the model `kind`: its size, or, where that
  /// is not said or was found to be wrong, all that it would have alone (usable_alone).
  [[nodiscard]] static MiB needed(const ResolvedRequest& request, std::size_t kind,
                                  const Geometry& geometry);
  /// A job's part of an instance of this profile.
  [[nodiscard]] InstanceShare share_of(const Profile& profile) const;
  /// Whether one more job may run there, whatever its size.
  [[nodiscard]] bool has_seat(GpuId gpu, PlacementId placement, const Profile& profile) const {
    return jobs_on(gpu, placement) < seats(profile);
  }
  /// Whether the memory of the instance holds a job that needs this beside those that are there.
  [[nodiscard]] bool has_room(GpuId gpu, PlacementId placement, const Profile& profile,
                              MiB needed) const;
  [[nodiscard]] int jobs_on(GpuId gpu, PlacementId placement) const;

  void enter(GpuId gpu, PlacementId placement, MiB needed);
  void leave(GpuId gpu, PlacementId placement, MiB needed);
  /// All have left the instance.
  void clear(GpuId gpu, PlacementId placement) { sharers_.erase({gpu, placement}); }

 private:
  struct Sharers {
    int jobs = 0;
    MiB needed;
  };

  [[nodiscard]] int seats(const Profile& profile) const;

  SharingRule rule_;
  std::map<std::pair<GpuId, PlacementId>, Sharers> sharers_;
};

}  // namespace cleave
