#pragma once
// Migration on departure that does not slow down as the fleet grows: the same moves as next_move
// (rebalance.hpp), ties included, found without looking at every GPU.
//
// Intra: the best moves are a function of the GPU's state, and are worked out once for each state
// that occurs. Where several differ only in the job that moves, all are kept and the lowest job
// decides.
//
// Inter: for each state of a target and each profile there is one best place, wherever a job
// comes from, and one least load from which a source may give. So each state keeps its places in
// order of preference. Busy GPUs stand in source classes - model, load, and the profiles of the
// jobs that may move - each of which knows its lowest GPU, and a bit for each profile and load says
// whether any class has a GPU. That nothing is eligible takes one look at such a word for each
// profile.
//
// A GPU takes four bytes, and one bit in each source class that has occurred. States and classes
// are learned when they first occur. Not thread-safe.

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "placement/gpu_set.hpp"
#include "placement/rebalance.hpp"

namespace cleave {

/// Decides moves on one fleet.
class Rebalancer {
 public:
  /// `fleet` must outlive the rebalancer. `jobs.fixed` is asked when a GPU changes and when a
  /// decision looks at it; whether a job may move must not depend on the target.
  Rebalancer(const Fleet& fleet, const RebalanceOptions& options, HeldJobs jobs);

  /// Must be called after each change of a GPU of the fleet, or of which of its jobs may move,
  /// before the next decision; also for an appended one.
  void changed(GpuId gpu);

  /// As rebalance_kind.
  [[nodiscard]] RebalanceKind kind(GpuId target) {
    return known(fleet_->number(target)).busy ? RebalanceKind::intra : RebalanceKind::inter;
  }
  /// As next_move.
  [[nodiscard]] std::optional<JobMove> next(GpuId target, RebalanceKind kind) {
    const Known& state = known(fleet_->number(target));
    if (kind == RebalanceKind::intra) {
      if (jobs_.fixed && (*fleet_)[target].held.meets(jobs_.fixed(target)))
        return next_move(*fleet_, target, kind, options_, jobs_);
      return state.steps == 0 ? std::nullopt : choose_step(target, state);
    }
    return first_open(state) == state.places ? std::nullopt : choose_source(target, state);
  }

  /// Bytes that grow with the number of GPUs.
  [[nodiscard]] std::size_t bytes() const;

 private:
  /// Number of a source class.
  using ClassId = std::uint32_t;
  static constexpr ClassId no_class = 0xffffffff;
  static constexpr std::size_t most_load = 64;  // slices; a load is a bit of a word

  /// One of the equally good moves within a GPU.
  struct Step {
    PlacementId from, to;
  };
  /// Where a pulled job of one profile would go.
  struct Place {
    std::size_t supply;   // into supply_: model and profile
    std::uint64_t loads;  // of sources that may give, a bit each
    int profile_index;
    PlacementId to;
    bool as_good_as_previous;  // same cost, reuse and start
  };
  /// What is known of a state: whether it is busy, its class as a source, the best moves within it,
  /// and the places on it as a target, best first.
  struct Known {
    ClassId source = no_class;
    std::uint32_t first_step = 0, first_place = 0;
    std::uint8_t steps = 0, places = 0;
    bool learned = false, busy = false;
  };
  static constexpr std::uint32_t no_gpu = 0xffffffff;
  /// What a choice among classes looks at.
  struct Front {
    std::uint64_t load;            // one bit
    std::uint32_t first = no_gpu;  // the class's lowest GPU
  };
  /// Busy GPUs that can give the same.
  struct SourceClass {
    std::uint16_t kind;
    int load;
    std::uint32_t profiles;  // a bit for each profile of a job that may move
    GpuSet gpus;
  };
  /// The source classes that can give one profile of one model.
  struct Supply {
    std::vector<ClassId> classes;
    std::vector<std::uint16_t> filled =
        std::vector<std::uint16_t>(most_load);  // by load: classes with a GPU
    std::uint64_t loads = 0;                    // those with any, a bit each
  };

  const Known& known(StateNumber number) {
    return number < known_.size() && known_[number].learned ? known_[number] : learn(number);
  }
  const Known& learn(StateNumber number);
  void learn_steps(const GpuState& gpu, Known& state);
  void learn_places(const GpuState& gpu, Known& state);
  ClassId source_class(const GpuState& gpu, PlacementSet movable);
  [[nodiscard]] ClassId class_now(GpuId gpu);
  void rebuild();
  void enter(ClassId source, std::uint32_t gpu);
  void leave(ClassId source, std::uint32_t gpu);
  void set_filled(const SourceClass& source, bool filled);

  /// The best place that any source can fill; state.places where there is none.
  [[nodiscard]] std::uint8_t first_open(const Known& state) const {
    std::uint8_t i = 0;
    while (i < state.places && !open(places_[state.first_place + i])) ++i;
    return i;
  }
  [[nodiscard]] bool open(const Place& place) const {
    return (supply_[place.supply].loads & place.loads) != 0;
  }
  [[nodiscard]] std::optional<JobMove> choose_step(GpuId target, const Known& state) const;
  [[nodiscard]] std::optional<JobMove> choose_source(GpuId target, const Known& state) const;
  [[nodiscard]] JobMove move_of(GpuId source, PlacementId from, GpuId target, PlacementId to) const;

  const Fleet* fleet_;
  RebalanceOptions options_;
  HeldJobs jobs_;
  std::size_t width_ = 0;       // profiles of the model that has most
  std::vector<Known> known_;    // by state
  std::vector<Step> steps_;     // of all states
  std::vector<Place> places_;   // of all states
  std::vector<Supply> supply_;  // by model and profile
  std::vector<SourceClass> classes_;
  std::vector<Front> fronts_;  // by class
  std::map<std::tuple<std::uint16_t, int, std::uint32_t>, ClassId> class_numbers_;
  std::vector<ClassId> row_;  // by GPU
};

}  // namespace cleave
