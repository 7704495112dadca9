#pragma once
// The networks that *MIGM* trains (5.2.1): their memory by the estimator of `cleave forecast
// model`, and how fast they train on slices by the trainings that MISO measured.

#include <cstdint>
#include <string_view>

#include "base/result.hpp"
#include "model/job.hpp"

namespace cleave {

/// One training: "bert", "vgg16", "resnet50" or "inceptionv3", and its batch.
struct Training {
  std::string_view network;
  std::int64_t batch;
  std::int64_t tokens;  // of a sequence of BERT's
};

/// Of one process, with Adam and 32-bit numbers, on images of the network's usual size.
[[nodiscard]] Result<MiB> training_memory(const Training& training);

/// Speeds of a training that needs `memory`, on the plain profiles of an A100-40GB that hold it, by
/// the row that MISO measured for this model and batch. Profiles that it did not measure get the
/// law of slices.
[[nodiscard]] SpeedTable training_speeds(std::string_view miso_model, int miso_batch, MiB memory);

}  // namespace cleave
