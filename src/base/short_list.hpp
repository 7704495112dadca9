#pragma once
// A list that is nearly always short: up to `here` elements lie in the object itself, longer lists
// elsewhere. For plain values, in their order.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace cleave {

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
  /// Takes out the one that equals `value`, which must be there once.
  void erase(T value) {
    if (size_ > here) {
      std::erase(far_, value);
      if (--size_ > here) return;
      std::ranges::copy(far_, near_.begin());
      far_.clear();
      return;
    }
    std::remove(near_.begin(), near_.begin() + size_, value);
    --size_;
  }

 private:
  std::uint32_t size_ = 0;
  std::array<T, here> near_{};
  std::vector<T> far_;
};

}  // namespace cleave
