#pragma once
// Questions about choices as JSON, and their answers: which of the measured instances (`cleave
// recommend`), which partition for each job (`cleave choose`), what a GPU loses to MIG (`cleave
// waste`). The keys are those of the reference cases `best`, `reward`, `bpp`, `waste` and `table`;
// docs/choosing.md lists them.
//
// The `read_` functions record errors in the reader, as JsonReader does; their value is then
// meaningless. The `parse_` functions take a whole file and refuse unknown keys.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.hpp"
#include "base/ratio.hpp"
#include "base/result.hpp"
#include "forecast/choice/batch_partition.hpp"
#include "forecast/choice/reward.hpp"
#include "forecast/choice/wasted_resources.hpp"

namespace cleave {

class JsonReader;

// --- which of the measured instances ---

/// The input of `cleave recommend`.
struct RewardQuestion {
  RewardBasis basis;
  std::vector<MeasuredInstance> instances;
};

/// {"alpha", "gpu_sms", "perf_full", "configs": [{"name", "sms", "occupancy" |
/// "instance_occupancy", "capacity", "peak", "perf", "offload"}]}; alpha is optional with default
/// 1, offload with default false.
RewardQuestion read_reward_question(JsonReader& in);
/// The same keys in one object, without `configs` and name: one instance, called "".
RewardQuestion read_reward_of_one(JsonReader& in);
[[nodiscard]] Result<RewardQuestion> parse_reward_question(std::string_view text,
                                                           const std::string& place);
[[nodiscard]] Json to_json(const RewardQuestion& question);

/// {"sm_waste", "memory_waste", "relative_performance", "reward"}
[[nodiscard]] Json to_json(const Reward& reward);
/// {"best": a name or null, "best_index": into configs, since a profile may be there twice,
/// "equal_best": [names], "configs": [{"name", "offload", and a reward's}]}
[[nodiscard]] Json to_json(const RewardQuestion& question, const Recommendation& answer);

// --- which partition for each job ---

/// One job of a batch as in the file; `memory` is its need on each partition.
struct ChoiceJob {
  std::string id, application;
  std::int64_t batch = 1;
  std::vector<double> memory;  // by partition, or one value for all; empty: not given
  std::optional<double> deadline;
};

/// The input of `cleave choose`.
struct BatchQuestion {
  PartitionWeighing<double> weighing;
  std::vector<PartitionOption<double>> partitions;
  /// A measurement with its application and partition.
  struct Row {
    std::string application, partition;
    MeasuredRow<double> measured;
  };
  std::vector<Row> rows;
  std::vector<ChoiceJob> jobs;
};

/// Whether the question must be complete, or may leave out what a profile repository provides:
/// `partitions`, `profiles` and the jobs' `memory`. These three belong together, since jobs give
/// memory by the names of partitions.
enum class BatchParts { all, jobs_alone };

/// {"lambda", "margin", "base", "partitions": [{"name", "slices", "memory"}], "jobs": [{"id",
/// "model", "batch", "memory": {partition: memory} | memory, "deadline"}], "profiles": [{"model",
/// "batch", "partition", "latency", "throughput"}]}; margin, base and deadline are optional, and so
/// is lambda, with default 0.5.
BatchQuestion read_batch_question(JsonReader& in, BatchParts parts = BatchParts::all);
[[nodiscard]] Result<BatchQuestion> parse_batch_question(std::string_view text,
                                                         const std::string& place,
                                                         BatchParts parts = BatchParts::all);
[[nodiscard]] Json to_json(const BatchQuestion& question);

/// A number with its exact form, if the decimals of the question are short enough for one.
struct ExactNumber {
  double value = 0;
  std::optional<Ratio> exact;
};

/// One choice for each job, in their order: in exact fractions of the decimals in the question, and
/// in doubles if these do not fit into 64 bits. Every job must give its memory.
[[nodiscard]] std::vector<PartitionChoice<ExactNumber>> choose_partitions(
    const BatchQuestion& question);

/// How many jobs chose a partition.
struct PartitionDemand {
  std::size_t partition = 0;
  std::int64_t count = 0;
};
/// The batch as a whole, in the order of the table, without partitions that no job chose.
[[nodiscard]] std::vector<PartitionDemand> demand_of(
    std::span<const PartitionChoice<ExactNumber>> choices);

/// {"jobs": [{"id", "choice", "edges": [{"partition", "delta_latency", "delta_throughput",
/// "weight"}], "excluded": [{"partition", "reason"}]}], "batch": [{"partition", "count"}]}; numbers
/// are {"value", "exact"}.
[[nodiscard]] Json to_json(const BatchQuestion& question,
                           std::span<const PartitionChoice<ExactNumber>> choices);

// --- what a GPU loses to MIG ---

/// The input of `cleave waste`.
struct WasteQuestion {
  GpuTotals gpu;
  std::vector<InstanceCount> instances;
};

/// {"gpu_sms", "gpu_memory", "instances": [{"sms", "memory", "count"}]}
WasteQuestion read_waste_question(JsonReader& in);
/// Empty for {}, which asks for the paper's table.
[[nodiscard]] Result<std::optional<WasteQuestion>> parse_waste_question(std::string_view text,
                                                                        const std::string& place);

/// {"wasted_sms", "wasted_sms_percent", "wasted_memory"}; null where unknown.
[[nodiscard]] Json to_json(const WastedResources& waste);
/// The paper's Table II as printed, recomputed and achievable: {"rows", "mix_4g_3g"}.
[[nodiscard]] Json published_waste_json();

}  // namespace cleave
