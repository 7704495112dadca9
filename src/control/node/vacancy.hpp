#pragma once
// What is known of a place that no job has: whether processes are there all the same. Programs that
// escaped from a job, or that somebody started beside Cleave, would share memory and processors
// with the next job there.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "device/gpu_view.hpp"

namespace cleave {

/// How long a place that was seen free counts as free while the other places of the same job are
/// still to be seen.
inline constexpr Duration vacancy_holds = std::chrono::seconds(1);
/// A driver may show a process that has just ended: only one that is still there this much later
/// counts.
inline constexpr Duration stranger_stays = std::chrono::milliseconds(250);

/// An instance, or a GPU with MIG off, between the last attempt that was there and the next. Times
/// are on the steady clock.
struct Vacancy {
  std::uint64_t since = 0;             // the last operation asked for before it was left
  bool unseen = false;                 // nobody has looked since it was left
  std::optional<Duration> seen_free;   // when it was last seen without processes
  std::vector<LiveProcess> strangers;  // that were seen there last
  Duration strangers_since{};
  bool set_aside = false;  // for its strangers: it is given to nobody
};
/// "process 4711 is there, and no job": of one that is set aside.
[[nodiscard]] std::string strangers_text(const Vacancy& vacancy);

/// What an observation changes.
enum class VacancyChange : std::uint8_t { nothing, set_aside, free_again };

/// `number`: of the operation that the observation comes from.
[[nodiscard]] VacancyChange hear(Vacancy& vacancy, std::uint64_t number,
                                 const std::vector<LiveProcess>& processes, Duration now);

/// Whether it may be given out as it was seen in this step of the loop or, for one of several
/// places, shortly before.
[[nodiscard]] inline bool is_free(const Vacancy& vacancy, Duration now, bool one_of_several) {
  return vacancy.seen_free &&
         now - *vacancy.seen_free <= (one_of_several ? vacancy_holds : Duration{});
}
/// Whether another look can tell more by now; of one that is not free.
[[nodiscard]] inline bool is_worth_a_look(const Vacancy& vacancy, Duration now) {
  return vacancy.strangers.empty() || now - vacancy.strangers_since >= stranger_stays;
}

}  // namespace cleave
