#pragma once
// A program that does everything to the GPUs of a simulated node, at random, through the same door
// as Cleave itself.

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>

#include "device/nvml_door.hpp"

namespace cleave::soak {

/// The simulated library of this build.
std::string library_file();

/// A door through the simulated library to this node; stops the program if there is none.
std::unique_ptr<NvmlDoor> open_door(const std::filesystem::path& node);

/// Performs random operations, counting each before it begins, until the count reaches `until`.
/// Returns the first answer that no documented rule explains; empty: none.
std::string random_operations(NvmlDoor& door, const std::filesystem::path& node, std::uint64_t seed,
                              std::atomic<std::int64_t>& count, std::int64_t until);

/// Destroys everything without waiting for others; then does what a new client does first, with
/// each step timed. Returns what is wrong.
std::string tidy_up(NvmlDoor& door);

}  // namespace cleave::soak
