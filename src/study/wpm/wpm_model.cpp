#include "study/wpm/wpm_model.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "planner/metrics.hpp"

namespace cleave {

namespace {

class Builder {
 public:
  Builder(const PlanProblem& problem, bool counted)
      : problem_(problem),
        geometry_(problem.graphs[0]->geometry()),
        model_{.problem = problem, .counted = counted, .bins = wpm_bins(problem)} {
    model_.columns.resize(model_.bins.bins.size());
    model_.by_bin.resize(model_.bins.bins.size());
    for (std::size_t bin = 0; bin < model_.bins.bins.size(); ++bin)
      if (model_.bins.bins[bin].kind == WpmBinKind::free) model_.free.push_back(bin);
    model_.fixed_waste = fixed_waste();
  }

  WpmModel make() {
    make_items();
    weigh();
    add_used_columns();
    add_items();
    for (std::size_t bin = 0; bin < model_.bins.bins.size(); ++bin) add_bin(bin);
    add_media_rows();
    add_symmetry_rows();
    add_least_rows();
    return std::move(model_);
  }

 private:
  /// Everything that is to be placed; what stays is in the bins already.
  void make_items() {
    model_.item_of.assign(problem_.workloads.size(), none);
    std::map<const Profile*, std::size_t> anywhere;
    for (WorkloadIndex i = 0; i < problem_.workloads.size(); ++i) {
      const PlanWorkload& workload = problem_.workloads[i];
      if (workload.stays) continue;
      const Profile& profile = model_.profile_of(i);
      const std::optional<std::size_t> home =
          workload.now ? std::optional(index(workload.now->gpu)) : std::nullopt;
      if (home) model_.movable_memory += profile.memory.value;
      if (!model_.counted) {
        model_.item_of[i] = static_cast<std::uint32_t>(model_.items.size());
        model_.items.push_back({&profile, 1, home ? 0 : 1, home, false, wpm_absent, wpm_absent});
        continue;
      }
      const auto [known, fresh] = anywhere.try_emplace(&profile, model_.items.size());
      if (fresh)
        model_.items.push_back({&profile, 0, 0, std::nullopt, false, wpm_absent, wpm_absent});
      model_.item_of[i] = static_cast<std::uint32_t>(known->second);
      ++model_.items[known->second].count;
      if (!home) ++model_.items[known->second].fresh;
      if (!home) continue;
      const auto [place, first] =
          model_.home_items.try_emplace({*home, &profile}, model_.items.size());
      if (first) model_.items.push_back({&profile, 0, 0, home, true, wpm_absent, wpm_absent});
      ++model_.items[place->second].count;
    }
  }

  /// The most that can be wasted in a bin, over everything that it holds by size.
  [[nodiscard]] int most_waste(const WpmBin& bin) const {
    int most = 0;
    std::vector<std::vector<char>> reached(static_cast<std::size_t>(bin.compute) + 1);
    for (auto& row : reached) row.assign(static_cast<std::size_t>(bin.memory) + 1, 0);
    reached[0][0] = 1;
    for (std::size_t c = 0; c < reached.size(); ++c)
      for (std::size_t m = 0; m < reached[c].size(); ++m) {
        if (reached[c][m] == 0) continue;
        most = std::max(most, wpm_wasted(bin, static_cast<int>(c), static_cast<int>(m)));
        for (const WpmItem& item : model_.items) {
          const std::size_t c2 = c + static_cast<std::size_t>(item.profile->compute.value);
          const std::size_t m2 = m + static_cast<std::size_t>(item.profile->memory.value);
          if (c2 < reached.size() && m2 < reached[c].size()) reached[c2][m2] = 1;
        }
      }
    return most;
  }

