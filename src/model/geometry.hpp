#pragma once
// The rules of one GPU model for a chosen set of its profiles, prepared for use: every placement (a
// profile at a start) has a small number, a partition state is a set of such numbers, and which
// placements exclude each other is a table. Nothing here assumes seven compute or eight memory
// slices.
//
// Rules between two placements are in the conflict table: shared memory slices, profiles with at
// most one instance, one media-extension instance, all-media beside nothing but no-media. Rules
// that involve more than two (a higher limit on a profile, the compute budget) are checked by
// `within_limits`. In the published tables those never apply, which a test checks; a table read
// from a driver may differ.

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.hpp"
#include "base/result.hpp"
#include "model/gpu_model.hpp"
#include "model/profile_set.hpp"

namespace cleave {

/// Number of a placement in one Geometry: profiles from large to small, then by start.
using PlacementId = std::uint8_t;

/// A set of placements of one Geometry; as a partition state, the instances that exist (or are
/// held).
class PlacementSet {
 public:
  static constexpr int most = 32;

  constexpr PlacementSet() = default;
  constexpr explicit PlacementSet(std::uint32_t bits) : bits_(bits) {}
  static constexpr PlacementSet of(PlacementId id) { return PlacementSet(std::uint32_t{1} << id); }

  [[nodiscard]] constexpr std::uint32_t bits() const { return bits_; }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  [[nodiscard]] constexpr int size() const { return std::popcount(bits_); }
  [[nodiscard]] constexpr bool contains(PlacementId id) const { return (bits_ >> id & 1U) != 0; }
  [[nodiscard]] constexpr bool meets(PlacementSet other) const {
    return (bits_ & other.bits_) != 0;
  }
  /// Lowest and highest number in the set; the set must not be empty.
  [[nodiscard]] constexpr PlacementId first() const {
    return static_cast<PlacementId>(std::countr_zero(bits_));
  }
  [[nodiscard]] constexpr PlacementId last() const {
    return static_cast<PlacementId>(31 - std::countl_zero(bits_));
  }

  constexpr void insert(PlacementId id) { bits_ |= std::uint32_t{1} << id; }
  constexpr void erase(PlacementId id) { bits_ &= ~(std::uint32_t{1} << id); }

  friend constexpr bool operator==(PlacementSet, PlacementSet) = default;
  friend constexpr PlacementSet operator|(PlacementSet a, PlacementSet b) {
    return PlacementSet(a.bits_ | b.bits_);
  }
  friend constexpr PlacementSet operator&(PlacementSet a, PlacementSet b) {
    return PlacementSet(a.bits_ & b.bits_);
  }
  /// The placements that are in a and not in b.
  friend constexpr PlacementSet operator-(PlacementSet a, PlacementSet b) {
    return PlacementSet(a.bits_ & ~b.bits_);
  }

  /// Iterates over the numbers in the set, ascending.
  class Iterator {
   public:
    constexpr explicit Iterator(std::uint32_t left) : left_(left) {}
    constexpr PlacementId operator*() const {
      return static_cast<PlacementId>(std::countr_zero(left_));
    }
    constexpr Iterator& operator++() {
      left_ &= left_ - 1;
      return *this;
    }
    friend constexpr bool operator==(Iterator, Iterator) = default;

   private:
    std::uint32_t left_;
  };
  [[nodiscard]] constexpr Iterator begin() const { return Iterator(bits_); }
  [[nodiscard]] constexpr Iterator end() const { return Iterator(0); }

 private:
  std::uint32_t bits_ = 0;
};

/// One bit for each memory slice.
using SliceMask = std::uint16_t;

/// A profile at a start, with what follows from that.
struct Placement {
  const Profile* profile;
  int profile_index;       // into GpuModel::profiles
  int start;               // memory slice
  SliceMask slices;        // the memory slices it covers
  PlacementSet conflicts;  // placements that cannot exist beside it, itself not among them
};

/// Why a list of placements is not a legal partition state.
enum class Illegality { start, overlap, compute_budget, second_media, too_many, all_media };
std::string_view name(Illegality reason);

/// Whether a list of placements is a legal partition state.
struct Verdict {
  std::optional<Illegality> illegal;  // empty: legal
  std::size_t culprit = 0;            // index into the list of the placement that broke the rule
};

/// The placements of one model's chosen profiles, and which of them can exist together.
class Geometry {
 public:
  /// `profiles` must name profiles of `model`; `model` must outlive the geometry.
  Geometry(const GpuModel& model, ProfileMask profiles);

  [[nodiscard]] const GpuModel& model() const { return *model_; }
  [[nodiscard]] ProfileMask profiles() const { return profiles_; }
  /// The profiles of the set, from large to small.
  [[nodiscard]] std::vector<const Profile*> profile_list() const;
  [[nodiscard]] std::vector<std::string> profile_names() const;

  [[nodiscard]] int size() const { return static_cast<int>(placements_.size()); }
  [[nodiscard]] const Placement& operator[](PlacementId id) const { return placements_[id]; }
  [[nodiscard]] PlacementSet all() const { return all_; }
  /// All placements of the profile with this index in the model; empty when it is not chosen.
  [[nodiscard]] PlacementSet of_profile(int profile_index) const {
    return by_profile_[static_cast<std::size_t>(profile_index)];
  }

  /// The placement of this profile at this start; the error lists the possible starts or profiles.
  [[nodiscard]] Result<PlacementId> find(std::string_view profile, int start) const;
  [[nodiscard]] std::optional<PlacementId> find(const Profile& profile, int start) const;

  /// Placements that are in `state` or conflict with one in it.
  [[nodiscard]] PlacementSet blocked(PlacementSet state) const;
  /// Whether the rules for more than two placements hold: limits on profiles and the compute
  /// budget.
  [[nodiscard]] bool within_limits(PlacementSet state) const;
  [[nodiscard]] bool legal(PlacementSet state) const;
  /// Placements that can be added to a legal state.
  [[nodiscard]] PlacementSet free(PlacementSet state) const;

  /// A placement as a user wrote it: any profile of the model, chosen or not, at any start.
  struct Written {
    const Profile* profile;
    int start;
  };
  /// Checks each start and its overlap with earlier ones, then whether all can exist together.
  [[nodiscard]] Verdict judge(const std::vector<Written>& list) const;

  /// The memory slices that the state covers.
  [[nodiscard]] SliceMask slices(PlacementSet state) const;
  [[nodiscard]] ComputeSlices compute(PlacementSet state) const;
  [[nodiscard]] MemorySlices memory(PlacementSet state) const;

 private:
  const GpuModel* model_;
  ProfileMask profiles_;
  std::vector<Placement> placements_;
  std::vector<PlacementSet> by_profile_;
  PlacementSet all_;
};

/// "4g.20gb@0,2g.10gb@4": the instances of a state by start.
std::string layout_text(const Geometry& geometry, PlacementSet state);
/// The placements of a state by start, then profile: the order in which people read a GPU.
std::vector<PlacementId> by_start(const Geometry& geometry, PlacementSet state);
/// "2g.10gb may start at 0, 2 or 4, not at 3"
std::string wrong_start(const Profile& profile, int start);

}  // namespace cleave
