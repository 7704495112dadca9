#include "study/wpm.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/format.hpp"
#include "planner/metrics.hpp"
#include "study/wpm_bins.hpp"
#include "study/wpm_search.hpp"

namespace cleave {

std::string_view name(WpmStatus status) {
  switch (status) {
    case WpmStatus::optimal:
      return "optimal";
    case WpmStatus::feasible:
      return "feasible";
    case WpmStatus::unsolved:
      return "unsolved";
  }
  return "";
}

namespace {

using Clock = std::chrono::steady_clock;
constexpr int absent = -1;

/// Work that is told apart from other work: a workload, or equal ones that come from anywhere, or equal ones
/// of one GPU that stay there.
struct Item {
  const Profile* profile;
  std::int64_t count = 1;
  std::int64_t fresh = 0;           // of these, how many are new and may be pending
  std::optional<std::size_t> home;  // the GPU where they run
  bool only_home = false;           // columns for bins of that GPU only
  int row = absent;                 // of (2e)
  int pending = absent;             // column
};

/// The columns of one bin, beside its x.
struct BinColumns {
  int used = absent;  // y; absent: in use whatever happens
  int u = absent, v = absent, excess_compute = absent, excess_memory = absent, delta = absent;
};

struct Assignment {
  std::size_t item, bin;
  int column;
};

/// What one unit of each objective costs.
struct Weights {
  double pending, gpus, waste, migration, repartition;
};

class Wpm {
 public:
  Wpm(const PlanProblem& problem, const WpmOptions& options)
      : problem_(problem),
        options_(options),
        geometry_(problem.graphs[0]->geometry()),
        bins_(wpm_bins(problem)),
        columns_(bins_.bins.size()),
        by_bin_(bins_.bins.size()) {
    make_items();
    for (std::size_t bin = 0; bin < bins_.bins.size(); ++bin)
      if (bins_.bins[bin].kind == WpmBinKind::free) free_.push_back(bin);
    weigh();
  }

  WpmResult solve() {
    const auto begin = Clock::now();
    add_used_columns();
    add_items();
    for (std::size_t bin = 0; bin < bins_.bins.size(); ++bin) add_bin(bin);
    add_media_rows();
    add_symmetry_rows();
    add_least_rows();
    WpmResult result;
    std::optional<std::vector<double>> start =
        options_.start != nullptr ? start_from(*options_.start) : std::nullopt;
    if (start && !program_.keeps(*start)) start.reset();
    if (start) result.start_objective = program_.cost_of(*start) + constant_;
    const double built = in_seconds(Clock::now() - begin);
    const WpmSearchOutcome outcome =
        search(program_, start ? &*start : nullptr, options_.time_limit, {options_.gap, constant_});
    result.seconds = built + outcome.seconds;
    if (outcome.seconds_to_gap) result.seconds_to_gap = built + *outcome.seconds_to_gap;
    result.columns = program_.columns();
    result.integers = program_.integers();
    result.rows = program_.rows();
    result.unmerged = bins_.unmerged;
    result.bound = outcome.bound + constant_;
    if (outcome.x) {
      result.status = outcome.optimal ? WpmStatus::optimal : WpmStatus::feasible;
      result.values = values_of(*outcome.x);
      result.objective = program_.cost_of(*outcome.x) + constant_;
    }
    return result;
  }

 private:
  [[nodiscard]] const Profile& profile_of(WorkloadIndex i) const {
    return *geometry_[problem_.wanted(i, 0).first()].profile;
  }