  /// Each unit dearer than all that follows it can come to.
  void weigh() {
    double most = 0;
    double choosable = 0, twins = 0;
    std::map<std::array<int, 2>, int> known;
    for (const WpmBin& bin : model_.bins.bins) {
      const auto [at, fresh] = known.try_emplace({bin.compute, bin.memory}, 0);
      if (fresh) at->second = most_waste(bin);
      most += at->second;
      if (bin.kind == WpmBinKind::imaginary) ++twins;
    }
    for (const WpmGpu& gpu : model_.bins.gpus) choosable += gpu.in_use ? 0 : 1;
    if (problem_.kind == ProblemKind::reconfigure) {
      model_.weights.migration = 1;
      model_.weights.repartition = 1 + static_cast<double>(model_.movable_memory);
      model_.weights.waste =
          1 + model_.weights.repartition * twins + static_cast<double>(model_.movable_memory);
    } else {
      model_.weights.repartition = 1;
      model_.weights.migration = 1 + twins;
      model_.weights.waste =
          1 + twins + model_.weights.migration * static_cast<double>(model_.movable_memory);
    }
    model_.weights.gpus = model_.weights.waste * (1 + most);
    model_.weights.pending = model_.weights.gpus * (1 + std::min(choosable, most_saved(choosable)));
  }

  /// How many GPUs more than the least by memory could be in use: what one pending slice could ever
  /// save.
  [[nodiscard]] double most_saved(double choosable) const {
    double demand = 0, partitions = 0;
    for (WorkloadIndex i = 0; i < problem_.workloads.size(); ++i)
      if (!problem_.workloads[i].stays) demand += model_.profile_of(i).memory.value;
    for (const WpmGpu& gpu : model_.bins.gpus)
      if (gpu.in_use)
        for (const std::size_t bin : gpu.partitions) partitions += model_.bins.bins[bin].memory;
    const double least = std::ceil((demand - partitions) / geometry_.model().memory_slices.value);
    return choosable - std::max(least, 0.0) + 2;
  }

  void add_used_columns() {
    for (const WpmGpu& gpu : model_.bins.gpus) {
      if (gpu.in_use) {
        model_.constant += model_.weights.gpus;
        continue;
      }
      int whole = wpm_absent, parts = wpm_absent;
      if (gpu.whole) {
        const bool twin = model_.bins.bins[*gpu.whole].kind == WpmBinKind::imaginary;
        whole = model_.program.add_column(
            0, 1, true, model_.weights.gpus + (twin ? model_.weights.repartition : 0));
        model_.columns[*gpu.whole].used = whole;
      }
      if (!gpu.partitions.empty()) {
        parts = model_.program.add_column(0, 1, true, model_.weights.gpus);
        for (const std::size_t bin : gpu.partitions) model_.columns[bin].used = parts;
      }
      if (whole == wpm_absent || parts == wpm_absent) continue;
      model_.program.add_row(-WpmProgram::infinite, 1);  // (2h)
      model_.program.put(whole, 1);
      model_.program.put(parts, 1);
    }
    model_.constant += model_.weights.waste * static_cast<double>(model_.fixed_waste);
    model_.constant += model_.weights.migration * static_cast<double>(model_.movable_memory);
  }

  [[nodiscard]] std::int64_t fixed_waste() const {
    std::int64_t sum = 0;
    for (std::size_t gpu = 0; gpu < problem_.gpus.size(); ++gpu) {
      for (const PlacementId id : problem_.gpus[gpu].walls) sum += waste(geometry_, id).slices();
      for (const WorkloadIndex i : problem_.running_on(static_cast<GpuId>(gpu)))
        if (problem_.workloads[i].stays)
          sum += waste(geometry_, problem_.workloads[i].now->placement).slices();
    }
    return sum;
  }

