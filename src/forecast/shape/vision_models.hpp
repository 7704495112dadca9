#pragma once
// Convolutional networks as rows of layers: how many parameters each has, and what it keeps for the
// backward pass. The networks are those of the published papers as built by torchvision and timm
// (without the auxiliary output of Inception); the counted parameters agree exactly with the
// published numbers.
//
// What a layer keeps follows from what its derivative needs, in numbers for each image:
//   a convolution its input, which is what the layer before it kept last;
//   batch normalisation its input;
//   ReLU in place its result, shared with the next layer's input;
//   SiLU, Hardswish and ReLU6 their input besides their result;
//   a gate (squeeze and excitation), a concatenation, an activation out of place: their result;
//   max pooling its result and where each maximum was (8 bytes).
// Dropout masks and the small tensors of gates are left out.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace cleave {

/// One layer's memory.
struct VisionLayer {
  std::uint64_t parameters = 0;
  std::uint64_t kept = 0;     // numbers for each image
  std::uint64_t indices = 0;  // of 8 bytes, for each image
  std::uint64_t moved = 0;    // input and output together, numbers for each image
};

/// A network for one image size.
struct VisionNetwork {
  std::string_view name;
  std::int64_t pixels = 0, classes = 0;
  std::vector<VisionLayer> layers;

  [[nodiscard]] std::uint64_t parameters() const;
  [[nodiscard]] std::uint64_t kept() const;
  [[nodiscard]] std::uint64_t indices() const;
  /// Of the layer with the most.
  [[nodiscard]] std::uint64_t most_moved() const;
};

/// A network of the table.
struct VisionRow {
  std::string_view name;               // "resnet50"
  std::int64_t pixels;                 // the usual size of its images
  std::uint64_t published_parameters;  // with 1000 classes
};
std::span<const VisionRow> vision_models();

/// NAME[:PIXELS[:CLASSES]], as in resnet50:32:100; PIXELS from 32 to 4096.
[[nodiscard]] Result<VisionNetwork> vision_network(std::string_view spec);

}  // namespace cleave
