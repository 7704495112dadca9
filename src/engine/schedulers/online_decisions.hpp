#pragma once
// What `online` decides, apart from what follows from it: where a job goes, and which jobs move
// when one has left. By the definitions (decide_by_scan, next_move), or with an index that gives
// the same answers.
//
// The threshold between lazy and busy is a number, or the fleet's average load at the moment of the
// decision
// (`auto`). Loads are whole slices, so GPUs change sides only when the average crosses a possible
// load of one of their models. There are as many such levels as loads; each keeps an index of its
// own from the first time that it is needed, and is told what has changed when it comes back into
// use.

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "placement/index.hpp"
#include "placement/rebalancer.hpp"

namespace cleave {

/// Slices held by work over all slices of the GPUs that are there, in this measure; 0 when there is
/// none.
Ratio average_load(const Fleet& fleet, LoadMetric metric);

/// The options of `online`, checked.
struct OnlineOptions {
  ChosenPolicy policy;     // its threshold is not read when `automatic`
  RebalanceOptions moves;  // as are these; load is that of both
  bool automatic = false;  // the threshold is the average load
  bool use_index = true;
};

/// The decisions of `online` on one fleet, as that changes.
class OnlineDecisions {
 public:
  /// `fleet` and `requests` must outlive this.
  OnlineDecisions(const Fleet& fleet, const RequestTable& requests, const OnlineOptions& options,
                  HeldJobs jobs);

  /// Must be called after each change of a GPU, or of which of its jobs may move, before the next
  /// decision.
  void changed(GpuId gpu);

  [[nodiscard]] std::optional<Decision> place(RequestId request);

  /// The policy, with the threshold of this moment.
  [[nodiscard]] ChosenPolicy policy() const { return now().policy; }
  /// Whether anything ever moves.
  [[nodiscard]] bool moves() const { return options_.moves.intra || options_.moves.inter; }
  [[nodiscard]] RebalanceKind kind(GpuId target);
  [[nodiscard]] std::optional<JobMove> next_move(GpuId target, RebalanceKind kind);

 private:
  /// Everything that depends on where the threshold lies.
  struct Level {
    PlacementIndex index;
    std::optional<Rebalancer> rebalancer;
    std::size_t told = 0;  // how much of log_ it knows

    void changed(GpuId gpu) {
      index.changed(gpu);
      if (rebalancer) rebalancer->changed(gpu);
    }
  };

  /// The options with the threshold of this moment.
  [[nodiscard]] OnlineOptions now() const;
  std::unique_ptr<Level> make_level(Ratio threshold) const;
  Level& level();
  void find_level();
  void catch_up(Level& level);

  const Fleet* fleet_;
  const RequestTable* requests_;
  OnlineOptions options_;
  HeldJobs jobs_;
  std::unique_ptr<Level> only_;  // where the threshold is a number
  Level* current_ = nullptr;     // null: decisions go by the definitions

  // Where it is the average. `least_busy_` has the least load that is busy, in slices, by GPU
  // model.
  std::int64_t held_ = 0, all_ = 0;   // slices of the GPUs that are there
  std::vector<StateNumber> counted_;  // by GPU, as it stands in held_ and all_
  bool average_changed_ = true;
  std::vector<std::int64_t> least_busy_;
  std::map<std::vector<std::int64_t>, std::unique_ptr<Level>> levels_;
  std::vector<GpuId> log_;  // of changes, until every level knows them
};

}  // namespace cleave
