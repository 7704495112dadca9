#pragma once
// What a job is to those who wait for it.

#include <array>
#include <cstdint>
#include <string_view>

namespace cleave {

/// A batch has work that ends. A service, of which this is a replica, runs until it is no longer
/// wanted, and is judged by the time in which it keeps its target. A lease is a place for a person,
/// a notebook for example, who waits for its start and may leave it idle.
enum class JobKind : std::uint8_t { batch, service, lease };
inline constexpr std::array<std::string_view, 3> words_of_job_kind = {"batch", "service", "lease"};

}  // namespace cleave