  /// x, and (2e).
  void add_items() {
    for (std::size_t item = 0; item < model_.items.size(); ++item) {
      const WpmItem& it = model_.items[item];
      if (it.only_home) {
        for (const std::size_t bin : bins_of(*it.home)) assign(item, bin);
        continue;
      }
      for (std::size_t bin = 0; bin < model_.bins.bins.size(); ++bin)
        if (!is_redundant(item, bin)) assign(item, bin);
      if (it.fresh > 0)
        model_.items[item].pending =
            model_.program.add_column(0, static_cast<double>(it.fresh), true,
                                      model_.weights.pending * it.profile->memory.value);
    }
    for (std::size_t item = 0; item < model_.items.size(); ++item) {
      const WpmItem& it = model_.items[item];
      const auto count = static_cast<double>(it.count);
      model_.items[item].row =
          model_.program.add_row(it.only_home ? -WpmProgram::infinite : count, count);
      if (it.pending != wpm_absent) model_.program.put(it.pending, 1);
      for (const WpmAssignment& x : model_.assignments)
        if (x.item == item || (!it.only_home && model_.items[x.item].only_home &&
                               model_.items[x.item].profile == it.profile))
          model_.program.put(x.column, 1);
    }
  }

  [[nodiscard]] std::vector<std::size_t> bins_of(std::size_t gpu) const {
    std::vector<std::size_t> all = model_.bins.gpus[gpu].partitions;
    if (model_.bins.gpus[gpu].whole) all.push_back(*model_.bins.gpus[gpu].whole);
    return all;
  }

  /// Free GPUs are alike: numbered by the first workload they hold, the k-th never holds an earlier
  /// one.
  [[nodiscard]] bool is_redundant(std::size_t item, std::size_t bin) const {
    if (model_.counted || model_.bins.bins[bin].kind != WpmBinKind::free) return false;
    const auto rank = std::ranges::lower_bound(model_.free, bin) - model_.free.begin();
    return static_cast<std::size_t>(rank) > item;
  }

  void assign(std::size_t item, std::size_t bin) {
    const WpmItem& it = model_.items[item];
    const WpmBin& into = model_.bins.bins[bin];
    const std::int64_t most =
        std::min<std::int64_t>({it.count, into.compute / it.profile->compute.value,
                                into.memory / it.profile->memory.value});
    if (most == 0) return;
    const bool stays = it.home && *it.home == into.gpu;
    const int column =
        model_.program.add_column(0, static_cast<double>(most), true,
                                  stays ? -model_.weights.migration * it.profile->memory.value : 0);
    model_.by_bin[bin].push_back(model_.assignments.size());
    model_.assignments.push_back({item, bin, column});
  }

  /// (2b) to (2d) with (2f) and (2g), then (2i) to (2k).
  void add_bin(std::size_t bin) {
    const WpmBin& it = model_.bins.bins[bin];
    WpmBinColumns& own = model_.columns[bin];
    own.u = model_.program.add_column(0, it.compute, false, 0);
    own.v = model_.program.add_column(0, it.memory, false, 0);
    own.excess_compute = model_.program.add_column(0, it.compute, false, model_.weights.waste);
    own.excess_memory = model_.program.add_column(0, it.memory, false, model_.weights.waste);
    own.delta = model_.program.add_column(0, 1, true, 0);
    add_knapsack(bin, own.u, it.compute, true);
    add_knapsack(bin, own.v, it.memory, false);
    model_.program.add_row(-WpmProgram::infinite, 0);
    model_.program.put(own.u, 1);
    model_.program.put(own.v, -1);
    model_.program.put(own.excess_compute, -1);
    model_.program.add_row(0, WpmProgram::infinite);
    model_.program.put(own.u, 1);
    model_.program.put(own.delta, -1);
    model_.program.add_row(-WpmProgram::infinite, 0);
    model_.program.put(own.u, 1);
    model_.program.put(own.delta, -it.compute);
    model_.program.add_row(-WpmProgram::infinite, 0);
    model_.program.put(own.v, 1);
    model_.program.put(own.delta, -it.memory);
    model_.program.put(own.excess_memory, -1);
  }

  void add_knapsack(std::size_t bin, int slack, int capacity, bool compute) {
    model_.program.add_row(capacity, capacity);
    for (const std::size_t x : model_.by_bin[bin]) {
      const Profile& it = *model_.items[model_.assignments[x].item].profile;
      model_.program.put(model_.assignments[x].column,
                         compute ? it.compute.value : it.memory.value);
    }
    model_.program.put(slack, 1);
    if (model_.columns[bin].used == wpm_absent) return;
    model_.program.add_row(capacity, WpmProgram::infinite);
    model_.program.put(slack, 1);
    model_.program.put(model_.columns[bin].used, capacity);
  }

