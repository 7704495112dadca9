#pragma once
// The GPUs among which a method looks for a seat, with the seats taken so far. Methods ask for the
// next GPU once per workload. GPUs in the same state rank alike, so a choice compares the states
// that occur and takes the first GPU in the best one, instead of sorting the fleet again.

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "planner/seating.hpp"

namespace cleave {

/// Which of the GPUs that fit. Fullness is the share of compute and memory slices in use before the
/// workload comes; ties go to the first in line.
enum class GpuOrder { fullest, emptiest, first };

/// Which free placement on the GPU. preferred: earliest in its profile's order of starts (*Optimal
/// Workload Placement*, table 1), then most compute slices, then lowest start. lowest: lowest
/// start, then most compute.
enum class StartOrder { preferred, lowest };

/// How a method chooses a seat.
struct Manner {
  GpuOrder gpus;
  StartOrder starts;
};

/// Compute and memory slices of a state as a share of all slices, in 720,720ths, so that models can
/// be compared.
std::int32_t fullness(const StateGraph& graph, StateId state);

/// The first placement in this order; `places` must not be empty.
PlacementId first_place(const Geometry& geometry, PlacementSet places, StartOrder order);

/// GPUs grouped by model and state, so that the best one is found without a scan of the fleet.
class GpuPool {
 public:
  /// The pool starts empty. `line` lists all GPUs, the first in line first; empty: in the order of
  /// their numbers.
  GpuPool(Seating seating, Manner manner, const std::vector<GpuId>& line = {});

  [[nodiscard]] const Seating& seating() const { return seating_; }
  [[nodiscard]] bool contains(GpuId gpu) const { return tier_[index(gpu)] != outside; }
  /// How full a GPU is, in the pool or not.
  [[nodiscard]] std::int32_t fullness_of(GpuId gpu) const;

  /// A GPU of a higher tier is considered only if none of a lower one fits.
  void add(GpuId gpu, std::uint8_t tier = 0);
  void remove(GpuId gpu);

  /// How many GPUs of the pool fit a request, and whether one of them does, ignoring rules and
  /// groups.
  [[nodiscard]] std::size_t fitting(RequestId request) const;
  [[nodiscard]] bool fits(RequestId request, GpuId gpu) const;

  /// Where the workload goes. Empty: it fits on no GPU of the pool.
  [[nodiscard]] std::optional<Seat> choose(WorkloadIndex workload) const;

  /// Like Seating's; the GPU's rank follows.
  void seat(WorkloadIndex workload, Seat where);
  void unseat(WorkloadIndex workload);

  /// Chooses a seat and takes it. False: the workload fits nowhere.
  bool place(WorkloadIndex workload);

 private:
  static constexpr std::uint8_t outside = 0xff;

  /// GPUs of one model, state and tier.
  struct Class {
    std::uint16_t kind;
    StateId state;
    std::uint8_t tier;
    std::int32_t fullness;
    PlacementSet free;
    std::set<std::uint32_t> members;  // by their place in line
  };
  /// A class and the place in line of one GPU in it; smaller is better.
  struct Rank {
    std::uint8_t tier;
    std::int32_t by_fullness;
    std::uint32_t place;
    friend auto operator<=>(const Rank&, const Rank&) = default;
  };

  [[nodiscard]] Rank rank(const Class& of, std::uint32_t place) const;
  [[nodiscard]] std::optional<Rank> best_among(WorkloadIndex workload,
                                               const std::vector<GpuId>& gpus) const;
  [[nodiscard]] std::optional<Rank> best_of_all(WorkloadIndex workload) const;
  [[nodiscard]] std::uint32_t class_of(GpuId gpu, std::uint8_t tier);
  void enter(GpuId gpu);
  void leave(GpuId gpu);

  Seating seating_;
  Manner manner_;
  std::vector<GpuId> line_;
  std::vector<std::uint32_t> place_;     // of each GPU in line
  std::vector<std::uint8_t> tier_;       // of each GPU
  std::vector<std::uint32_t> class_of_;  // of each GPU in the pool
  std::vector<Class> classes_;           // every class that ever had a member
  std::vector<std::vector<std::uint32_t>>
      numbers_;                              // of the class, by tier and model, then by state
  std::vector<std::vector<GpuId>> on_node_;  // GPUs of each node
};

}  // namespace cleave
