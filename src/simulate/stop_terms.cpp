#include "simulate/stop_terms.hpp"

#include "base/format.hpp"
#include "base/human_time.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

constexpr std::string_view by_memory = "memory";
constexpr double fastest_store = 1e6;  // GB/s

}  // namespace

Result<StopTerms> parse_stop_terms(std::string_view given) {
  StopTerms terms;
  if (given == by_memory) {
    terms.by_memory.emplace();
    return terms;
  }
  if (given.starts_with(by_memory) && given.substr(by_memory.size()).starts_with(':')) {
    const auto rate = parse_number(given.substr(by_memory.size() + 1));
    if (!rate || !(*rate >= 1e-3 && *rate <= fastest_store))
      return fail(ErrorKind::bad_usage, "", fmt::format("'{}' names no rate", shown(given)),
                  "give GB/s from 0.001, such as memory:2");
    terms.by_memory = CheckpointStore{*rate};
    return terms;
  }
  const auto time = parse_human(given);
  if (!time)
    return fail(ErrorKind::bad_usage, "", time.error().message,
                fmt::format("{}, or memory, or memory:RATE in GB/s", time.error().remedy));
  terms.checkpoint = *time;
  return terms;
}

std::string text(const StopTerms& terms) {
  if (!terms.by_memory) return fmt::format("{}", in_seconds(terms.checkpoint));
  return terms.by_memory->gb_per_s ? fmt::format("{}:{}", by_memory, *terms.by_memory->gb_per_s)
                                   : std::string(by_memory);
}

}  // namespace cleave