  void add_media_rows() {
    const auto is_media = [](const WpmItem& item) {
      return item.profile->attribute == Attribute::media;
    };
    if (std::ranges::none_of(model_.items, is_media)) return;
    for (std::size_t gpu = 0; gpu < model_.bins.gpus.size(); ++gpu) {
      model_.program.add_row(-WpmProgram::infinite, model_.bins.gpus[gpu].media_taken ? 0 : 1);
      for (const std::size_t bin : bins_of(gpu))
        for (const std::size_t x : model_.by_bin[bin])
          if (is_media(model_.items[model_.assignments[x].item]))
            model_.program.put(model_.assignments[x].column, 1);
    }
  }

  void add_symmetry_rows() {
    for (std::size_t i = 1; i < model_.free.size(); ++i) {
      model_.program.add_row(0, WpmProgram::infinite);
      model_.program.put(model_.columns[model_.free[i - 1]].used, 1);
      model_.program.put(model_.columns[model_.free[i]].used, -1);
      if (!model_.counted) continue;
      model_.program.add_row(-WpmProgram::infinite, 0);
      model_.program.put(model_.columns[model_.free[i - 1]].u, 1);
      model_.program.put(model_.columns[model_.free[i]].u, -1);
    }
  }

  /// Equation 3: the GPUs chosen hold, by size, what is not pending and not in partitions of GPUs
  /// in use.
  void add_least_rows() {
    const GpuModel& model = geometry_.model();
    double compute = 0, memory = 0;
    for (const WpmItem& item : model_.items) {
      if (item.only_home) continue;
      compute += static_cast<double>(item.count * item.profile->compute.value);
      memory += static_cast<double>(item.count * item.profile->memory.value);
    }
    for (const WpmGpu& gpu : model_.bins.gpus)
      for (const std::size_t bin : gpu.partitions) {
        if (!gpu.in_use) break;
        compute -= model_.bins.bins[bin].compute;
        memory -= model_.bins.bins[bin].memory;
      }
    add_least_row(std::ceil(compute / model.compute.value), &Profile::compute);
    add_least_row(std::ceil(memory / model.memory_slices.value), &Profile::memory);
  }

  template <class Slices>
  void add_least_row(double least, Slices Profile::*slices) {
    if (least <= 0) return;
    model_.program.add_row(least, WpmProgram::infinite);
    for (const WpmItem& item : model_.items)
      if (item.pending != wpm_absent)
        model_.program.put(item.pending, (item.profile->*slices).value);
    std::set<int> used;
    for (const WpmBinColumns& bin : model_.columns)
      if (bin.used != wpm_absent && used.insert(bin.used).second) model_.program.put(bin.used, 1);
  }

  const PlanProblem& problem_;
  const Geometry& geometry_;
  WpmModel model_;
};

}  // namespace

const Profile& WpmModel::profile_of(WorkloadIndex workload) const {
  return *problem.graphs[0]->geometry()[problem.wanted(workload, 0).first()].profile;
}

std::array<int, 2> WpmModel::held(const std::vector<double>& x, std::size_t bin) const {
  std::array<int, 2> sum{0, 0};
  for (const std::size_t a : by_bin[bin]) {
    const int count =
        static_cast<int>(std::lround(x[static_cast<std::size_t>(assignments[a].column)]));
    const Profile& profile = *items[assignments[a].item].profile;
    sum[0] += count * profile.compute.value;
    sum[1] += count * profile.memory.value;
  }
  return sum;
}

int wpm_wasted(const WpmBin& bin, int compute, int memory) {
  const int u = bin.compute - compute, v = bin.memory - memory;
  return std::max(u - v, 0) + (u == 0 ? v : 0);
}

WpmModel wpm_model(const PlanProblem& problem, bool counted) {
  return Builder(problem, counted).make();
}

}  // namespace cleave
