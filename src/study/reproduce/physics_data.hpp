#pragma once
// The measurements that `cleave reproduce physics` scores the laws on: public data, read from a
// folder with one folder for each source. They are not part of Cleave.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/gpu_model.hpp"

namespace cleave {

/// Slices of an A100: 1g, 2g, 3g, 4g, 7g, without the 1g with double memory.
inline constexpr std::size_t a100_sizes = 5, a100_whole = 4;
inline constexpr std::array<int, a100_sizes> a100_compute = {1, 2, 3, 4, 7};
inline constexpr std::array<int, a100_sizes> a100_memory = {1, 2, 4, 4, 8};
inline constexpr std::array<std::string_view, a100_sizes> a100_names = {"1g", "2g", "3g", "4g",
                                                                        "7g"};
/// The profile of such a size.
const Profile& a100_profile(const GpuModel& gpu, std::size_t size);

/// The time of a batch of a model, by size; 0 where it did not run.
struct JobTimes {
  std::string model;
  int batch = 0;
  std::array<double, a100_sizes> seconds{};

  [[nodiscard]] std::size_t ran() const;       // on how many sizes
  [[nodiscard]] std::size_t smallest() const;  // of those it ran on
};

/// One process of an inference service, of `processes` that share an instance.
struct InferenceRow {
  std::string model;
  std::size_t size = 0;
  int batch = 0, processes = 0;
  double seconds = 0;  // of a batch; 0: did not fit
};

/// Creating or destroying a layout.
struct LayoutRow {
  std::string layout;
  bool create = false;
  int instances = 0, memory_slices = 0;
  double median_ms = 0;
};

/// STREAM on an instance, alone or beside others; ResNet-50 likewise.
struct StreamRow {
  std::string setting, kernel;
  double median_s = 0;
};
struct CorunRow {
  std::string layout, profile;
  int instances = 0;
  double median_s = 0;
};

/// What was found. A source that is absent has a reason.
template <class Row>
struct Measured {
  std::vector<Row> rows;
  std::string missing;  // why there are none; empty: there are
};

/// All sources.
struct PhysicsData {
  Measured<JobTimes> miso;           // training on an A100 40 GB, without deepspeech2
  Measured<InferenceRow> inference;  // ParvaGPU's, on an A100 80 GB
  Measured<LayoutRow> layouts;
  Measured<StreamRow> stream;
  Measured<CorunRow> resnet;
};

/// Reads what is below `folder`; an absent file is not an error, a broken one is.
[[nodiscard]] Result<PhysicsData> read_physics_data(const std::string& folder);

/// The rows of one process, as times by size.
std::vector<JobTimes> jobs_of(const std::vector<InferenceRow>& rows);

}  // namespace cleave