  /// Everything that is to be placed; what stays is in the bins already.
  void make_items() {
    item_of_.assign(problem_.workloads.size(), none);
    std::map<const Profile*, std::size_t> anywhere;
    for (WorkloadIndex i = 0; i < problem_.workloads.size(); ++i) {
      const PlanWorkload& workload = problem_.workloads[i];
      if (workload.stays) continue;
      const Profile& profile = profile_of(i);
      const std::optional<std::size_t> home =
          workload.now ? std::optional(index(workload.now->gpu)) : std::nullopt;
      if (home) movable_memory_ += profile.memory.value;
      if (!options_.counted) {
        item_of_[i] = static_cast<std::uint32_t>(items_.size());
        items_.push_back({&profile, 1, home ? 0 : 1, home, false, absent, absent});
        continue;
      }
      const auto [known, fresh] = anywhere.try_emplace(&profile, items_.size());
      if (fresh) items_.push_back({&profile, 0, 0, std::nullopt, false, absent, absent});
      item_of_[i] = static_cast<std::uint32_t>(known->second);
      ++items_[known->second].count;
      if (!home) ++items_[known->second].fresh;
      if (!home) continue;
      const auto [place, first] = home_items_.try_emplace({*home, &profile}, items_.size());
      if (first) items_.push_back({&profile, 0, 0, home, true, absent, absent});
      ++items_[place->second].count;
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
        most = std::max(most, wasted(bin, static_cast<int>(c), static_cast<int>(m)));
        for (const Item& item : items_) {
          const std::size_t c2 = c + static_cast<std::size_t>(item.profile->compute.value);
          const std::size_t m2 = m + static_cast<std::size_t>(item.profile->memory.value);
          if (c2 < reached.size() && m2 < reached[c].size()) reached[c2][m2] = 1;
        }
      }
    return most;
  }

  /// U + V of a bin in which so much is held.
  static int wasted(const WpmBin& bin, int compute, int memory) {
    const int u = bin.compute - compute, v = bin.memory - memory;
    return std::max(u - v, 0) + (u == 0 ? v : 0);
  }

  /// Each unit dearer than all that follows it can come to.
  void weigh() {
    double most = 0;
    double choosable = 0, twins = 0;
    std::map<std::array<int, 2>, int> known;
    for (const WpmBin& bin : bins_.bins) {
      const auto [at, fresh] = known.try_emplace({bin.compute, bin.memory}, 0);
      if (fresh) at->second = most_waste(bin);
      most += at->second;
      if (bin.kind == WpmBinKind::imaginary) ++twins;
    }
    for (const WpmGpu& gpu : bins_.gpus) choosable += gpu.in_use ? 0 : 1;
    if (problem_.kind == ProblemKind::reconfigure) {
      weights_.migration = 1;
      weights_.repartition = 1 + static_cast<double>(movable_memory_);
      weights_.waste = 1 + weights_.repartition * twins + static_cast<double>(movable_memory_);
    } else {
      weights_.repartition = 1;
      weights_.migration = 1 + twins;
      weights_.waste = 1 + twins + weights_.migration * static_cast<double>(movable_memory_);
    }
    weights_.gpus = weights_.waste * (1 + most);
    weights_.pending = weights_.gpus * (1 + std::min(choosable, most_saved(choosable)));
  }

  /// How many GPUs more than the least by memory could be in use: what one pending slice could ever save.
  [[nodiscard]] double most_saved(double choosable) const {
    double demand = 0, partitions = 0;
    for (WorkloadIndex i = 0; i < problem_.workloads.size(); ++i)
      if (!problem_.workloads[i].stays) demand += profile_of(i).memory.value;
    for (const WpmGpu& gpu : bins_.gpus)
      if (gpu.in_use)
        for (const std::size_t bin : gpu.partitions) partitions += bins_.bins[bin].memory;
    const double least = std::ceil((demand - partitions) / geometry_.model().memory_slices.value);
    return choosable - std::max(least, 0.0) + 2;
  }

