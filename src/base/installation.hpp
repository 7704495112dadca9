#pragma once
// Where the other files of this installation are: below the same prefix as the running program,
// wherever that was put. PREFIX/bin has the programs that people call, PREFIX/libexec/cleave those
// that only programs call, PREFIX/lib what is loaded on use. In a build tree all programs are in
// bin.

#include <filesystem>
#include <string>

#include "base/result.hpp"

namespace cleave {

/// The prefix of a program: of PREFIX/bin/cleave and of PREFIX/libexec/cleave/cleave-study.
[[nodiscard]] std::filesystem::path prefix_of(const std::filesystem::path& program);

/// The prefix of the running program.
[[nodiscard]] std::filesystem::path installation_prefix();

/// A program of the same installation: in libexec/cleave if it is there, otherwise in bin.
[[nodiscard]] std::filesystem::path installed_program(const std::string& name,
                                                      const std::filesystem::path& prefix);
[[nodiscard]] std::filesystem::path installed_program(const std::string& name);

/// A function of a library in lib/cleave, which is loaded by the first call and stays. Programs
/// built with Cleave's libraries find those of the system's installation.
[[nodiscard]] Result<void*> installed_function(const std::string& library, const char* function);

}  // namespace cleave
