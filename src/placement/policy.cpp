#include "placement/policy.hpp"

#include "base/format.hpp"
#include "graph/waste.hpp"
#include "placement/first_fit.hpp"
#include "placement/fragmentation_policy.hpp"
#include "placement/largest_gap.hpp"
#include "placement/load_balanced.hpp"
#include "placement/preference.hpp"
#include "placement/reachability_policy.hpp"

namespace cleave {

namespace {

constexpr OptionRow fragmentation_options[] = {
    {"threshold", "NUMBER", "0.4", "a GPU is lazy while its load is below this, else busy"},
    {"load", "compute|memory|joint", "compute",
     "what load is measured in: share of the slices held by work"},
    {"across", "result|rise", "result",
     "compare GPUs by their cost after the placement, or by how much it rises"},
    {"tie", "lowest|waste", "lowest",
     "among equals: the lowest GPU and start, or first the one that makes fewest slices useless"},
};

constexpr OptionRow reachability_options[] = {
    {"across", "first|best", "first",
     "the lowest-numbered GPU that can take it, or the best of all"},
};

Comparison gpus_first(const PolicyOptions&) {
  return Comparison::gpus_first;
}
Comparison every_placement(const PolicyOptions&) {
  return Comparison::every_placement;
}
Comparison every_gap(const PolicyOptions&) {
  return Comparison::every_gap;
}
Comparison as_reachability_says(const PolicyOptions& options) {
  return options.across == Across::best ? Comparison::every_placement : Comparison::gpus_first;
}

constexpr Policy table[] = {
    {.name = "fragmentation",
     .summary = "lazy GPUs before busy ones, then the least fragmentation after the placement",
     .source = "An Online Fragmentation-Aware Scheduler, IV-C",
     .options = fragmentation_options,
     .comparison = every_placement,
     .gpu_score = fragmentation_gpu_score,
     .placement_score = fragmentation_score},
    {.name = "reachability",
     .summary = "the placement after which most maximal states can still be reached",
     .source = "Managing Multi Instance GPUs, 4.2",
     .options = reachability_options,
     .comparison = as_reachability_says,
     .gpu_score = reachability_gpu_score,
     .placement_score = reachability_score},
    {.name = "preference",
     .summary = "the fullest GPU that can take it, at the first start of the vendor's order",
     .source = "Optimal Workload Placement, table 1 and IV",
     .options = {},
     .comparison = gpus_first,
     .gpu_score = preference_gpu_score,
     .placement_score = preference_score},
    {.name = "largest-gap",
     .summary = "the placement that leaves the longest run of free memory slices",
     .source = "HAMi, 2026",
     .options = {},
     .comparison = every_gap,
     .gpu_score = largest_gap_gpu_score,
     .placement_score = largest_gap_score},
    {.name = "first-fit",
     .summary = "the lowest-numbered GPU that can take it, at the lowest start",
     .source = "Optimal Workload Placement, V",
     .options = {},
     .comparison = gpus_first,
     .gpu_score = first_fit_gpu_score,
     .placement_score = first_fit_score},
    {.name = "load-balanced",
     .summary = "the GPU with the fewest slices held, at the lowest start",
     .source = "Optimal Workload Placement, V",
     .options = {},
     .comparison = gpus_first,
     .gpu_score = load_balanced_gpu_score,
     .placement_score = load_balanced_score},
};

LoadMetric load_metric_of(std::string_view text) {
  return text == "memory"  ? LoadMetric::memory
         : text == "joint" ? LoadMetric::joint
                           : LoadMetric::compute;
}

Across across_of(std::string_view text) {
  return text == "rise"    ? Across::rise
         : text == "first" ? Across::first
         : text == "best"  ? Across::best
                           : Across::result;
}

}  // namespace

std::span<const Policy> policies() {
  return table;
}

namespace {

/// Policies are named alone, unlike schedulers: NAME:key=value is a scheduler's form.
std::optional<Error> written_with_options(std::string_view name) {
  const auto row =
      std::ranges::find(policies(), name.substr(0, name.find_first_of(":;")), &Policy::name);
  if (row == policies().end() || row->name == name) return std::nullopt;
  std::vector<std::string_view> options;
  for (const OptionRow& option : row->options) options.push_back(option.name);
  const std::string written = fmt::format("policy '{}' is written with options", shown(name));
  if (options.empty())
    return Error{ErrorKind::bad_usage, "", fmt::format("{}, but {} has none", written, row->name),
                 fmt::format("write {}", row->name)};
  return Error{ErrorKind::bad_usage, "", written,
               fmt::format("give its options beside the name: {}", fmt::join(options, ", "))};
}

}  // namespace

Result<ChosenPolicy> choose_policy(std::string_view name, const OptionTexts& given) {
  if (auto wrong = written_with_options(name)) return std::unexpected(std::move(*wrong));
  const auto row = find_row(policies(), name, "policy");
  if (!row) return std::unexpected(row.error());
  const auto texts = complete(given, (*row)->options, fmt::format("policy {}", name));
  if (!texts) return std::unexpected(texts.error());
  OptionReader in(*texts);
  ChosenPolicy chosen{*row, {}};
  if (texts->contains("threshold"))
    chosen.options.threshold = in.ratio("threshold", Ratio(0, 1), Ratio(1, 1));
  if (texts->contains("load")) chosen.options.load = load_metric_of(in.text("load"));
  if (texts->contains("across")) chosen.options.across = across_of(in.text("across"));
  if (texts->contains("tie")) chosen.options.least_waste = in.is("tie", "waste");
  if (in.error()) return std::unexpected(*in.error());
  return chosen;
}

std::int32_t share_of_slices(const GpuView& gpu, int slices) {
  constexpr int whole = 720720;
  const GpuModel& model = gpu.graph.geometry().model();
  return whole / (model.compute.value + model.memory_slices.value) * slices;
}

Ratio load_of(const GpuView& gpu, LoadMetric metric) {
  const GpuModel& model = gpu.graph.geometry().model();
  const int compute = gpu.state.held_compute, memory = gpu.state.held_memory;
  switch (metric) {
    case LoadMetric::compute:
      return {compute, model.compute.value};
    case LoadMetric::memory:
      return {memory, model.memory_slices.value};
    case LoadMetric::joint:
      break;
  }
  return {compute + memory, model.compute.value + model.memory_slices.value};
}

bool busy(const GpuView& gpu, const PolicyOptions& options) {
  return load_of(gpu, options.load) >= options.threshold;
}

Rank rank(const GpuView& gpu, PlacementId placement, const ChosenPolicy& chosen) {
  const Placement& where = gpu.graph.geometry()[placement];
  const std::int32_t first = chosen.policy->gpu_score(gpu, chosen.options);
  const Score score = chosen.policy->placement_score(gpu, placement, chosen.options);
  const std::int32_t fresh = gpu.state.idle.contains(placement) ? 0 : 1;
  // More compute slices first; what an instance makes useless is less than a GPU's slices.
  constexpr std::int32_t most_waste = 32;
  std::int32_t fewer = -where.profile->compute.value * most_waste;
  if (chosen.options.least_waste) fewer += waste(gpu.graph.geometry(), placement).slices();
  switch (chosen.policy->comparison(chosen.options)) {
    case Comparison::gpus_first:
      return {{first}, {score[0], score[1], fresh, fewer, where.start}};
    case Comparison::every_placement:
      return {{first, score[0], score[1], fresh, fewer}, {where.start}};
    case Comparison::every_gap:
      break;
  }
  return {{first, score[0], score[1]}, {where.start, fresh, fewer}};
}

std::optional<BestOnGpu> best_on(const GpuView& gpu, PlacementSet candidates,
                                 const ChosenPolicy& chosen) {
  std::optional<BestOnGpu> best;
  if (gpu.state.absent) return best;
  if (chosen.options.existing_only) candidates = candidates & gpu.state.idle;
  for (const PlacementId placement : candidates& gpu.graph.free(gpu.state.occupied)) {
    const Rank candidate = rank(gpu, placement, chosen);
    if (!best || candidate < best->rank) best = BestOnGpu{placement, candidate};
  }
  return best;
}

std::optional<Decision> decide_by_scan(const Fleet& fleet, const ResolvedRequest& request,
                                       const ChosenPolicy& chosen) {
  std::optional<BestOnGpu> best;
  GpuId best_gpu{};
  for (std::size_t i = 0; i < fleet.size(); ++i) {
    const GpuState& state = fleet[static_cast<GpuId>(i)];
    const auto here = best_on({fleet.graph(state), state}, request.candidates[state.kind], chosen);
    // GPUs come in order of their number: only a better rank before it takes the place.
    if (!here || (best && here->rank.across >= best->rank.across)) continue;
    best = here;
    best_gpu = static_cast<GpuId>(i);
  }
  if (!best) return std::nullopt;
  const GpuState& state = fleet[best_gpu];
  return Decision{best_gpu, best->placement, state.idle.contains(best->placement),
                  fleet.destroys(state, best->placement)};
}

}  // namespace cleave
