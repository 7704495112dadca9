#pragma once
// Small numbers for things that have names elsewhere: decisions are made on these, names are for
// people.

#include <cstddef>
#include <cstdint>

namespace cleave {

/// A GPU by its place in the fleet.
enum class GpuId : std::uint32_t {};
/// A job by its place in the order of submission.
enum class JobId : std::uint32_t {};
/// A request by its place in a RequestTable; jobs that ask for the same share one.
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
