#include "control/job_record.hpp"

#include <algorithm>
#include <array>

namespace cleave {

namespace {

constexpr std::array<std::string_view, 7> state_names = {
    "queued", "starting", "running", "stopping", "finished", "failed", "cancelled"};
constexpr std::array<std::string_view, 8> end_names = {
    "ended-itself", "out-of-memory", "early-restart", "made-room",
    "moved",        "cancelled",     "lost",          "not-started"};

template <class Enum, std::size_t N>
std::optional<Enum> find_name(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

}  // namespace

std::string_view name(JobState state) {
  return state_names[static_cast<std::size_t>(state)];
}
std::optional<JobState> parse_job_state(std::string_view name) {
  return find_name<JobState>(state_names, name);
}
std::string_view name(AttemptEnd end) {
  return end_names[static_cast<std::size_t>(end)];
}
std::optional<AttemptEnd> parse_attempt_end(std::string_view name) {
  return find_name<AttemptEnd>(end_names, name);
}

}  // namespace cleave
