#include "model/job_state.hpp"

#include <algorithm>

namespace cleave {

namespace {

template <class Enum, std::size_t N>
std::optional<Enum> find_name(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

}  // namespace

std::string_view name(JobState state) {
  return job_state_names[static_cast<std::size_t>(state)];
}
std::optional<JobState> parse_job_state(std::string_view name) {
  return find_name<JobState>(job_state_names, name);
}
std::string_view name(AttemptEnd end) {
  return attempt_end_names[static_cast<std::size_t>(end)];
}
std::optional<AttemptEnd> parse_attempt_end(std::string_view name) {
  return find_name<AttemptEnd>(attempt_end_names, name);
}

}  // namespace cleave
