#pragma once
// A program that does anything and everything to the GPUs of a simulated node, at random, through
// the same door as Cleave itself.

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>

#include "device/nvml_door.hpp"

namespace cleave::soak {

/// The simulated library of this build.
std::string library_file();

/// A door through the simulated library to this node; stops the program where there is none.
std::unique_ptr<NvmlDoor> open_door(const std::filesystem::path& node);

/// Counts up while operations are done, each before it begins; they end when `until` is reached.
/// Returns what went wrong: an answer that no documented rule explains. Empty: nothing.
std::string random_operations(NvmlDoor& door, const std::filesystem::path& node, std::uint64_t seed,
                              std::atomic<std::int64_t>& count, std::int64_t until);

/// Takes everything away, waiting for nobody; then what a client that has just come does first,
/// each step timed. Returns what is wrong.
std::string tidy_up(NvmlDoor& door);

}  // namespace cleave::soak
