#pragma once
// What one GPU can become, as columns of a mixed-integer programme. The paper's model has a
// variable for each workload on each GPU; here there is one for each way a GPU can end, counted
// over all GPUs that are alike, so the number of variables does not grow with the fleet. A pattern
// comes from a real layout of the GPU's state graph, so starts, media extensions and fixed
// instances are settled inside it, and its waste is exact.

#include <array>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "planner/metrics.hpp"
#include "planner/problem.hpp"

namespace cleave {

/// Workloads with the same request and rule, which are interchangeable.
struct WorkloadType {
  RequestId request{};
  std::uint32_t rule = none, group = none;
  MemorySlices size;                   // while it waits
  std::vector<WorkloadIndex> waiting;  // new workloads
  std::int64_t running = 0;            // those that run and need not stay where they are
};
using TypeIndex = std::uint32_t;

/// A running workload that may move.
struct Item {
  PlacementId placement = 0;
  TypeIndex type = 0;
  std::int64_t moved_mib = 0;  // 0 unless moved memory is limited
  friend auto operator<=>(const Item&, const Item&) = default;
};

/// GPUs that are alike in everything a plan can depend on.
struct GpuClass {
  std::uint16_t kind = 0;
  std::uint32_t acceptance = 0;  // index into Grouping::acceptances
  std::uint32_t node = none;     // if groups are spread over nodes
  PlacementSet fixed;            // walls and work that stays
  bool fixed_work = false;       // some of it is work
  PlacementSet idle;
  /// Whether it holds our work now, if that has a price: in a reconfiguration.
  std::vector<Item> items;
  bool held_before = false;
  std::vector<GpuId> gpus;
};

/// Which types a GPU takes: bit t of the words.
struct Acceptance {
  std::vector<std::uint64_t> bits;
  [[nodiscard]] bool takes(TypeIndex type) const {
    return (bits[type / 64] >> type % 64 & 1U) != 0;
  }
  friend auto operator<=>(const Acceptance&, const Acceptance&) = default;
};

/// How finely GPUs are told apart.
struct Fineness {
  bool items = true;  // by the movable work on them; off: all of it counts as work to be placed
  bool individual = false;  // every GPU that takes work of a group is a class of its own
};

/// The workloads as types and the GPUs as classes.
struct Grouping {
  std::vector<WorkloadType> types;
  std::vector<TypeIndex> type_of;  // of each workload
  std::vector<Acceptance> acceptances;
  std::vector<GpuClass> classes;
};

Grouping group_gpus(const PlanProblem& problem, Fineness fineness);

/// How many instances of each profile of the geometry, four bits for each.
class ProfileCounts {
 public:
  [[nodiscard]] int of(std::size_t profile) const {
    return static_cast<int>(bits_ >> 4 * profile & 15U);
  }
  void add(std::size_t profile) { bits_ += std::uint64_t{1} << 4 * profile; }
  void remove(std::size_t profile) { bits_ -= std::uint64_t{1} << 4 * profile; }
  /// Without instances that are among them.
  [[nodiscard]] ProfileCounts without(ProfileCounts part) const {
    ProfileCounts rest;
    rest.bits_ = bits_ - part.bits_;
    return rest;
  }
  [[nodiscard]] std::uint64_t bits() const { return bits_; }
  /// At least as many of each profile.
  [[nodiscard]] bool covers(ProfileCounts other) const {
    constexpr std::uint64_t guard = 0x8888888888888888;
    return (((bits_ | guard) - other.bits_) & guard) == guard;
  }
  friend auto operator<=>(ProfileCounts, ProfileCounts) = default;

