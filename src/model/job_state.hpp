#pragma once
// The words for what a job of the daemon is doing and for why an attempt to run it ended: the same
// in the loop, in the store and over the socket.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cleave {

/// In the order in which a job goes through them; the last three are for good.
enum class JobState : std::uint8_t {
  queued,
  starting,
  running,
  stopping,
  finished,
  failed,
  cancelled
};
inline constexpr std::array<std::string_view, 7> job_state_names = {
    "queued", "starting", "running", "stopping", "finished", "failed", "cancelled"};
std::string_view name(JobState state);
[[nodiscard]] std::optional<JobState> parse_job_state(std::string_view name);
/// Nothing more will become of it.
constexpr bool is_final(JobState state) {
  return state >= JobState::finished;
}

/// Why an attempt ended.
enum class AttemptEnd : std::uint8_t {
  ended_itself,  // well or badly: the exit code tells
  out_of_memory,
  early_restart,  // before its memory would have run out
  made_room,      // the scheduler needed its place, or moves it
  moved,          // a replica took over
  cancelled,
  lost,  // its GPU, its instance or its supervisor is gone
  not_started,
  gang,        // another process of its job has ended badly, or lost its place
  idle,        // a lease without GPU work is given back
  time_limit,  // the job has run for as long as it may
};
inline constexpr std::array<std::string_view, 11> attempt_end_names = {
    "ended-itself", "out-of-memory", "early-restart", "made-room", "moved",     "cancelled",
    "lost",         "not-started",   "gang",          "idle",      "time-limit"};
std::string_view name(AttemptEnd end);
[[nodiscard]] std::optional<AttemptEnd> parse_attempt_end(std::string_view name);

}  // namespace cleave
