#include "model/dependency.hpp"

#include <algorithm>
#include <array>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

constexpr std::array<std::string_view, 3> words = {"ok", "failed", "any"};
constexpr const char* how_written =
    "write ok:12, failed:12 or any:12: how the job must have ended, and its number";

std::unexpected<Error> wrong(std::string message) {
  return fail(ErrorKind::bad_input, "", std::move(message), how_written);
}

std::optional<std::int64_t> parse_job_number(std::string_view text) {
  const bool digits = !text.empty() && text.size() <= 18 &&
                      std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  return digits ? parse_integer(text) : std::nullopt;
}

}  // namespace

Result<Dependency> parse_dependency(std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto* const word = std::ranges::find(words, text.substr(0, colon));
  if (colon == text.npos || word == words.end())
    return wrong(fmt::format("'{}' does not say how a job must have ended", shown(text)));
  const std::string_view jobs = text.substr(colon + 1);
  const std::size_t dash = jobs.find('-');
  const auto first = parse_job_number(jobs.substr(0, dash));
  const auto last = dash == jobs.npos ? first : parse_job_number(jobs.substr(dash + 1));
  if (!first || !last || *first < 1 || *last < *first)
    return wrong(fmt::format("'{}' is not the number of a job", shown(jobs)));
  if (*last - *first >= most_jobs_named)
    return wrong(fmt::format("'{}' names more than {} jobs", shown(jobs), most_jobs_named));
  return Dependency{static_cast<Dependency::On>(word - words.begin()), *first, *last};
}

std::optional<WrongValue> wrong_dependency(std::string_view text) {
  const auto dependency = parse_dependency(text);
  if (dependency) return std::nullopt;
  return WrongValue{dependency.error().message, dependency.error().remedy};
}

bool is_met_by(const Dependency& dependency, JobState end) {
  switch (dependency.on) {
    case Dependency::On::ok:
      return end == JobState::finished;
    case Dependency::On::failed:
      return end == JobState::failed || end == JobState::cancelled;
    case Dependency::On::any:
      return is_final(end);
  }
  return false;
}

std::string in_words(const Dependency& dependency) {
  static constexpr std::array<std::string_view, 3> ends = {"finished", "failed or been cancelled",
                                                           "ended"};
  const std::string_view end = ends[static_cast<std::size_t>(dependency.on)];
  if (dependency.one()) return fmt::format("job {} has {}", dependency.first, end);
  return fmt::format("jobs {} to {} have {}", dependency.first, dependency.last, end);
}

/// Takes away what waits for none of the others, again and again; what is left waits in circles.
std::vector<std::size_t> waiting_circle(const std::vector<std::vector<std::size_t>>& awaited) {
  std::vector<std::size_t> left(awaited.size()), free;
  std::vector<std::vector<std::size_t>> waiting(awaited.size());
  for (std::size_t i = 0; i < awaited.size(); ++i) {
    left[i] = awaited[i].size();
    for (const std::size_t each : awaited[i]) waiting[each].push_back(i);
    if (left[i] == 0) free.push_back(i);
  }
  while (!free.empty()) {
    const std::size_t one = free.back();
    free.pop_back();
    for (const std::size_t other : waiting[one])
      if (--left[other] == 0) free.push_back(other);
  }
  const auto is_left = [&](std::size_t i) { return left[i] > 0; };
  std::size_t at = 0;
  while (at < awaited.size() && !is_left(at)) ++at;
  if (at == awaited.size()) return {};
  // From one that is left to one that it waits for, until one comes again.
  std::vector<std::size_t> path;
  while (std::ranges::find(path, at) == path.end()) {
    path.push_back(at);
    at = *std::ranges::find_if(awaited[at], is_left);
  }
  path.erase(path.begin(), std::ranges::find(path, at));
  return path;
}

}  // namespace cleave
