#include "slurm/lost_ends.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace cleave {

namespace {

/// In which the accounting has been asked of every job, also where it was away itself.
constexpr Duration long_ago = std::chrono::minutes(3);

std::optional<Instant> time_of(std::string_view text) {
  const auto seconds = parse_integer(text);
  if (!seconds || *seconds <= 0) return std::nullopt;
  return Instant(std::chrono::seconds(*seconds));
}

/// "1:0" and "0:15": the exit code and the signal.
std::optional<std::int64_t> status_of(std::string_view text) {
  const auto parts = split(text, ':');
  if (parts.size() != 2) return std::nullopt;
  const auto code = parse_integer(parts[0]), signal = parse_integer(parts[1]);
  if (!code || !signal) return std::nullopt;
  return (*code & 0xff) << 8 | (*signal & 0x7f);
}

/// "COMPLETED", "CANCELLED by 1000".
bool is_for_good(std::string_view state) {
  constexpr std::string_view states[] = {"COMPLETED", "FAILED",        "CANCELLED",
                                         "TIMEOUT",   "OUT_OF_MEMORY", "DEADLINE"};
  return std::ranges::find(states, state.substr(0, state.find(' '))) != std::end(states);
}

}  // namespace

std::vector<const SlurmJob*> may_have_ended(const SlurmSight& sight, Instant now) {
  std::vector<const SlurmJob*> jobs;
  if (!sight.begun || now - *sight.begun > long_ago) return jobs;
  for (const SlurmJob& job : sight.jobs)
    if (job.state == SlurmJobState::running && sum_of(job.asks) > 0 && job.starts < sight.begun)
      jobs.push_back(&job);
  return jobs;
}

std::vector<AccountedEnd> parse_ends(std::string_view text) {
  std::vector<AccountedEnd> ends;
  for (const std::string_view line : split(text, '\n')) {
    const auto fields = split(line, '|');
    if (fields.size() != 5 || !is_for_good(fields[4])) continue;
    const auto job = parse_integer(fields[0]);
    const auto started = time_of(fields[1]), ended = time_of(fields[2]);
    const auto status = status_of(fields[3]);
    if (job && started && ended && status) ends.push_back({*job, *started, *status});
  }
  return ends;
}

std::vector<AccountedEnd> lost_ends(const std::vector<const SlurmJob*>& jobs,
                                    const std::vector<AccountedEnd>& ends) {
  std::vector<AccountedEnd> lost;
  for (const SlurmJob* job : jobs) {
    const auto found = std::ranges::find_if(ends, [&](const AccountedEnd& end) {
      return end.job == job->number && job->starts == end.started;
    });
    if (found != ends.end()) lost.push_back(*found);
  }
  return lost;
}

}  // namespace cleave
