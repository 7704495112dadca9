#include "placement/policy.hpp"

#include <algorithm>
#include <vector>

#include "base/format.hpp"
#include "base/text.hpp"
#include "placement/first_fit.hpp"
#include "placement/fragmentation_policy.hpp"

namespace cleave {

namespace {

constexpr OptionRow fragmentation_options[] = {
    {"threshold", "NUMBER", "0.4", "a GPU is lazy while its load is below this, busy from it on"},
    {"load", "compute|memory|joint", "compute",
     "what load is measured in: slices held by work over the total"},
    {"across", "result|rise", "result",
     "compare GPUs by their cost after the placement, or by how much it rises"},
};

constexpr Policy table[] = {
    {"fragmentation", "lazy GPUs before busy ones, then the least fragmentation after the placement",
     "An Online Fragmentation-Aware Scheduler, IV-C", fragmentation_options, Comparison::every_placement,
     fragmentation_gpu_score, fragmentation_score},
    {"first-fit",
     "the lowest GPU that can take it, at the lowest start",
     "Optimal Workload Placement, V",
     {},
     Comparison::gpus_first,
     first_fit_gpu_score,
     first_fit_score},
};

/// A candidate's rank as one number after another, smaller is better.
using Rank = std::array<std::int64_t, 7>;

Rank rank(const GpuView& gpu, std::size_t number, PlacementId placement, std::int32_t gpu_score,
          const ChosenPolicy& chosen) {
  const Placement& where = gpu.graph.geometry()[placement];
  const Score score = chosen.policy->placement_score(gpu, placement, chosen.options);
  const int fresh = gpu.state.idle.contains(placement) ? 0 : 1;
  const auto n = static_cast<std::int64_t>(number);
  if (chosen.policy->comparison == Comparison::gpus_first)
    return {gpu_score, n, score[0], score[1], fresh, -where.profile->compute.value, where.start};
  return {gpu_score, score[0], score[1], fresh, -where.profile->compute.value, n, where.start};
}

}  // namespace

std::span<const Policy> policies() {
  return table;
}

Result<ChosenPolicy> choose_policy(std::string_view name, const OptionTexts& given) {
  const auto row = std::ranges::find(table, name, &Policy::name);
  if (row == std::end(table)) {
    std::vector<std::string> known;
    for (const Policy& policy : table) known.emplace_back(policy.name);
    return fail(ErrorKind::bad_usage, "", fmt::format("there is no policy '{}'", shown(name)),
                suggestion(name, known));
  }
  const auto texts = complete(given, row->options, fmt::format("policy {}", name));
  if (!texts) return std::unexpected(texts.error());
  ChosenPolicy chosen{row, {}};
  if (const auto threshold = texts->find("threshold"); threshold != texts->end()) {
    const auto ratio = Ratio::parse(threshold->second);
    if (!ratio) return fail_at("threshold", ratio.error());
    if (*ratio < Ratio(0, 1) || *ratio > Ratio(1, 1))
      return fail(ErrorKind::bad_usage, "threshold",
                  fmt::format("{} is not a share of a GPU", threshold->second), "give a number from 0 to 1");
    chosen.options.threshold = *ratio;
  }
  if (const auto load = texts->find("load"); load != texts->end())
    chosen.options.load = load->second == "memory"  ? LoadMetric::memory
                          : load->second == "joint" ? LoadMetric::joint
                                                    : LoadMetric::compute;
  if (const auto across = texts->find("across"); across != texts->end())
    chosen.options.across = across->second == "rise" ? CostAcross::rise : CostAcross::result;
  return chosen;
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

std::optional<Decision> decide_by_scan(const Fleet& fleet, const ResolvedRequest& request,
                                       const ChosenPolicy& chosen) {
  std::optional<Rank> best;
  GpuId best_gpu{};
  PlacementId best_placement = 0;
  for (std::size_t i = 0; i < fleet.size(); ++i) {
    const GpuState& state = fleet.gpus()[i];
    const GpuView gpu{fleet.graph(state), state};
    const PlacementSet possible = request.candidates[state.kind] & gpu.graph.free(state.occupied);
    if (possible.empty()) continue;
    const std::int32_t gpu_score = chosen.policy->gpu_score(gpu, chosen.options);
    for (const PlacementId placement : possible) {
      const Rank candidate = rank(gpu, i, placement, gpu_score, chosen);
      if (best && *best <= candidate) continue;
      best = candidate;
      best_gpu = static_cast<GpuId>(i);
      best_placement = placement;
    }
  }
  if (!best) return std::nullopt;
  const GpuState& state = fleet[best_gpu];
  return Decision{best_gpu, best_placement, state.idle.contains(best_placement),
                  fleet.destroys(state, best_placement)};
}

}  // namespace cleave
