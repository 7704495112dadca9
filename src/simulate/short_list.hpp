#pragma once
// A list that is nearly always short: up to `here` elements are stored in the object itself, longer
// lists on the heap. For plain values, in the order in which they were added.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace cleave {

/// A list of at most `here` elements in place, or of more on the heap.
template <class T, std::size_t here>
class ShortList {
 public:
  [[nodiscard]] std::span<const T> all() const {
    return size_ <= here ? std::span<const T>(near_.data(), size_) : std::span<const T>(far_);
  }
  void push_back(T value) {
    if (size_ == here) far_.assign(near_.begin(), near_.end());
    if (size_ >= here) {
      far_.push_back(value);
    } else {
      near_[size_] = value;
    }
    ++size_;
  }
  /// Removes the first element that equals `value`; there must be one.
  void erase(T value) {
    if (size_ > here) {
      far_.erase(std::ranges::find(far_, value));
      if (--size_ > here) return;
      std::ranges::copy(far_, near_.begin());
      far_.clear();
      return;
    }
    const auto end = near_.begin() + size_;
    std::move(std::find(near_.begin(), end, value) + 1, end, std::find(near_.begin(), end, value));
    --size_;
  }

 private:
  std::uint32_t size_ = 0;
  std::array<T, here> near_{};
  std::vector<T> far_;
};

}  // namespace cleave
