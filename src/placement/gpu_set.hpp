#pragma once
// A set of GPUs that gives its lowest one: a bit for each GPU, above it a bit for each word of 64
// that is not empty, and so on up to one word. Putting in, taking out and the lowest touch a word a
// layer.

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
#include <vector>

namespace cleave {

/// A set of GPUs out of a fixed number of them.
class GpuSet {
 public:
  /// Of GPUs 0 .. size - 1.
  explicit GpuSet(std::size_t size) {
    std::size_t words = 0;
    do {
      size = std::max<std::size_t>(1, (size + 63) / 64);
      begin_[layers_++] = static_cast<std::uint32_t>(words);
      words += size;
    } while (size > 1);
    words_.assign(words, 0);
  }

  [[nodiscard]] bool empty() const { return words_.back() == 0; }
  [[nodiscard]] std::size_t bytes() const { return words_.size() * sizeof(std::uint64_t); }

  void insert(std::uint32_t gpu) {
    std::size_t at = gpu;
    for (std::size_t layer = 0; layer < layers_; ++layer) {
      std::uint64_t& word = words_[begin_[layer] + at / 64];
      const bool was_empty = word == 0;
      word |= std::uint64_t{1} << at % 64;
      if (!was_empty) return;
      at /= 64;
    }
  }

  void erase(std::uint32_t gpu) {
    std::size_t at = gpu;
    for (std::size_t layer = 0; layer < layers_; ++layer) {
      std::uint64_t& word = words_[begin_[layer] + at / 64];
      word &= ~(std::uint64_t{1} << at % 64);
      if (word != 0) return;
      at /= 64;
    }
  }

  /// The set must not be empty.
  [[nodiscard]] std::uint32_t first() const {
    assert(!empty());
    std::size_t at = 0;
    for (std::size_t layer = layers_; layer-- > 0;)
      at = at * 64 + static_cast<std::size_t>(std::countr_zero(words_[begin_[layer] + at]));
    return static_cast<std::uint32_t>(at);
  }

 private:
  std::vector<std::uint64_t> words_;
  std::array<std::uint32_t, 6>
      begin_{};             // where each layer begins in words_, from the GPUs upwards
  std::size_t layers_ = 0;  // six cover every GpuId
};

}  // namespace cleave
