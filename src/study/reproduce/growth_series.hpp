#pragma once
// Memory of running jobs, iteration by iteration, in the shapes in which it grows: key-value caches
// of known models under the request lengths of real traces, and lines, saturating curves, steps and
// heavy-tailed noise made up. What is drawn is a function of the seed alone.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/memory_report.hpp"

namespace cleave {

/// One job's reports, whole; `iterations` says how many.
struct GrowthSeries {
  std::vector<MemoryReport> reports;
  [[nodiscard]] MiB peak() const;
};

/// What is known of real requests and models; empty where the data are not at hand.
struct ServingFacts {
  struct Lengths {
    std::string trace;
    std::vector<double> input, output;  // tokens, request by request
  };
  struct Model {
    std::string name;
    double weights_mib = 0, kv_mib_per_token = 0;
  };
  std::vector<Lengths> traces;
  std::vector<Model> models;
};

/// A way in which the memory of a job grows.
struct GrowthShape {
  std::string_view name;
  std::string_view what;
  bool needs_facts;
  GrowthSeries (*make)(const ServingFacts& facts, std::uint64_t seed);
};

std::vector<GrowthShape> growth_shapes();

/// Facts of real serving from `models`, `azure-llm-2023` and `mooncake-fast25` below `folder`:
/// shapes of published models, lengths of requests in traces. Empty if the folder does not exist.
[[nodiscard]] Result<ServingFacts> read_serving_facts(const std::string& folder);

}  // namespace cleave
