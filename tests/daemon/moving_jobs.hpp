#pragma once
// Jobs for plans, with real processes: each may be moved by one of the ways that there are, or not,
// and writes a line wherever it begins, so that tests can count how often it did.

#include <string>

#include "daemon_stand.hpp"

namespace cleave::whole {

/// What a job allows: that a replica takes over, that it is told to save its work, that a command
/// saves it, that one is tried in vain, nothing.
enum class Way { replica, signal, command, no_command, fixed };

/// Submits a job that would run for minutes.
std::int64_t submit_moving(const DaemonStand& stand, const std::string& profile, Way way);

/// Whether it began as often as the daemon has it: each start is an attempt of its own, what may
/// not be moved has one, and what was saved by a command is brought back by one. Fails the test
/// otherwise. Returns whether it was brought back.
bool began_as_told(DaemonStand& stand, Way way, const Json& job);

}  // namespace cleave::whole
