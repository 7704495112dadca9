#pragma once
// Which GPU and which start for one request. A policy is a small pure function in a file of its own and a row
// in the table; help, documentation, commands and tests walk the table.
//
// Every policy ranks candidates, smaller is better, by two scores: one of the GPU as it is, one of the
// placement on it. What no score settles is settled the same way for all: an instance that exists already
// before a new one, then more compute slices (requests by size only), then the lower GPU, then the lower
// start. A policy says where the GPU's number stands: policies that fill GPUs in order compare it before the
// placement's score.
//
//   rank across GPUs first   (gpu score, GPU, placement score, fresh, -compute, start)
//   rank every placement     (gpu score, placement score, fresh, -compute, GPU, start)

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "base/options.hpp"
#include "base/ratio.hpp"
#include "placement/fleet.hpp"
#include "placement/request_table.hpp"

namespace cleave {

/// What the load of a GPU is measured in: slices held by work over the total (reading F5). Walls are no load.
enum class LoadMetric { compute, memory, joint };

/// What is compared across GPUs: the candidate's cost after the placement, or how much it rises (reading F7).
enum class CostAcross { result, rise };

/// The options of all policies; each reads the ones in its row.
struct PolicyOptions {
  Ratio threshold{2, 5};
  LoadMetric load = LoadMetric::compute;
  CostAcross across = CostAcross::result;
};

/// A GPU as a policy sees it.
struct GpuView {
  const StateGraph& graph;
  const GpuState& state;
};

using Score = std::array<std::int32_t, 2>;

enum class Comparison { gpus_first, every_placement };

struct Policy {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  std::span<const OptionRow> options;
  Comparison comparison;
  std::int32_t (*gpu_score)(const GpuView&, const PolicyOptions&);
  Score (*placement_score)(const GpuView&, PlacementId, const PolicyOptions&);
};

std::span<const Policy> policies();
inline constexpr std::string_view default_policy = "fragmentation";

/// A policy with its options, as a command line or a scheduler's SPEC chose it.
struct ChosenPolicy {
  const Policy* policy;
  PolicyOptions options;
};

/// By name, with options as text; names and values are checked against the row.
[[nodiscard]] Result<ChosenPolicy> choose_policy(std::string_view name, const OptionTexts& options);

/// Slices held over slices there are.
Ratio load_of(const GpuView& gpu, LoadMetric metric);
/// Busy: load at or above the threshold (reading F6).
bool busy(const GpuView& gpu, const PolicyOptions& options);

struct Decision {
  GpuId gpu;
  PlacementId placement;
  bool reuse;             // an idle instance of this profile stands there already
  PlacementSet destroys;  // idle instances that go first
};

/// The best placement by looking at every one on every GPU: the definition of what a policy decides.
std::optional<Decision> decide_by_scan(const Fleet& fleet, const ResolvedRequest& request,
                                       const ChosenPolicy& chosen);

}  // namespace cleave
