#pragma once
// Numbers that know what they count. A slice of compute is not a slice of memory, and neither is a
// mebibyte: the compiler refuses to add or compare two of different kinds. All of it is constexpr
// and costs what a bare integer costs.

#include <compare>
#include <cstdint>

namespace cleave {

/// A count of things of one kind; two kinds never mix by accident.
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

/// The unit in which a GPU's memory is divided (eighths of an A100); also where an instance starts.
using MemorySlices = Count<struct MemorySliceKind>;

/// Streaming multiprocessors.
using Sms = Count<struct SmKind>;

/// Mebibytes, 2^20 bytes.
using MiB = Count<struct MebibyteKind, std::int64_t>;

}  // namespace cleave
