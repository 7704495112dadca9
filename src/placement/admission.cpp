#include "placement/admission.hpp"

#include <algorithm>
#include <cassert>
#include <map>

#include "base/format.hpp"
#include "base/text.hpp"
#include "model/profile_set.hpp"

namespace cleave {

namespace {

/// A profile as a family of GPUs knows it, whatever its name on one model.
struct Column {
  ComputeSlices compute;
  MemorySlices memory;
  Attribute attribute;
};

// Facets computed with Normaliz 3 from every state of a family and everything that fits into it;
// the Hilbert basis of each cone is its generators: 62 of 62, 1,253 of 1,253, 363 of 363. A row is
// a list of weights, a column a profile.
// clang-format off

// 4 compute and 4 memory slices: A30
constexpr Column four_slices_columns[] = {
    {{4}, {4}, Attribute::none}, {{2}, {2}, Attribute::none},
    {{2}, {2}, Attribute::media}, {{1}, {1}, Attribute::none},
    {{1}, {1}, Attribute::media},
};
constexpr std::uint8_t four_slices_weights[] = {
     4,  2,  2,  1,  1,
     2,  1,  1,  0,  1,
     2,  1,  1,  0,  0,
     1,  0,  1,  0,  1,
     1,  0,  1,  0,  0,
     1,  0,  0,  0,  0,
};

// 7 compute and 8 memory slices: A100, H100, H20, H200, B200 and their kin
constexpr Column eight_slices_columns[] = {
    {{7}, {8}, Attribute::none}, {{4}, {4}, Attribute::none},
    {{3}, {4}, Attribute::none}, {{2}, {2}, Attribute::none},
    {{1}, {2}, Attribute::none}, {{1}, {1}, Attribute::none},
    {{1}, {1}, Attribute::media},
};
constexpr std::uint8_t eight_slices_weights[] = {
    17,  8,  8,  4,  3,  2,  3,
    10,  5,  5,  2,  2,  1,  2,
    10,  5,  4,  2,  2,  1,  2,
     9,  4,  4,  2,  2,  1,  2,
     9,  4,  4,  2,  1,  1,  2,
     8,  4,  4,  2,  2,  1,  1,
     8,  4,  4,  2,  1,  1,  1,
     7,  4,  3,  2,  1,  1,  1,
     4,  2,  2,  1,  1,  0,  1,
     4,  2,  2,  1,  1,  0,  0,
     4,  2,  2,  1,  0,  0,  1,
     4,  2,  2,  1,  0,  0,  0,
     4,  2,  1,  1,  0,  0,  1,
     3,  2,  1,  1,  0,  0,  0,
     2,  1,  1,  0,  0,  0,  1,
     2,  1,  1,  0,  0,  0,  0,
     2,  1,  0,  0,  0,  0,  1,
     1,  1,  0,  0,  0,  0,  0,
     1,  0,  0,  0,  0,  0,  1,
     1,  0,  0,  0,  0,  0,  0,
};

// 4 compute and 12 memory slices: RTX PRO 6000
constexpr Column twelve_slices_columns[] = {
    {{4}, {12}, Attribute::none}, {{4}, {12}, Attribute::graphics},
    {{2}, {6}, Attribute::none}, {{2}, {6}, Attribute::graphics},
    {{2}, {6}, Attribute::all_media}, {{2}, {6}, Attribute::no_media},
    {{1}, {3}, Attribute::none}, {{1}, {3}, Attribute::media},
    {{1}, {3}, Attribute::graphics}, {{1}, {3}, Attribute::all_media},
    {{1}, {3}, Attribute::no_media},
};
constexpr std::uint8_t twelve_slices_weights[] = {
     6,  6,  2,  2,  4,  2,  1,  1,  1,  2,  0,
     5,  5,  2,  2,  3,  2,  1,  1,  1,  1,  0,
     4,  4,  2,  2,  4,  0,  1,  1,  1,  4,  0,
     4,  4,  2,  2,  4,  0,  1,  1,  1,  2,  0,
     4,  4,  2,  2,  4,  0,  1,  1,  1,  1,  0,
     4,  4,  2,  2,  3,  1,  1,  1,  1,  2,  0,
     4,  4,  2,  2,  3,  1,  1,  1,  1,  1,  0,
     4,  4,  2,  2,  3,  0,  1,  1,  1,  3,  0,
     4,  4,  2,  2,  3,  0,  1,  1,  1,  2,  0,
     4,  4,  2,  2,  3,  0,  1,  1,  1,  1,  0,
     4,  4,  2,  2,  2,  2,  1,  1,  1,  2,  0,
     4,  4,  2,  2,  2,  2,  1,  1,  1,  1,  1,
     4,  4,  2,  2,  2,  2,  1,  1,  1,  1,  0,
     4,  4,  2,  2,  2,  1,  1,  1,  1,  2,  0,
     4,  4,  2,  2,  2,  0,  1,  1,  1,  2,  0,
     4,  4,  2,  2,  2,  0,  1,  1,  1,  1,  0,
     3,  3,  1,  1,  2,  1,  0,  1,  0,  1,  0,
     2,  2,  1,  1,  2,  0,  0,  1,  0,  2,  0,
     2,  2,  1,  1,  2,  0,  0,  1,  0,  1,  0,
     2,  2,  1,  1,  2,  0,  0,  0,  0,  2,  0,
     2,  2,  1,  1,  2,  0,  0,  0,  0,  0,  0,
     2,  2,  1,  1,  1,  1,  0,  1,  0,  1,  0,
     2,  2,  1,  1,  1,  1,  0,  0,  0,  1,  0,
     2,  2,  1,  1,  1,  1,  0,  0,  0,  0,  0,
     2,  2,  1,  1,  1,  0,  0,  1,  0,  1,  0,
     2,  2,  1,  1,  1,  0,  0,  0,  0,  1,  0,
     2,  2,  1,  1,  1,  0,  0,  0,  0,  0,  0,
     1,  1,  0,  0,  1,  0,  0,  1,  0,  1,  0,
     1,  1,  0,  0,  1,  0,  0,  0,  0,  1,  0,
     1,  1,  0,  0,  1,  0,  0,  0,  0,  0,  0,
     1,  1,  0,  0,  0,  0,  0,  0,  0,  0,  0,
};
// clang-format on

struct Family {
  ComputeSlices compute;
  MemorySlices memory;
  std::span<const Column> columns;
  std::span<const std::uint8_t> weights;
};

constexpr Family families[] = {
    {{4}, {4}, four_slices_columns, four_slices_weights},
    {{7}, {8}, eight_slices_columns, eight_slices_weights},
    {{4}, {12}, twelve_slices_columns, twelve_slices_weights},
};

/// The family's column of each profile; empty when one has none or starts elsewhere than its family
/// does.
std::vector<std::size_t> columns_of(const Family& family, const Geometry& geometry) {
  std::vector<std::size_t> columns;
  for (const Profile* profile : geometry.profile_list()) {
    const auto same = [&](const Column& column) {
      return column.compute == profile->compute && column.memory == profile->memory &&
             column.attribute == profile->attribute;
    };
    const auto found = std::ranges::find_if(family.columns, same);
    if (found == family.columns.end()) return {};
    columns.push_back(static_cast<std::size_t>(found - family.columns.begin()));
  }
  return columns;
}

}  // namespace

std::optional<AdmissionTable> AdmissionTable::make(std::shared_ptr<const StateGraph> graph) {
  const Geometry& geometry = graph->geometry();
  const auto family = std::ranges::find_if(families, [&](const Family& candidate) {
    return candidate.compute == geometry.model().compute &&
           candidate.memory == geometry.model().memory_slices;
  });
  if (family == std::end(families) || !graph->pairwise()) return std::nullopt;
  const std::vector<std::size_t> columns = columns_of(*family, geometry);
  if (columns.empty()) return std::nullopt;

  AdmissionTable table;
  table.graph_ = std::move(graph);
  table.profiles_ = columns.size();
  table.weights_ = family->weights.size() / family->columns.size();
  for (std::size_t k = 0; k < table.weights_; ++k)
    for (const std::size_t column : columns)
      table.weight_.push_back(family->weights[k * family->columns.size() + column]);

  // What fits into a state is what fits after one more instance, and that instance; larger states
  // come first.
  const StateGraph& states = *table.graph_;
  std::vector<std::size_t> profile_of;
  const auto profiles = states.geometry().profile_list();
  for (const PlacementId id : states.geometry().all())
    profile_of.push_back(static_cast<std::size_t>(
        std::ranges::find(profiles, states.geometry()[id].profile) - profiles.begin()));
  table.most_.assign(static_cast<std::size_t>(states.size()) * table.weights_, 0);
  for (int i = states.size(); i-- > 0;) {
    const auto state = static_cast<StateId>(i);
    for (const PlacementId id : states.free(state)) {
      const std::uint8_t* after = table.most(states.add(state, id));
      for (std::size_t k = 0; k < table.weights_; ++k) {
        std::uint8_t& most = table.most_[state * table.weights_ + k];
        most =
            std::max(most, static_cast<std::uint8_t>(after[k] + table.weight(k, profile_of[id])));
      }
    }
  }
  return table;
}

std::int64_t AdmissionSums::missing(const Demand& demand) const {
  assert(demand.size() == table_->profiles());
  const std::uint8_t* empty = table_->most(0);
  std::int64_t most = 0;
  for (std::size_t k = 0; k < sums_.size(); ++k) {
    std::int64_t wanted = -sums_[k];
    for (std::size_t profile = 0; profile < demand.size(); ++profile)
      wanted += table_->weight(k, profile) * demand[profile];
    // Weight that is wanted above nothing is of a profile that an empty GPU holds, so `empty` is
    // not zero there.
    if (wanted > 0) most = std::max(most, (wanted + empty[k] - 1) / empty[k]);
  }
  return most;
}

namespace {

/// One model of the fleet: its sums, and what of the batch is its own.
struct Model {
  AdmissionTable table;
  std::optional<AdmissionSums> sums;
  Demand demand;
};

/// A requested profile that several models have.
struct Shared {
  std::int64_t count;
  std::vector<std::pair<std::size_t, std::size_t>> places;  // model, profile in its list
};

constexpr std::size_t longest_search = 5'000'000;

/// Shares the profiles out in every way until one needs no more GPUs, and keeps the least number.
/// The models that get no GPUs must hold what they are given; more for one model never needs fewer
/// GPUs, so a share is given up as soon as its model is full.
class Search {
 public:
  Search(std::vector<Model>& models, const std::vector<Shared>& shared, std::size_t added)
      : models_(models), shared_(shared), added_(added) {}

