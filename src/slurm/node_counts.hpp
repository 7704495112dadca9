#pragma once
// Node mode: Slurm chooses the node by counts, and these follow what the GPUs have room for.
//
// A count is what jobs have plus what is promised. Of what the law of counts leaves open
// (slurm/count_law.hpp), the promise of a node is chosen in this order:
//
//   1. jobs that wait, as Slurm orders them, each on the first node with room for it;
//   2. what the node has been told before, so that counts do not change without need;
//   3. one of each profile in turn, from large to small, so that new jobs start at once.
//
// Slurm plans nothing for a profile of which no node has any, and would let smaller jobs pass a
// large one for ever. So the first job that has no node is kept one: where it will have room
// earliest, by the time limits of what runs there, and what is promised there must leave that room
// lawful then.

#include <string>
#include <string_view>
#include <vector>

#include "slurm/count_law.hpp"
#include "slurm/node_view.hpp"

namespace cleave {

/// What one node is to be told. Either no count rises, or none falls.
struct NodeUpdate {
  std::string node;
  GresCounts counts;  // of all profiles that Slurm knows of the node
  bool lowers = false;
  friend bool operator==(const NodeUpdate&, const NodeUpdate&) = default;
};

/// How counts are chosen.
struct CountRules {
  std::string template_nodes = "cleave-template[1-4]";  // has every profile and never runs a job
  std::size_t most_raised = 100;  // nodes whose counts rise in one round; all that must fall, fall
  bool spare = true;              // rule 3
};

/// Which job is kept which node, and from when it is expected to have room.
struct KeptNode {
  std::int64_t job = 0;
  std::string node;
  std::optional<Instant> from;  // empty: not known
};

/// A round of node mode.
struct CountRound {
  std::vector<NodeUpdate> updates;    // those that lower first
  std::vector<std::int64_t> hurried;  // jobs that were put back and need not wait for that
  std::optional<KeptNode> kept;
};

/// The laws of the kinds of GPU that occur, made once.
class CountLaws {
 public:
  [[nodiscard]] const CountLaw& of(const std::shared_ptr<const StateGraph>& graph);

 private:
  std::map<const StateGraph*, std::unique_ptr<CountLaw>> laws_;
};

/// What nodes are to be told now.
[[nodiscard]] CountRound count_round(const std::vector<NodeView>& views,
                                     const std::vector<const SlurmJob*>& waiting, Instant now,
                                     const CountRules& rules, CountLaws& laws);

/// The update that leads towards `wanted` without raising and lowering at once; nullopt: the node
/// has been told that already.
[[nodiscard]] std::optional<NodeUpdate> towards(const std::string& node, const GresCounts& told,
                                                const GresCounts& wanted);

}  // namespace cleave
