#pragma once
// What planner/mip.cpp calls of the library that holds the solver.

#include <cstdint>
#include <span>

#include "planner/mip.hpp"

namespace cleave {

inline constexpr const char* solver_library = "libcleave-solver.so";
inline constexpr const char* solver_function = "cleave_minimise";

}  // namespace cleave

/// `minimise` of planner/mip.hpp, with its outcome in the last argument.
extern "C" void cleave_minimise(const cleave::Mip& mip, std::span<const std::int64_t> known,
                                cleave::Deadline deadline, cleave::MipOutcome& outcome);
