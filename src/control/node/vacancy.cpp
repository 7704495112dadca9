#include "control/node/vacancy.hpp"

#include <utility>

#include "base/format.hpp"

namespace cleave {

std::string strangers_text(const Vacancy& vacancy) {
  const bool one = vacancy.strangers.size() == 1;
  return fmt::format("process{} {} {} there, and no job", one ? "" : "es",
                     pids_text(vacancy.strangers), one ? "is" : "are");
}

VacancyChange hear(Vacancy& vacancy, std::uint64_t number,
                   const std::vector<LiveProcess>& processes, Duration now) {
  // The operation may have looked while the last job was still there.
  if (number <= vacancy.since) return VacancyChange::nothing;
  vacancy.unseen = false;
  if (processes.empty()) {
    vacancy.seen_free = now;
    vacancy.strangers.clear();
    return std::exchange(vacancy.set_aside, false) ? VacancyChange::free_again
                                                   : VacancyChange::nothing;
  }
  if (vacancy.strangers.empty()) vacancy.strangers_since = now;
  vacancy.strangers = processes;
  vacancy.seen_free.reset();
  if (vacancy.set_aside || now - vacancy.strangers_since < stranger_stays)
    return VacancyChange::nothing;
  vacancy.set_aside = true;
  return VacancyChange::set_aside;
}

}  // namespace cleave