  /// False when it took too long.
  bool run() {
    share(0, 0, shared_.empty() ? 0 : shared_[0].count);
    return least == 0 || steps_ <= longest_search;
  }
  std::optional<std::int64_t> least;

 private:
  void share(std::size_t which, std::size_t place, std::int64_t left) {
    if (over()) return;
    if (which == shared_.size()) return finish();
    const Shared& profile = shared_[which];
    const std::size_t places_left = profile.places.size() - place;
    if (places_left == 1) {
      const std::size_t next = which + 1;
      if (give(which, place, left)) share(next, 0, next < shared_.size() ? shared_[next].count : 0);
      take(which, place, left);
    } else if (places_left == 2 && which + 1 == shared_.size()) {
      // Nothing else is open: the more the first takes, the better for the second.
      const std::int64_t most = most_for(which, place, left);
      if (give(which, place, most)) share(which, place + 1, left - most);
      take(which, place, most);
    } else {
      for (std::int64_t part = 0; part <= left && !over(); ++part) {
        const bool room = give(which, place, part);
        if (room) share(which, place + 1, left - part);
        take(which, place, part);
        if (!room) return;
      }
    }
  }

  bool over() { return least == 0 || ++steps_ > longest_search; }

  /// Whether the model has room for it; the model that is added to always has.
  bool give(std::size_t which, std::size_t place, std::int64_t part) {
    const auto& [model, profile] = shared_[which].places[place];
    models_[model].demand[profile] += part;
    return model == added_ || models_[model].sums->missing(models_[model].demand) == 0;
  }
  void take(std::size_t which, std::size_t place, std::int64_t part) {
    const auto& [model, profile] = shared_[which].places[place];
    models_[model].demand[profile] -= part;
  }

