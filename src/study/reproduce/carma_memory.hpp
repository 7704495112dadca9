#pragma once
// `cleave reproduce carma`: forecasts of memory beside what was measured, for the training tasks of
// CARMA (github.com/itu-rad/CARMA): networks for images in 32 bits, on an A100 whose memory
// nvidia-smi showed. The instance that the forecast calls for is held against the smallest whose
// memory holds the measured peak.
//
// What the tasks train can be read in two ways: as their names say, and as their published scripts
// do (Xception's images are cut to 224 pixels, resnet50_cifar100 makes an EfficientNet,
// mobilenet_cifar100 a small MobileNetV3). All scripts use Adam or AdamW.

#include <string>
#include <string_view>
#include <vector>

#include "forecast/shape/model_memory.hpp"

namespace cleave {

enum class CarmaReading : std::uint8_t { names, scripts };

/// One measured task, and the forecast for it.
struct CarmaTask {
  std::string model;
  std::int64_t batch = 0;  // 0: the data do not say
  double measured_mib = 0;
  std::string network;  // NAME:PIXELS:CLASSES; empty: no forecast
  std::string lacking;  // then, what for
  MiB forecast{};
  const Profile* right = nullptr;   // smallest that holds what was measured
  const Profile* chosen = nullptr;  // smallest that holds the forecast; null: none does

  /// Of the measured memory.
  [[nodiscard]] double error() const {
    return static_cast<double>(forecast.value) / measured_mib - 1;
  }
};

/// All tasks on one GPU model.
struct CarmaReport {
  std::vector<CarmaTask> tasks;  // in the order of the file
  const GpuModel* gpu = nullptr;

  /// By how many sizes of memory the chosen profile is above the right one.
  [[nodiscard]] int sizes_above(const CarmaTask& task) const;
  [[nodiscard]] std::size_t forecasts() const;
  /// Forecasts that land on the right size or the next larger one; one that no instance holds does
  /// not.
  [[nodiscard]] std::size_t landed() const;
};

/// `text` has the columns model, batch_size, max_memory_mib.
[[nodiscard]] Result<CarmaReport> carma_memory(std::string_view text, const std::string& place,
                                               CarmaReading reading,
                                               std::uint64_t moved_copies = usual_moved_copies);

}  // namespace cleave
