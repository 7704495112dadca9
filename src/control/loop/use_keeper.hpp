#pragma once
// Reads what GPUs' counters of energy say each time that a GPU is observed, has
// verdicts/use_verdicts.hpp divide it, and notes the parts for the store: once a minute for each
// GPU, and when an attempt there has ended. What is noted of a GPU is noted together with the
// reading up to which it counts, so that a daemon that begins goes on from there: nothing counts
// twice, and nothing is lost but what no counter tells.

#include "control/book/book.hpp"
#include "control/clock.hpp"
#include "control/node/node_state.hpp"

namespace cleave {

/// How long the use of what runs is kept in memory only, at most.
inline constexpr Duration use_noted_every = std::chrono::minutes(1);

/// Keeps the meters of GPUs.
class UseKeeper {
 public:
  /// All must outlive it.
  UseKeeper(const Clock& clock, NodeState& node, Book& book)
      : clock_(clock), node_(node), book_(book) {}

  /// Goes on where earlier daemons were, unless the machine was started again since: counters
  /// begin anew then.
  void recall(const StoredSettings& stored, bool rebooted);
  /// The GPU was observed, and the node knows what was seen.
  void read(GpuId gpu);

 private:
  void note(GpuId gpu);
  void note_job(JobNumber job, const JobEnergy& energy);
  void tell_doubt(GpuId gpu, const std::string& doubt);

  const Clock& clock_;
  NodeState& node_;
  Book& book_;
};

}  // namespace cleave