 private:
  std::uint64_t bits_ = 0;
};

/// What a GPU that ends in a pattern adds to the objectives and to the limited quantities.
struct PatternCost {
  std::int32_t used = 0, waste = 0, chosen_again = 0, moved = 0, repartitioned = 0, moves = 0;
  std::int64_t moved_mib = 0;
  friend bool operator==(const PatternCost&, const PatternCost&) = default;
};

/// One way a GPU of a class can end.
struct Pattern {
  /// Instances for work of the pool; those of plain items that stay are among them.
  ProfileCounts slots;
  std::uint8_t kept = 0;  // bit i: item i stays, for items that are not plain
  PatternCost cost;
};

/// The patterns of one class, and what they are made of.
struct ClassPatterns {
  /// Bit i: item i competes with no other work for an instance of its profile on this GPU. It is
  /// counted as one of the pool that finds its place again, and no pattern has to say whether it
  /// stays.
  std::uint8_t plain = 0;
  std::vector<Pattern> patterns;  // none is worse than another in every respect
};

/// Which of a pattern's costs matter, and how they are weighed against each other.
struct PatternOrder {
  bool limits = false;  // the number of moves and the moved memory matter by themselves
  /// Of waste, GPUs used again, moved, repartitioned. All 0: one after the other.
  std::array<std::int64_t, 4> weights{};
};

/// Makes patterns; keeps what depends on the GPU model alone.
class PatternMaker {
 public:
  PatternMaker(const PlanProblem& problem, const Grouping& grouping, PatternOrder order);

  [[nodiscard]] ClassPatterns make(const GpuClass& gpus) const;

  /// The best layout of a GPU of this class that has exactly this content beside the fixed
  /// instances: `slots` and the kept items. Ties: most room for the future, then the lowest state.
  /// If limits are in force, `within` is the most it may cost. no_state: there is none.
  [[nodiscard]] StateId layout(const GpuClass& gpus, std::uint8_t plain, ProfileCounts slots,
                               std::uint8_t kept, const PatternCost& within) const;

  /// Types that may take an instance of the profile on GPUs of this class.
  [[nodiscard]] std::vector<TypeIndex> takers(const GpuClass& gpus, std::size_t profile) const;
  /// Index of a placement's profile in the geometry's list.
  [[nodiscard]] std::size_t profile_of(std::size_t kind, PlacementId id) const {
    return models_[kind].profile_of[id];
  }
  [[nodiscard]] std::size_t profiles(std::size_t kind) const { return models_[kind].profiles; }

 private:
  /// A state of the model's graph, with what every class asks of it, side by side.
  struct ModelState {
    PlacementSet layout;
    std::uint16_t content = 0;  // index into Model::counts
    std::int16_t wasted = 0;
  };
  /// What depends on the GPU model alone.
  struct Model {
    std::vector<std::size_t> profile_of;  // of each placement
    std::size_t profiles = 0;
    std::vector<int> waste, memory;  // of each placement; memory in slices
    /// For each profile, the requests it satisfies.
    std::vector<std::vector<std::uint32_t>> requests;
    std::vector<ProfileCounts> counts;  // the different contents of states
    /// For each content, those that have at least as many of each profile, itself first.
    std::vector<std::vector<std::uint16_t>> covered_by;
    std::vector<ModelState> states;                  // by StateId
    std::vector<std::vector<StateId>> with_content;  // ascending
  };
  struct View;
  struct Offers;
  static void set_plain(View& view, std::uint8_t plain);
  [[nodiscard]] static Model model_of(const PlanProblem& problem, std::size_t kind);
  [[nodiscard]] View look(const GpuClass& gpus) const;
  [[nodiscard]] PatternCost cost(const View& view, const ModelState& state,
                                 std::uint8_t kept) const;
  [[nodiscard]] bool better(const PatternCost& a, const PatternCost& b) const;
  [[nodiscard]] bool never_worse(const PatternCost& a, const PatternCost& b) const;
  [[nodiscard]] const std::vector<StateId>& candidates(const View& view, bool optional) const;
  void offer(Offers& offers, std::uint16_t content, const Pattern& pattern) const;
  [[nodiscard]] Offers all(const View& view) const;
  [[nodiscard]] std::vector<Pattern> pruned(const View& view, const Offers& offers) const;

  const PlanProblem& problem_;
  const Grouping& grouping_;
  PatternOrder order_;
  std::vector<Model> models_;
  /// States that matter to classes with the same fixed instances and the same allowed ones.
  using CandidateKey = std::tuple<std::uint16_t, std::uint32_t, std::uint32_t, bool>;
  mutable std::map<CandidateKey, std::vector<StateId>> candidates_;
};

}  // namespace cleave