  void add_used_columns() {
    for (const WpmGpu& gpu : bins_.gpus) {
      if (gpu.in_use) {
        constant_ += weights_.gpus;
        continue;
      }
      int whole = absent, parts = absent;
      if (gpu.whole) {
        const bool twin = bins_.bins[*gpu.whole].kind == WpmBinKind::imaginary;
        whole = program_.add_column(0, 1, true, weights_.gpus + (twin ? weights_.repartition : 0));
        columns_[*gpu.whole].used = whole;
      }
      if (!gpu.partitions.empty()) {
        parts = program_.add_column(0, 1, true, weights_.gpus);
        for (const std::size_t bin : gpu.partitions) columns_[bin].used = parts;
      }
      if (whole == absent || parts == absent) continue;
      program_.add_row(-WpmProgram::infinite, 1);  // (2h)
      program_.put(whole, 1);
      program_.put(parts, 1);
    }
    constant_ += weights_.waste * static_cast<double>(fixed_waste());
    constant_ += weights_.migration * static_cast<double>(movable_memory_);
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
    for (std::size_t item = 0; item < items_.size(); ++item) {
      const Item& it = items_[item];
      if (it.only_home) {
        for (const std::size_t bin : bins_of(*it.home)) assign(item, bin);
        continue;
      }
      for (std::size_t bin = 0; bin < bins_.bins.size(); ++bin)
        if (!is_redundant(item, bin)) assign(item, bin);
      if (it.fresh > 0)
        items_[item].pending = program_.add_column(0, static_cast<double>(it.fresh), true,
                                                   weights_.pending * it.profile->memory.value);
    }
    for (std::size_t item = 0; item < items_.size(); ++item) {
      const Item& it = items_[item];
      const auto count = static_cast<double>(it.count);
      items_[item].row = program_.add_row(it.only_home ? -WpmProgram::infinite : count, count);
      if (it.pending != absent) program_.put(it.pending, 1);
      for (const Assignment& x : assignments_)
        if (x.item == item ||
            (!it.only_home && items_[x.item].only_home && items_[x.item].profile == it.profile))
          program_.put(x.column, 1);
    }
  }

  [[nodiscard]] std::vector<std::size_t> bins_of(std::size_t gpu) const {
    std::vector<std::size_t> all = bins_.gpus[gpu].partitions;
    if (bins_.gpus[gpu].whole) all.push_back(*bins_.gpus[gpu].whole);
    return all;
  }

  /// Free GPUs are alike: numbered by the first workload they hold, the k-th never holds an earlier one.
  [[nodiscard]] bool is_redundant(std::size_t item, std::size_t bin) const {
    if (options_.counted || bins_.bins[bin].kind != WpmBinKind::free) return false;
    const auto rank = std::ranges::lower_bound(free_, bin) - free_.begin();
    return static_cast<std::size_t>(rank) > item;
  }

  void assign(std::size_t item, std::size_t bin) {
    const Item& it = items_[item];
    const WpmBin& into = bins_.bins[bin];
    const std::int64_t most = std::min<std::int64_t>(
        {it.count, into.compute / it.profile->compute.value, into.memory / it.profile->memory.value});
    if (most == 0) return;
    const bool stays = it.home && *it.home == into.gpu;
    const int column = program_.add_column(0, static_cast<double>(most), true,
                                           stays ? -weights_.migration * it.profile->memory.value : 0);
    by_bin_[bin].push_back(assignments_.size());
    assignments_.push_back({item, bin, column});
  }

  /// (2b) to (2d) with (2f) and (2g), then (2i) to (2k).
  void add_bin(std::size_t bin) {
    const WpmBin& it = bins_.bins[bin];
    BinColumns& own = columns_[bin];
    own.u = program_.add_column(0, it.compute, false, 0);
    own.v = program_.add_column(0, it.memory, false, 0);
    own.excess_compute = program_.add_column(0, it.compute, false, weights_.waste);
    own.excess_memory = program_.add_column(0, it.memory, false, weights_.waste);
    own.delta = program_.add_column(0, 1, true, 0);
    add_knapsack(bin, own.u, it.compute, true);
    add_knapsack(bin, own.v, it.memory, false);
    program_.add_row(-WpmProgram::infinite, 0);
    program_.put(own.u, 1);
    program_.put(own.v, -1);
    program_.put(own.excess_compute, -1);
    program_.add_row(0, WpmProgram::infinite);
    program_.put(own.u, 1);
    program_.put(own.delta, -1);
    program_.add_row(-WpmProgram::infinite, 0);
    program_.put(own.u, 1);
    program_.put(own.delta, -it.compute);
    program_.add_row(-WpmProgram::infinite, 0);
    program_.put(own.v, 1);
    program_.put(own.delta, -it.memory);
    program_.put(own.excess_memory, -1);
  }

