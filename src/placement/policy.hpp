#pragma once
// Which GPU and which start for one request. A policy is a small pure function in a file of its own
// and a row in the table; help, documentation, commands and tests walk the table.
//
// Every policy ranks candidates, smaller is better, by two scores: one of the GPU as it is, one of
// the placement on it. What no score settles is settled by rules that all share: an instance that
// exists already before a new one (`fresh`), more compute slices (requests by size only), with
// `tie=waste` the fewer slices made useless, the lower GPU, the lower start. Where the GPU's number
// stands among these is the policy's kind of comparison:
//
//   gpus_first        gpu score | GPU | placement score, fresh, -compute, start
//   every_placement   gpu score, placement score, fresh, -compute | GPU | start
//   every_gap         gpu score, placement score | GPU | start, fresh, -compute
//
// What stands left of the GPU's number and what stands right of it are functions of the GPU's state
// alone. That is what the index (index.hpp) rests on.

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "base/options.hpp"
#include "base/ratio.hpp"
#include "placement/fleet.hpp"
#include "placement/request_table.hpp"

namespace cleave {

/// What the load of a GPU is measured in: slices held by work over the total (reading F5). Walls
/// are no load.
enum class LoadMetric { compute, memory, joint };

/// What is compared across GPUs. fragmentation: the candidate's cost after the placement, or how
/// much it rises (reading F7); reachability: nothing but the number of the GPU, or every placement.
enum class Across { result, rise, first, best };

/// The options of all policies; each reads the ones in its row.
struct PolicyOptions {
  Ratio threshold{2, 5};
  LoadMetric load = LoadMetric::compute;
  Across across = Across::result;
  bool least_waste = false;    // what is equal otherwise goes where fewest slices become useless
  bool existing_only = false;  // every policy: only idle instances are places, none is made
};

/// A GPU as a policy sees it.
struct GpuView {
  const StateGraph& graph;
  const GpuState& state;
};

/// Smaller is better; the first number counts before the second.
using Score = std::array<std::int32_t, 2>;

/// Where the GPU's number stands among the scores; the table above says what each means.
enum class Comparison { gpus_first, every_placement, every_gap };

/// A policy in the table: what help says of it, its options and its scores.
struct Policy {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  std::span<const OptionRow> options;
  Comparison (*comparison)(const PolicyOptions&);
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

/// `slices`, compute and memory together, over all the GPU has: a whole number of 720,720ths (lcm
/// of 1 to 16), so that equal shares of different models are equal.
std::int32_t share_of_slices(const GpuView& gpu, int slices);

/// Slices held over slices there are.
Ratio load_of(const GpuView& gpu, LoadMetric metric);
/// Busy: load at or above the threshold (reading F6).
bool busy(const GpuView& gpu, const PolicyOptions& options);

/// Where a request goes.
struct Decision {
  GpuId gpu;
  PlacementId placement;
  bool reuse;             // an idle instance of this profile stands there already
  PlacementSet destroys;  // idle instances that go first
};

/// A candidate's rank, smaller is better, in two parts: what is compared before the GPU's number
/// and after it.
struct Rank {
  std::array<std::int32_t, 5> across{}, within{};
  friend auto operator<=>(const Rank&, const Rank&) = default;
};
Rank rank(const GpuView& gpu, PlacementId placement, const ChosenPolicy& chosen);

/// The best placement on one GPU in this state; nullopt where none of `candidates` can be placed.
struct BestOnGpu {
  PlacementId placement;
  Rank rank;
};
std::optional<BestOnGpu> best_on(const GpuView& gpu, PlacementSet candidates,
                                 const ChosenPolicy& chosen);

/// The best placement by looking at every one on every GPU: the definition of what a policy
/// decides.
std::optional<Decision> decide_by_scan(const Fleet& fleet, const ResolvedRequest& request,
                                       const ChosenPolicy& chosen);

}  // namespace cleave
