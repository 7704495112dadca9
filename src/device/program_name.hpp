#pragma once
// What the system calls a process.

#include <cstdint>
#include <filesystem>
#include <string>

namespace cleave {

/// The name of its program, fit to be shown; empty where it cannot be read.
std::string program_of(std::uint32_t pid, const std::filesystem::path& proc = "/proc");

}  // namespace cleave