  void add_knapsack(std::size_t bin, int slack, int capacity, bool compute) {
    program_.add_row(capacity, capacity);
    for (const std::size_t x : by_bin_[bin]) {
      const Profile& it = *items_[assignments_[x].item].profile;
      program_.put(assignments_[x].column, compute ? it.compute.value : it.memory.value);
    }
    program_.put(slack, 1);
    if (columns_[bin].used == absent) return;
    program_.add_row(capacity, WpmProgram::infinite);
    program_.put(slack, 1);
    program_.put(columns_[bin].used, capacity);
  }

  void add_media_rows() {
    const auto is_media = [](const Item& item) { return item.profile->attribute == Attribute::media; };
    if (std::ranges::none_of(items_, is_media)) return;
    for (std::size_t gpu = 0; gpu < bins_.gpus.size(); ++gpu) {
      program_.add_row(-WpmProgram::infinite, bins_.gpus[gpu].media_taken ? 0 : 1);
      for (const std::size_t bin : bins_of(gpu))
        for (const std::size_t x : by_bin_[bin])
          if (is_media(items_[assignments_[x].item])) program_.put(assignments_[x].column, 1);
    }
  }

  void add_symmetry_rows() {
    for (std::size_t i = 1; i < free_.size(); ++i) {
      program_.add_row(0, WpmProgram::infinite);
      program_.put(columns_[free_[i - 1]].used, 1);
      program_.put(columns_[free_[i]].used, -1);
      if (!options_.counted) continue;
      program_.add_row(-WpmProgram::infinite, 0);
      program_.put(columns_[free_[i - 1]].u, 1);
      program_.put(columns_[free_[i]].u, -1);
    }
  }

  /// Equation 3: the GPUs chosen hold, by size, what is not pending and not in partitions of GPUs in use.
  void add_least_rows() {
    const GpuModel& model = geometry_.model();
    double compute = 0, memory = 0;
    for (const Item& item : items_) {
      if (item.only_home) continue;
      compute += static_cast<double>(item.count * item.profile->compute.value);
      memory += static_cast<double>(item.count * item.profile->memory.value);
    }
    for (const WpmGpu& gpu : bins_.gpus)
      for (const std::size_t bin : gpu.partitions) {
        if (!gpu.in_use) break;
        compute -= bins_.bins[bin].compute;
        memory -= bins_.bins[bin].memory;
      }
    add_least_row(std::ceil(compute / model.compute.value), &Profile::compute);
    add_least_row(std::ceil(memory / model.memory_slices.value), &Profile::memory);
  }

  template <class Slices>
  void add_least_row(double least, Slices Profile::*slices) {
    if (least <= 0) return;
    program_.add_row(least, WpmProgram::infinite);
    for (const Item& item : items_)
      if (item.pending != absent) program_.put(item.pending, (item.profile->*slices).value);
    std::set<int> used;
    for (const BinColumns& bin : columns_)
      if (bin.used != absent && used.insert(bin.used).second) program_.put(bin.used, 1);
  }

  /// The bin of each workload that is to be placed; nowhere: pending.
  using BinOf = std::vector<std::size_t>;
  static constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

