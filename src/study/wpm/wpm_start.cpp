// A goal as a solution of WPM, for CBC to start from.

#include <algorithm>
#include <limits>

#include "study/wpm/wpm_model.hpp"

namespace cleave {

namespace {

class Start {
 public:
  explicit Start(const WpmModel& model) : model_(model), problem_(model.problem) {}

  std::optional<std::vector<double>> of(const Goal& goal) const {
    BinOf bin_of(goal.size(), nowhere);
    std::vector<std::vector<WorkloadIndex>> on(problem_.gpus.size());
    for (WorkloadIndex i = 0; i < goal.size(); ++i)
      if (model_.item_of[i] != none && goal[i]) on[index(goal[i]->gpu)].push_back(i);
    for (std::size_t gpu = 0; gpu < on.size(); ++gpu) seat(gpu, on[gpu], goal, bin_of);
    for (WorkloadIndex i = 0; i < goal.size(); ++i)
      if (model_.item_of[i] != none && bin_of[i] == nowhere && problem_.workloads[i].now) return {};
    order_free(bin_of);
    return as_columns(bin_of);
  }

 private:
  /// The bin of each workload that is to be placed; nowhere: pending.
  using BinOf = std::vector<std::size_t>;
  static constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

  /// Into the partitions that hold their slices; where that does not go, into the GPU's twin.
  void seat(std::size_t gpu, const std::vector<WorkloadIndex>& work, const Goal& goal,
            BinOf& bin_of) const {
    const WpmGpu& it = model_.bins.gpus[gpu];
    std::vector<std::size_t> found;
    for (const WorkloadIndex i : work) {
      const SliceMask slices = problem_.placement(*goal[i]).slices;
      const auto holds = [&](std::size_t bin) {
        return (model_.bins.bins[bin].slices & slices) == slices;
      };
      const auto bin = std::ranges::find_if(it.partitions, holds);
      if (bin != it.partitions.end()) found.push_back(*bin);
    }
    const bool all = found.size() == work.size();
    for (std::size_t k = 0; k < work.size(); ++k)
      bin_of[work[k]] = all ? found[k] : it.whole ? *it.whole : nowhere;
  }

  /// Free GPUs in the order that add_symmetry_rows and is_redundant ask for.
  void order_free(BinOf& bin_of) const {
    struct Load {
      std::size_t bin;
      int compute = 0;
      std::uint32_t first = none;
    };
    std::map<std::size_t, Load> loads;
    for (const std::size_t bin : model_.free) loads[bin].bin = bin;
    for (WorkloadIndex i = 0; i < bin_of.size(); ++i) {
      const auto at = loads.find(bin_of[i]);
      if (at == loads.end()) continue;
      at->second.compute += model_.profile_of(i).compute.value;
      at->second.first = std::min(at->second.first, model_.item_of[i]);
    }
    std::vector<Load> order;
    for (const auto& [bin, load] : loads) order.push_back(load);
    std::ranges::stable_sort(order, [&](const Load& a, const Load& b) {
      return model_.counted ? a.compute > b.compute : a.first < b.first;
    });
    std::map<std::size_t, std::size_t> renamed;
    for (std::size_t i = 0; i < order.size(); ++i) renamed[order[i].bin] = model_.free[i];
    for (std::size_t& bin : bin_of)
      if (const auto at = renamed.find(bin); at != renamed.end()) bin = at->second;
  }

  [[nodiscard]] std::vector<double> as_columns(const BinOf& bin_of) const {
    std::vector<double> x(static_cast<std::size_t>(model_.program.columns()), 0);
    std::map<std::array<std::size_t, 2>, int> column_of;
    for (const WpmAssignment& a : model_.assignments) column_of[{a.item, a.bin}] = a.column;
    const auto at = [&](int column) -> double& { return x[static_cast<std::size_t>(column)]; };
    for (WorkloadIndex i = 0; i < bin_of.size(); ++i) {
      std::size_t item = model_.item_of[i];
      if (item == none) continue;
      if (bin_of[i] == nowhere) {
        ++at(model_.items[item].pending);
        continue;
      }
      const std::size_t gpu = model_.bins.bins[bin_of[i]].gpu;
      const auto home = model_.home_items.find({gpu, model_.items[item].profile});
      if (home != model_.home_items.end() && problem_.workloads[i].now &&
          index(problem_.workloads[i].now->gpu) == gpu)
        item = home->second;
      const auto column = column_of.find({item, bin_of[i]});
      if (column != column_of.end()) ++at(column->second);
    }
    for (std::size_t bin = 0; bin < model_.columns.size(); ++bin) {
      const auto [compute, memory] = model_.held(x, bin);
      const WpmBinColumns& own = model_.columns[bin];
      const int u = model_.bins.bins[bin].compute - compute,
                v = model_.bins.bins[bin].memory - memory;
      at(own.u) = u;
      at(own.v) = v;
      at(own.excess_compute) = std::max(u - v, 0);
      at(own.excess_memory) = u == 0 ? v : 0;
      at(own.delta) = u == 0 ? 0 : 1;
      if (own.used != wpm_absent && compute > 0) at(own.used) = 1;
    }
    return x;
  }

  const WpmModel& model_;
  const PlanProblem& problem_;
};

}  // namespace

std::optional<std::vector<double>> wpm_start(const WpmModel& model, const Goal& goal) {
  return Start(model).of(goal);
}

}  // namespace cleave
