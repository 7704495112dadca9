#pragma once
// What a job waits for before it may start: "ok:12", how other jobs of its user end.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.hpp"
#include "base/result.hpp"
#include "model/job_state.hpp"

namespace cleave {

/// Jobs that must have ended, each of them in this way.
struct Dependency {
  enum class On : std::uint8_t {
    ok,      // it has finished
    failed,  // it has failed, or was cancelled
    any,     // it has ended
  } on = On::ok;
  std::int64_t first = 0, last = 0;  // numbers of jobs

  friend bool operator==(const Dependency&, const Dependency&) = default;
  [[nodiscard]] bool one() const { return first == last; }
  [[nodiscard]] bool names(std::int64_t job) const { return first <= job && job <= last; }
};

inline constexpr std::int64_t most_dependencies = 1000;
/// Jobs that one of them may name.
inline constexpr std::int64_t most_jobs_named = 100'000;

/// "ok:12", "failed:13", "any:12-40". Errors have no place.
[[nodiscard]] Result<Dependency> parse_dependency(std::string_view text);
/// The rule of a field.
[[nodiscard]] std::optional<WrongValue> wrong_dependency(std::string_view text);

/// Whether a job that ended so is as the dependency wants it.
[[nodiscard]] bool is_met_by(const Dependency& dependency, JobState end);
/// "it waits until job 12 has ended well", without its first words: "job 12 has ended well"
[[nodiscard]] std::string in_words(const Dependency& dependency);

/// Of jobs that wait for others of them, by their positions: those that do so in a circle, each for
/// the next and the last for the first. Empty: there are none.
[[nodiscard]] std::vector<std::size_t> waiting_circle(
    const std::vector<std::vector<std::size_t>>& awaited);

}  // namespace cleave
