#pragma once
// Decisions that do not slow down as the fleet grows: the same GPU, start and reuse as
// decide_by_scan, for every policy of the table, found without looking at every GPU.
//
// Where a policy would place a request on a GPU, and how good that is, are functions of the GPU's
// state. GPUs for which every kind of request ranks the same form a row class; there are some
// hundreds. For each kind the classes stand in order of rank. A decision takes the first level of
// that order that has a GPU, and on it the lowest GPU. After a GPU changes, it moves from one class
// to another. Each class keeps its lowest GPU, and which blocks of 32 GPUs hold any of it, one bit
// a block with summaries above; within a block the classes of its GPUs are compared. So a decision
// and a change cost the same on 100,000 GPUs as on 100, and a GPU takes about four bytes.
//
// While the fleet is small (`scan_up_to`) it is quicker to keep the level of each GPU for each kind
// in a byte and to look at all of them with vector instructions.
//
// States, kinds and classes are learned when they first occur. Not thread-safe.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "placement/policy.hpp"

namespace cleave {

/// Decides for one fleet, one table of requests and one policy.
class PlacementIndex {
 public:
  /// How decisions are found; `automatic` is the vector scan on small fleets and the blocks on
  /// large ones. The others are for benchmarks and tests.
  enum class Method { automatic, blocks, vector_scan, scalar_scan };
  static constexpr std::size_t scan_up_to = 128;

  /// `fleet` and `requests` must outlive the index.
  PlacementIndex(const Fleet& fleet, const RequestTable& requests, ChosenPolicy policy,
                 Method method = Method::automatic);

  /// As decide_by_scan(fleet, requests[request], policy).
  [[nodiscard]] std::optional<Decision> decide(RequestId request);

  /// Must be called after each change of a GPU of the fleet, before the next decision; also for an
  /// appended one. What changes between two decisions is looked at once, as it is at the second: a
  /// GPU that work leaves and other work takes at once has often not changed at all.
  void changed(GpuId gpu) {
    pending_.push_back(gpu);
    if (pending_.size() == most_pending) catch_up();
  }

  [[nodiscard]] std::size_t classes() const { return class_count_; }
  /// How decisions are found now: never `automatic`, and `blocks` where a vector scan has too many
  /// levels to tell.
  [[nodiscard]] Method method() const { return method_; }
  /// Bytes that grow with the number of GPUs.
  [[nodiscard]] std::size_t bytes() const;

 private:
  /// Numbers of row classes and of kinds of request.
  using ClassId = std::uint16_t;
  using KindId = std::uint16_t;
  static constexpr ClassId no_class = 0xffff;
  static constexpr std::uint32_t no_gpu = 0xffffffff;
  static constexpr std::uint16_t no_place = 0xffff;
  static constexpr std::uint8_t no_level = 0xff;
  static constexpr std::size_t block = 32;
  static constexpr std::size_t most_pending =
      64;  // so that many changes without a decision need no memory

  /// What a kind of request comes to on a GPU in one state, worked out once a state: the placement,
  /// and a bit for one that stands there already. A byte, so that those of all states that occur
  /// stay in the processor's cache; what a new instance destroys lies apart.
  using Choice = std::uint8_t;
  static constexpr Choice reuses = 0x80;
  static_assert(PlacementSet::most <= reuses);

  /// The classes in the order in which one kind of request prefers them.
  struct Order {
    std::vector<ClassId> classes;          // best first; only those on which the kind fits
    std::vector<std::uint16_t> level_end;  // for each place, where its level ends
    std::vector<std::uint64_t> occupied;   // a bit for each place: the class has a GPU
  };

  void learn_kinds();
  void rebuild();
  ClassId class_of(StateNumber state) {
    return state < class_of_state_.size() && class_of_state_[state] != no_class
               ? class_of_state_[state]
               : learn(state);
  }
  ClassId learn(StateNumber state);
  void order_classes();
  void order_for(KindId kind);
  void insert_class(ClassId row);
  void insert_for(KindId kind, ClassId row);
  void choose_method();
  void list_gpus();

  void catch_up();
  void follow(GpuId gpu);
  void enter(ClassId row, std::uint32_t gpu);
  void leave(ClassId row, std::uint32_t gpu);
  void set_occupied(ClassId row, bool occupied);
  [[nodiscard]] std::uint32_t next_after(ClassId row, std::uint32_t gpu) const;
  [[nodiscard]] std::uint32_t first_in_block(ClassId row, std::size_t number) const;
  [[nodiscard]] std::uint64_t* words(ClassId row) { return &present_[row * words_per_class_]; }
  [[nodiscard]] const std::uint64_t* words(ClassId row) const {
    return &present_[row * words_per_class_];
  }

  [[nodiscard]] std::uint32_t find_by_blocks(KindId kind) const;
  [[nodiscard]] std::uint32_t find_by_vector_scan(KindId kind) const;
  [[nodiscard]] std::uint32_t find_by_scalar_scan(KindId kind) const;
  void write_levels(std::uint32_t gpu, ClassId row);

  const Fleet* fleet_;
  const RequestTable* requests_;
  ChosenPolicy policy_;
  Method wanted_method_, method_;

  // Kinds: requests with the same candidates on every model.
  std::vector<KindId> kind_of_request_;
  std::vector<std::vector<PlacementSet>> kinds_;
  std::map<std::vector<std::uint32_t>, KindId> known_kinds_;

  // States and classes. A class is the list of its ranks, one a kind; an empty one does not fit.
  using AcrossRank = std::optional<std::array<std::int32_t, 5>>;
  std::vector<ClassId> class_of_state_;
  std::vector<Choice> choice_;          // by state and kind; meaningful where the kind fits
  std::vector<PlacementSet> destroys_;  // likewise
  std::map<std::vector<AcrossRank>, ClassId> known_classes_;
  std::vector<const std::vector<AcrossRank>*> ranks_of_class_;
  std::size_t class_count_ = 0;
  bool orders_stale_ = false;
  bool too_many_classes_ = false;  // more than a ClassId can number: decisions go by the plain scan
  std::vector<Order> orders_;      // by kind
  std::vector<std::uint16_t> place_;  // by class and kind: place in the order; 0xffff: does not fit
  std::vector<std::uint16_t>
      level_;                    // by class and kind: number of the level; 0xffff: does not fit
  std::size_t most_levels_ = 0;  // of any kind

  // GPUs.
  std::vector<GpuId> pending_;  // changed since the last decision
  std::vector<ClassId> row_;    // by GPU, padded to whole blocks with no_class
  std::size_t gpus_ = 0;
  std::array<std::size_t, 4> layer_{};  // where each layer of a class's summaries begins
  std::size_t layers_ = 0, words_per_class_ = 0;
  std::vector<std::uint64_t> present_;  // by class: a bit a block, then summaries of 64
  std::vector<std::uint32_t> first_;    // by class: its lowest GPU
  bool listed_ = false;                 // present_ and first_ are up to date; scans do without
  std::vector<std::vector<std::uint8_t>> bytes_;  // vector scan: by kind, the level of each GPU
};

}  // namespace cleave
