#pragma once
// How many instances of each profile Slurm may be told that a node has: the law of counts.
//
// Slurm knows numbers by profile and nothing of positions. Between two updates it may give away any
// part of what it has been told, in any order, and where an instance then goes is the node's to
// decide. Profiles share slices, so that numbers which are right one by one are wrong together: an
// empty A100 has room for one 4g.20gb or for seven 1g.5gb. The law:
//
//   What Slurm is told beyond what its jobs have can all be made, whatever part of it Slurm takes,
//   in whatever order, and wherever the node puts each instance.
//
// It is kept by arithmetic. For a list of weights y, h_y(state) is the most weight that still fits
// on a GPU (placement/admission.hpp), and a demand d fits on a node if y.d <= sum of h_y for every
// list. An instance of profile t lowers the sum by at most c_y(t), the largest fall that one of t
// causes in any state that can be reached from where the GPUs are. c_y(t) >= y(t), as the instance
// was itself part of what fitted. A promise p is lawful if
//
//     sum over t of p(t) c_y(t)  <=  sum over GPUs of h_y(state)       for every list y.
//
// For then p fits, so its next instance has a place somewhere; wherever that is, the left side
// falls by c_y(t) and the right side by no more, and the rest is lawful still. Lists are cut down
// to the profiles of the promise, which keeps them necessary and sufficient for it (what is not
// promised takes no room). Where no lists are known of a kind of GPU, one profile at a time is
// promised, as many as fit at worst.
//
// The other half of the law is how counts change (NodeUpdate): an update either lowers or raises.
// Slurm may have started a job since it was last looked at, of a profile that is now to be lowered;
// so the rest is raised only when a look after the lowering has shown what was taken. When only
// raised, what was taken meanwhile is part of what is told now.
//
// What is left is between a job's end and the next look. Slurm counts its instance as free at once,
// so another like it may begin and be put elsewhere, and then something that was promised may find
// no place. There is no such race where a node gives an instance the place of its profile that was
// left last and else, where something that was left has to go, takes what was left first: then the
// place of the job that ended is its successor's. Where a node does otherwise, the prolog has the
// job put back in the queue.

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "graph/state_graph.hpp"
#include "placement/admission.hpp"

namespace cleave {

/// The law for one kind of GPU. Not for several threads: tables are made when first needed.
class CountLaw {
 public:
  explicit CountLaw(std::shared_ptr<const StateGraph> graph);

  [[nodiscard]] const StateGraph& graph() const { return *graph_; }
  /// Profiles in the order of Demand.
  [[nodiscard]] const std::vector<const Profile*>& profiles() const { return profiles_; }
  /// Its place in a Demand; nullopt: there is none of this name.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view profile) const;
  [[nodiscard]] Demand nothing() const { return Demand(profiles_.size(), 0); }

  /// Whether `promise` may be told of GPUs in these states.
  [[nodiscard]] bool lawful(std::span<const StateId> gpus, const Demand& promise) const;
  /// Whether it would fit if each instance went to the best place: what every lawful promise does.
  [[nodiscard]] bool fits(std::span<const StateId> gpus, const Demand& demand) const;

 private:
  /// Which profiles a promise names, a bit each.
  using Support = std::uint32_t;
  /// The lists of weights over a support, and what follows for each state.
  struct Table {
    std::size_t rows = 0, columns = 0;
    std::vector<std::size_t> column_of;  // by profile
    std::vector<std::uint8_t> most;      // by state and row
    std::vector<std::uint8_t> fall;      // by state, row and column: c_y from here on
  };
  [[nodiscard]] const Table& table_for(Support support) const;
  [[nodiscard]] Table make_table(Support support) const;
  void fill(Table& table, const std::vector<std::vector<int>>& weights, Support support) const;
  [[nodiscard]] bool has_place(StateId state, std::size_t profile) const;
  [[nodiscard]] bool lawful_alone(std::span<const StateId> gpus, const Demand& promise,
                                  Support support) const;
  /// The fewest instances of the profile after which no more of it fits.
  [[nodiscard]] std::int64_t fewest_alone(StateId state, std::size_t profile) const;

  std::shared_ptr<const StateGraph> graph_;
  std::optional<AdmissionTable> weights_;
  std::vector<const Profile*> profiles_;
  std::vector<std::size_t> profile_of_;  // by placement
  mutable std::map<Support, Table> tables_;
};

}  // namespace cleave
