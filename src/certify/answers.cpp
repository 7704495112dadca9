#include "certify/answers.hpp"

#include <algorithm>
#include <array>

namespace cleave::certify {

namespace {

constexpr auto topic_names = std::to_array<std::string_view>(
    {"geometry", "placements", "capacity", "instances", "lifecycle", "errors", "memory", "counting",
     "identity", "power", "clocks", "health", "monitoring", "functions", "unsupported", "driver"});
static_assert(topic_names.size() == topics);

constexpr auto outcome_names =
    std::to_array<std::string_view>({"answered", "absent", "crashed", "silent", "not asked"});

}  // namespace

std::string_view name(Topic topic) {
  return topic_names[static_cast<std::size_t>(topic)];
}

std::string_view name(Outcome outcome) {
  return outcome_names[static_cast<std::size_t>(outcome)];
}

std::string Answer::question() const {
  return about.empty() ? function : function + ", " + about;
}

const Answer* find(const Answers& answers, Topic topic, std::string_view function,
                   std::string_view about) {
  const auto found = std::ranges::find_if(answers, [&](const Answer& each) {
    return each.topic == topic && each.function == function && each.about == about;
  });
  return found == answers.end() ? nullptr : &*found;
}

}  // namespace cleave::certify