  /// The most that a model has room for, by bisection.
  std::int64_t most_for(std::size_t which, std::size_t place, std::int64_t left) {
    std::int64_t fits = 0, too_many = left + 1;
    while (too_many - fits > 1) {
      const std::int64_t middle = fits + (too_many - fits) / 2;
      (give(which, place, middle) ? fits : too_many) = middle;
      take(which, place, middle);
    }
    return fits;
  }

  void finish() {
    const std::int64_t needed = models_[added_].sums->missing(models_[added_].demand);
    if (!least || needed < *least) least = needed;
  }

  std::vector<Model>& models_;
  const std::vector<Shared>& shared_;
  std::size_t added_, steps_ = 0;
};

/// The same placements under the same names, one for one, so that states have the same numbers.
bool cut_alike(const Geometry& a, const Geometry& b) {
  if (a.size() != b.size() || a.model().memory_slices != b.model().memory_slices ||
      a.model().compute != b.model().compute)
    return false;
  for (const PlacementId id : a.all())
    if (a[id].profile->name != b[id].profile->name || a[id].start != b[id].start ||
        a[id].conflicts != b[id].conflicts)
      return false;
  return true;
}

/// GPUs of different models that are cut alike are one kind here, under the first of them.
std::size_t same_as_before(const std::vector<std::shared_ptr<const StateGraph>>& graphs,
                           std::size_t model) {
  for (std::size_t other = 0; other < model; ++other)
    if (cut_alike(graphs[other]->geometry(), graphs[model]->geometry())) return other;
  return model;
}

}  // namespace

Result<AdmissionAnswer> admit(const Fleet& fleet, const std::vector<BatchRequest>& batch,
                              std::size_t added) {
  const auto& graphs = fleet.graphs();
  const bool narrowed = std::ranges::any_of(
      batch, [](const BatchRequest& r) { return r.profile.find(':') != std::string::npos; });
  std::vector<std::size_t> stands_for;
  for (std::size_t i = 0; i < graphs.size(); ++i)
    stands_for.push_back(narrowed ? i : same_as_before(graphs, i));

  std::vector<Model> models;
  for (const auto& graph : graphs) {
    auto table = AdmissionTable::make(graph);
    if (!table)
      return fail(ErrorKind::infeasible, "",
                  fmt::format("no exact answer is known for a GPU cut like the {}",
                              graph->geometry().model().key));
    Demand none(table->profiles(), 0);
    models.push_back({std::move(*table), std::nullopt, std::move(none)});
  }
  for (Model& model : models) model.sums.emplace(model.table);
  for (const GpuState& gpu : fleet.gpus())
    if (!gpu.absent) models[stands_for[gpu.kind]].sums->add(gpu.occupied);

  added = stands_for[added];
  // Requests for the same places are one, however the batch is written.
  std::map<std::vector<std::pair<std::size_t, std::size_t>>, std::int64_t> counts;
  for (const BatchRequest& request : batch) {
    Shared wanted{request.count, {}};
    for (std::size_t model = 0; model < models.size(); ++model) {
      if (stands_for[model] != model) continue;
      const Geometry& geometry = graphs[model]->geometry();
      const auto profiles = geometry.profile_list();
      for (std::size_t p = 0; p < profiles.size(); ++p)
        if (means_profile(request.profile, geometry.model(), *profiles[p]))
          wanted.places.emplace_back(model, p);
    }
    if (wanted.places.empty())
      return fail(ErrorKind::bad_input, "",
                  fmt::format("no GPU of this fleet has a profile '{}'", shown(request.profile)));
    // The model that is added to comes last and takes what the others have no room for.
    std::ranges::stable_partition(wanted.places,
                                  [&](const auto& place) { return place.first != added; });
    counts[wanted.places] += wanted.count;
  }
  std::vector<Shared> shared;
  for (const auto& [places, count] : counts) {
    if (count == 0) continue;
    if (places.size() == 1) {
      models[places[0].first].demand[places[0].second] += count;
    } else {
      shared.push_back({count, places});
    }
  }

  for (std::size_t model = 0; model < models.size(); ++model)
    if (model != added && models[model].sums->missing(models[model].demand) > 0)
      return AdmissionAnswer{false, std::nullopt, "closed form"};
  Search search(models, shared, added);
  if (!search.run())
    return fail(ErrorKind::infeasible, "",
                "too many ways to share the batch out among the models of this fleet",
                "narrow profiles with MODEL:PROFILE, or admit the batch in parts");
  const std::optional<std::int64_t> least = search.least;
  return AdmissionAnswer{least == 0, least, shared.empty() ? "closed form" : "search"};
}

}  // namespace cleave
