#pragma once
// The commands of `cleaved` that read its store: what they print, and their exit codes.

#include <string>

#include "daemon/daemon.hpp"

namespace cleave {

inline constexpr const char* check_exit_status =
    "0 The store is sound.\n1 Something is wrong with it.\n2 The command line is wrong, or there "
    "is no store that can be read.";
inline constexpr const char* backup_exit_status =
    "0 The backup is on the disk.\n1 None was made: the store is damaged, or it or the file cannot "
    "be used.\n2 The command line is wrong, or the file is there already.";

/// Says all that is wrong with the store, and what helps.
[[nodiscard]] int run_check(const DaemonArguments& arguments);
/// Copies the store to a file that is not there yet.
[[nodiscard]] int run_backup(const DaemonArguments& arguments, const std::string& file);

}  // namespace cleave