  std::optional<std::vector<double>> start_from(const Goal& goal) const {
    BinOf bin_of(goal.size(), nowhere);
    std::vector<std::vector<WorkloadIndex>> on(problem_.gpus.size());
    for (WorkloadIndex i = 0; i < goal.size(); ++i)
      if (item_of_[i] != none && goal[i]) on[index(goal[i]->gpu)].push_back(i);
    for (std::size_t gpu = 0; gpu < on.size(); ++gpu) seat(gpu, on[gpu], goal, bin_of);
    for (WorkloadIndex i = 0; i < goal.size(); ++i)
      if (item_of_[i] != none && bin_of[i] == nowhere && problem_.workloads[i].now) return {};
    order_free(bin_of);
    return as_columns(bin_of);
  }

  /// Into the partitions that hold their slices; where that does not go, into the GPU's twin.
  void seat(std::size_t gpu, const std::vector<WorkloadIndex>& work, const Goal& goal, BinOf& bin_of) const {
    const WpmGpu& it = bins_.gpus[gpu];
    std::vector<std::size_t> found;
    for (const WorkloadIndex i : work) {
      const SliceMask slices = problem_.placement(*goal[i]).slices;
      const auto holds = [&](std::size_t bin) { return (bins_.bins[bin].slices & slices) == slices; };
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
    for (const std::size_t bin : free_) loads[bin].bin = bin;
    for (WorkloadIndex i = 0; i < bin_of.size(); ++i) {
      const auto at = loads.find(bin_of[i]);
      if (at == loads.end()) continue;
      at->second.compute += profile_of(i).compute.value;
      at->second.first = std::min(at->second.first, item_of_[i]);
    }
    std::vector<Load> order;
    for (const auto& [bin, load] : loads) order.push_back(load);
    std::ranges::stable_sort(order, [&](const Load& a, const Load& b) {
      return options_.counted ? a.compute > b.compute : a.first < b.first;
    });
    std::map<std::size_t, std::size_t> renamed;
    for (std::size_t i = 0; i < order.size(); ++i) renamed[order[i].bin] = free_[i];
    for (std::size_t& bin : bin_of)
      if (const auto at = renamed.find(bin); at != renamed.end()) bin = at->second;
  }

  [[nodiscard]] std::vector<double> as_columns(const BinOf& bin_of) const {
    std::vector<double> x(static_cast<std::size_t>(program_.columns()), 0);
    std::map<std::array<std::size_t, 2>, int> column_of;
    for (const Assignment& a : assignments_) column_of[{a.item, a.bin}] = a.column;
    const auto at = [&](int column) -> double& { return x[static_cast<std::size_t>(column)]; };
    for (WorkloadIndex i = 0; i < bin_of.size(); ++i) {
      std::size_t item = item_of_[i];
      if (item == none) continue;
      if (bin_of[i] == nowhere) {
        ++at(items_[item].pending);
        continue;
      }
      const std::size_t gpu = bins_.bins[bin_of[i]].gpu;
      const auto home = home_items_.find({gpu, items_[item].profile});
      if (home != home_items_.end() && problem_.workloads[i].now &&
          index(problem_.workloads[i].now->gpu) == gpu)
        item = home->second;
      const auto column = column_of.find({item, bin_of[i]});
      if (column != column_of.end()) ++at(column->second);
    }
    for (std::size_t bin = 0; bin < columns_.size(); ++bin) {
      const auto [compute, memory] = held(x, bin);
      const BinColumns& own = columns_[bin];
      const int u = bins_.bins[bin].compute - compute, v = bins_.bins[bin].memory - memory;
      at(own.u) = u;
      at(own.v) = v;
      at(own.excess_compute) = std::max(u - v, 0);
      at(own.excess_memory) = u == 0 ? v : 0;
      at(own.delta) = u == 0 ? 0 : 1;
      if (own.used != absent && compute > 0) at(own.used) = 1;
    }
    return x;
  }

  [[nodiscard]] std::array<int, 2> held(const std::vector<double>& x, std::size_t bin) const {
    std::array<int, 2> sum{0, 0};
    for (const std::size_t a : by_bin_[bin]) {
      const int count = static_cast<int>(std::lround(x[static_cast<std::size_t>(assignments_[a].column)]));
      const Profile& profile = *items_[assignments_[a].item].profile;
      sum[0] += count * profile.compute.value;
      sum[1] += count * profile.memory.value;
    }
    return sum;
  }

  [[nodiscard]] WpmValues values_of(const std::vector<double>& x) const {
    const auto at = [&](int column) { return std::llround(x[static_cast<std::size_t>(column)]); };
    WpmValues values;
    values.waste = fixed_waste();
    values.migration = movable_memory_;
    for (const Item& item : items_)
      if (item.pending != absent) values.pending += at(item.pending) * item.profile->memory.value;
    std::vector<char> used(bins_.gpus.size(), 0);
    for (std::size_t gpu = 0; gpu < used.size(); ++gpu) used[gpu] = bins_.gpus[gpu].in_use ? 1 : 0;
    for (std::size_t bin = 0; bin < bins_.bins.size(); ++bin) {
      const WpmBin& it = bins_.bins[bin];
      const auto [compute, memory] = held(x, bin);
      if (compute == 0) continue;
      values.waste += wasted(it, compute, memory);
      used[it.gpu] = 1;
      if (it.kind == WpmBinKind::imaginary) ++values.repartitioned;
    }
    for (const char use : used) values.gpus += use;
    for (const Assignment& a : assignments_)
      if (items_[a.item].home && *items_[a.item].home == bins_.bins[a.bin].gpu)
        values.migration -= at(a.column) * items_[a.item].profile->memory.value;
    return values;
  }

  const PlanProblem& problem_;
  const WpmOptions& options_;
  const Geometry& geometry_;
  WpmBins bins_;
  std::vector<Item> items_;
  std::vector<std::uint32_t> item_of_;  // of each workload: where it may come from anywhere
  std::map<std::pair<std::size_t, const Profile*>, std::size_t> home_items_;
  std::int64_t movable_memory_ = 0;
  std::vector<std::size_t> free_;
  Weights weights_{};
  WpmProgram program_;
  double constant_ = 0;  // what the program does not count: GPUs in use anyway, and all movable work as moved
  std::vector<BinColumns> columns_;
  std::vector<Assignment> assignments_;
  std::vector<std::vector<std::size_t>> by_bin_;
};

Result<void> check(const PlanProblem& problem) {
  const auto refuse = [](std::string what) {
    return fail(ErrorKind::infeasible, "",
                fmt::format("the paper's assignment model has no words for {}", what));
  };
  if (problem.graphs.size() != 1) return refuse("several GPU models");
  if (!problem.rules.empty()) return refuse("pins, forbidden GPUs and groups");
  if (problem.limits.migrations || problem.limits.moved_mib) return refuse("limits of moves");
  if (problem.may_evict) return refuse("running work that may stop");
  const Geometry& geometry = problem.graphs[0]->geometry();
  const auto is_strange = [&](PlacementSet set) {
    bool strange = false;
    for (const PlacementId id : set)
      strange |= geometry[id].profile->attribute != Attribute::none &&
                 geometry[id].profile->attribute != Attribute::media;
    return strange;
  };
  constexpr const char* engines = "profiles with graphics, all media engines or none";
  for (const PlanGpu& gpu : problem.gpus)
    if (is_strange(gpu.walls)) return refuse(engines);
  for (const ResolvedRequest& request : problem.requests) {
    const PlacementSet candidates = request.candidates[0];
    for (const PlacementId id : candidates)
      if (geometry[id].profile != geometry[candidates.first()].profile)
        return refuse("requests that several profiles satisfy");
    if (is_strange(candidates)) return refuse(engines);
  }
  return {};
}

}  // namespace

Result<WpmResult> solve_wpm(const PlanProblem& problem, const WpmOptions& options) {
  if (const auto fine = check(problem); !fine) return std::unexpected(fine.error());
  return Wpm(problem, options).solve();
}

}  // namespace cleave
