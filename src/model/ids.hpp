#pragma once
// Numbers for things that have names elsewhere: the engine decides by number, people use names.

#include <cstddef>
#include <cstdint>

namespace cleave {

/// A GPU by its place in the fleet.
enum class GpuId : std::uint32_t {};
/// A job by its place in the order of submission.
enum class JobId : std::uint32_t {};
/// A request by its place in a RequestTable; jobs with equal requests share one.
enum class RequestId : std::uint32_t {};

constexpr std::size_t index(GpuId id) {
  return static_cast<std::size_t>(id);
}
constexpr std::size_t index(JobId id) {
  return static_cast<std::size_t>(id);
}
constexpr std::size_t index(RequestId id) {
  return static_cast<std::size_t>(id);
}

}  // namespace cleave
