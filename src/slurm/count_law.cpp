#include "slurm/count_law.hpp"

#include <algorithm>
#include <set>

namespace cleave {

CountLaw::CountLaw(std::shared_ptr<const StateGraph> graph)
    : graph_(std::move(graph)),
      weights_(AdmissionTable::make(graph_)),
      profiles_(graph_->geometry().profile_list()) {
  const Geometry& geometry = graph_->geometry();
  for (const PlacementId id : geometry.all())
    profile_of_.push_back(static_cast<std::size_t>(
        std::ranges::find(profiles_, geometry[id].profile) - profiles_.begin()));
}

std::optional<std::size_t> CountLaw::find(std::string_view profile) const {
  for (std::size_t i = 0; i < profiles_.size(); ++i)
    if (profiles_[i]->name == profile) return i;
  return std::nullopt;
}

const CountLaw::Table& CountLaw::table_for(Support support) const {
  const auto found = tables_.find(support);
  return found != tables_.end() ? found->second
                                : tables_.emplace(support, make_table(support)).first->second;
}

CountLaw::Table CountLaw::make_table(Support support) const {
  Table table;
  std::vector<std::size_t> columns;
  for (std::size_t t = 0; t < profiles_.size(); ++t) {
    table.column_of.push_back(columns.size());
    if ((support >> t & 1U) != 0) columns.push_back(t);
  }
  table.columns = columns.size();
  // Lists that differ only in what is not promised are one, and a list of zeros says nothing.
  std::set<std::vector<int>> known;
  std::vector<std::vector<int>> weights;
  for (std::size_t k = 0; k < weights_->weights(); ++k) {
    std::vector<int> list;
    for (const std::size_t t : columns) list.push_back(static_cast<int>(weights_->weight(k, t)));
    if (std::ranges::any_of(list, [](int y) { return y > 0; }) && known.insert(list).second)
      weights.push_back(std::move(list));
  }
  table.rows = weights.size();
  fill(table, weights, support);
  return table;
}

/// Larger states have higher numbers, so that each state finds what follows from it.
void CountLaw::fill(Table& table, const std::vector<std::vector<int>>& weights,
                    Support support) const {
  const std::size_t rows = table.rows, columns = table.columns;
  const auto states = static_cast<std::size_t>(graph_->size());
  table.most.assign(states * rows, 0);
  table.fall.assign(states * rows * columns, 0);
  for (std::size_t state = states; state-- > 0;) {
    std::uint8_t* most = &table.most[state * rows];
    std::uint8_t* fall = &table.fall[state * rows * columns];
    const PlacementSet free = graph_->free(static_cast<StateId>(state));
    const auto each_next = [&](const auto& act) {
      for (const PlacementId id : free)
        if ((support >> profile_of_[id] & 1U) != 0)
          act(table.column_of[profile_of_[id]], graph_->add(static_cast<StateId>(state), id));
    };
    each_next([&](std::size_t column, StateId next) {
      for (std::size_t k = 0; k < rows; ++k)
        most[k] = std::max<std::uint8_t>(
            most[k], static_cast<std::uint8_t>(table.most[next * rows + k] + weights[k][column]));
    });
    each_next([&](std::size_t column, StateId next) {
      for (std::size_t k = 0; k < rows; ++k) {
        std::uint8_t& here = fall[k * columns + column];
        here = std::max<std::uint8_t>(
            here, static_cast<std::uint8_t>(most[k] - table.most[next * rows + k]));
        for (std::size_t c = 0; c < columns; ++c)
          fall[k * columns + c] =
              std::max(fall[k * columns + c], table.fall[(next * rows + k) * columns + c]);
      }
    });
  }
}

std::int64_t CountLaw::fewest_alone(StateId state, std::size_t profile) const {
  std::int64_t fewest = -1;
  for (const PlacementId id : graph_->free(state)) {
    if (profile_of_[id] != profile) continue;
    const std::int64_t more = 1 + fewest_alone(graph_->add(state, id), profile);
    fewest = fewest < 0 ? more : std::min(fewest, more);
  }
  return std::max<std::int64_t>(fewest, 0);
}

bool CountLaw::has_place(StateId state, std::size_t profile) const {
  for (const PlacementId id : graph_->free(state))
    if (profile_of_[id] == profile) return true;
  return false;
}

/// One profile at a time, where no lists are known.
bool CountLaw::lawful_alone(std::span<const StateId> gpus, const Demand& promise,
                            Support support) const {
  if ((support & (support - 1)) != 0) return false;
  const auto only = static_cast<std::size_t>(std::countr_zero(support));
  std::int64_t sum = 0;
  for (const StateId gpu : gpus) sum += fewest_alone(gpu, only);
  return promise[only] <= sum;
}

bool CountLaw::lawful(std::span<const StateId> gpus, const Demand& promise) const {
  Support support = 0;
  for (std::size_t t = 0; t < promise.size(); ++t)
    if (promise[t] > 0) support |= Support{1} << t;
  if (support == 0) return true;
  if (!weights_) return lawful_alone(gpus, promise, support);
  const Table& table = table_for(support);
  for (std::size_t k = 0; k < table.rows; ++k) {
    std::int64_t room = 0, taken = 0;
    for (const StateId gpu : gpus) room += table.most[gpu * table.rows + k];
    for (std::size_t t = 0; t < promise.size(); ++t) {
      if (promise[t] <= 0) continue;
      std::uint8_t fall = 0;
      for (const StateId gpu : gpus)
        fall =
            std::max(fall, table.fall[(gpu * table.rows + k) * table.columns + table.column_of[t]]);
      taken += promise[t] * fall;
    }
    if (taken > room) return false;
  }
  // A profile that fits nowhere falls by nothing in any list.
  for (std::size_t t = 0; t < promise.size(); ++t)
    if (promise[t] > 0 &&
        std::ranges::none_of(gpus, [&](StateId gpu) { return has_place(gpu, t); }))
      return false;
  return true;
}

bool CountLaw::fits(std::span<const StateId> gpus, const Demand& demand) const {
  if (!weights_) return lawful(gpus, demand);
  AdmissionSums sums(*weights_);
  for (const StateId gpu : gpus) sums.add(gpu);
  return sums.missing(demand) <= 0;
}

}  // namespace cleave
