#pragma once
// Numbers that know what they count. Compute slices, memory slices and mebibytes are different
// types: the compiler refuses to add or compare two of different kinds. All of it is constexpr and
// costs what a plain integer costs.

#include <compare>
#include <cstdint>

namespace cleave {

/// A count of things of one kind. Two kinds cannot be mixed by accident.
template <class Kind, class Number = int>
struct Count {
  Number value = 0;

  friend constexpr auto operator<=>(Count, Count) = default;
  friend constexpr Count operator+(Count a, Count b) { return {a.value + b.value}; }
  friend constexpr Count operator-(Count a, Count b) { return {a.value - b.value}; }
  friend constexpr Count operator*(Number times, Count a) { return {times * a.value}; }
  constexpr Count& operator+=(Count b) { return *this = *this + b; }
  constexpr Count& operator-=(Count b) { return *this = *this - b; }
};

/// The unit in which NVIDIA divides a GPU's processors (sevenths of an A100, quarters of an A30).
using ComputeSlices = Count<struct ComputeSliceKind>;

/// The unit in which a GPU's memory is divided (eighths of an A100). Starts of instances are
/// counted in it, too.
using MemorySlices = Count<struct MemorySliceKind>;

/// Streaming multiprocessors.
using Sms = Count<struct SmKind>;

/// Mebibytes, 2^20 bytes.
using MiB = Count<struct MebibyteKind, std::int64_t>;

/// Bytes are plain numbers, as drivers and files give them; these lead to and from MiB.
inline constexpr std::int64_t bytes_per_mib = 1 << 20;
constexpr std::uint64_t in_bytes(MiB memory) {
  return static_cast<std::uint64_t>(memory.value) * bytes_per_mib;
}
/// Rounded up: an instance of that size holds the bytes.
constexpr MiB mib_that_hold(std::uint64_t bytes) {
  return {static_cast<std::int64_t>(bytes / bytes_per_mib + (bytes % bytes_per_mib > 0 ? 1 : 0))};
}
/// Whole mebibytes only: what drivers and their tools show.
constexpr MiB whole_mib(std::uint64_t bytes) {
  return {static_cast<std::int64_t>(bytes / bytes_per_mib)};
}

}  // namespace cleave
