#pragma once
// Does a whole batch of requests fit on a fleet as it stands, without moving anything; and if not,
// how many more empty GPUs would it take, exactly? Requests go by profile; idle instances of ours
// give way.
//
// The answer is a closed formula. Give each profile a weight y >= 0 and let h_y(state) be the most
// weight that still fits on a GPU in a state. Whatever the weights, a batch of demand d needs at
// least
//
//     n_y = ceil( ( y.d - sum over GPUs of h_y(state) ) / h_y(empty) )
//
// more GPUs. For each family of GPUs there is a short list of weights of which the largest n_y is
// not only a bound but the answer. The lists are the facets of the cone that the pairs (state, what
// fits into it) generate; that no batch escapes them is the integer decomposition property of that
// cone: its Hilbert basis holds nothing but those pairs. Both were computed with Normaliz for every
// state of every family, all profiles, and are held by exhaustive search in admission_test.cpp. A
// subset of a family's profiles is served by the same list: demand for the others is zero.
//
// With the sums kept while GPUs change, an answer costs a few dozen multiplications whatever the
// size of the fleet.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "graph/state_graph.hpp"
#include "placement/fleet.hpp"

namespace cleave {

/// Of each profile of a geometry (in the order of profile_list) how many instances are wanted.
using Demand = std::vector<std::int64_t>;

/// The weights of one geometry, and for every state the most weight that still fits.
class AdmissionTable {
 public:
  /// nullopt where no list of weights is known for this kind of GPU.
  static std::optional<AdmissionTable> make(std::shared_ptr<const StateGraph> graph);

  [[nodiscard]] const StateGraph& graph() const { return *graph_; }
  [[nodiscard]] std::size_t weights() const { return weights_; }
  [[nodiscard]] std::size_t profiles() const { return profiles_; }
  /// Weight of a profile under the k-th list.
  [[nodiscard]] std::int64_t weight(std::size_t k, std::size_t profile) const {
    return weight_[k * profiles_ + profile];
  }
  /// h_y(state) for all y, one after the other.
  [[nodiscard]] const std::uint8_t* most(StateId state) const { return &most_[state * weights_]; }

 private:
  std::shared_ptr<const StateGraph> graph_;
  std::size_t weights_ = 0, profiles_ = 0;
  std::vector<std::int64_t> weight_;
  std::vector<std::uint8_t> most_;
};

/// The sums over the GPUs of one model, kept while they change.
class AdmissionSums {
 public:
  explicit AdmissionSums(const AdmissionTable& table) : table_(&table), sums_(table.weights(), 0) {}

  /// A GPU in this state of occupation joins or leaves; a change is one of each.
  void add(StateId state) {
    const std::uint8_t* most = table_->most(state);
    for (std::size_t k = 0; k < sums_.size(); ++k) sums_[k] += most[k];
  }
  void remove(StateId state) {
    const std::uint8_t* most = table_->most(state);
    for (std::size_t k = 0; k < sums_.size(); ++k) sums_[k] -= most[k];
  }

  /// How many more empty GPUs the demand takes; 0: it fits. Asserts a number for each profile.
  [[nodiscard]] std::int64_t missing(const Demand& demand) const;

 private:
  const AdmissionTable* table_;
  std::vector<std::int64_t> sums_;
};

/// A number of instances of one profile.
struct BatchRequest {
  std::string profile;  // as in ByProfile
  std::int64_t count = 0;
};

/// Whether a batch fits, and what is missing where it does not.
struct AdmissionAnswer {
  bool fits = false;
  std::optional<std::int64_t>
      missing_gpus;      // of the model that is added; nullopt: no number of those helps
  std::string exact_by;  // "closed form", or "search" where a profile may go to several models
};

/// `added` is the model of the GPUs that may be added, an index into fleet.graphs(). On mixed
/// fleets a profile that several models have is shared out among them, by search over how many go
/// where. Fails when the profile is unknown, when no weights are known for a model, or when the
/// search would be too long.
[[nodiscard]] Result<AdmissionAnswer> admit(const Fleet& fleet,
                                            const std::vector<BatchRequest>& batch,
                                            std::size_t added);

}  // namespace cleave
