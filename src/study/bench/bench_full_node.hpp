#pragma once
// The largest simulated node, full of instances, as a program meets it that lists everything.

#include <memory>
#include <optional>
#include <string>

#include "base/work_folder.hpp"
#include "model/gpu_model.hpp"
#include "study/bench/bench_parts.hpp"

namespace cleave::cli {

/// An instant node for as long as the object lives, and the variable that names it.
class BenchNode {
 public:
  static Result<std::unique_ptr<BenchNode>> make(const GpuModel& model, std::size_t gpus);
  ~BenchNode();
  BenchNode(const BenchNode&) = delete;
  BenchNode& operator=(const BenchNode&) = delete;

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }

 private:
  explicit BenchNode(WorkFolder folder);
  WorkFolder folder_;
  std::optional<std::string> before_;
};

/// Medians over many enumerations.
struct FullNodeBench {
  std::size_t gpus = 0, instances = 0, calls = 0;
  double enumeration_ms = 0;
  double median_call_ns = 0;  // of the calls of an enumeration, each timed alone
};

/// Every GPU full of the model's smallest instances. Fails where the library is not the simulated
/// one.
[[nodiscard]] Result<FullNodeBench> bench_full_node(const std::string& library,
                                                    const GpuModel& model, Duration time);

}  // namespace cleave::cli
