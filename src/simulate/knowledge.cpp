#include "simulate/knowledge.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "base/options.hpp"
#include "base/random.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

constexpr OptionRow knowledge_rows[] = {
    {"times", "true, noise:S or unknown", "true", "what is told of the times of jobs"},
    {"speeds", "true|learn|none", "true", "what is told of how times on profiles differ"},
    {"memory", "true|forecast|none", "true", "what is told of the memory of jobs"},
};
constexpr std::string_view noise_word = "noise:";
constexpr double most_noise = 5;  // a factor of 150 either way is usual then

constexpr std::pair<std::string_view, KnownSpeeds> speeds_by_name[] = {
    {"true", KnownSpeeds::truth}, {"learn", KnownSpeeds::learn}, {"none", KnownSpeeds::unknown}};
constexpr std::pair<std::string_view, KnownMemory> memory_by_name[] = {
    {"true", KnownMemory::truth},
    {"forecast", KnownMemory::forecast},
    {"none", KnownMemory::unknown}};
constexpr std::pair<std::string_view, MayInterrupt> may_by_name[] = {
    {"all", MayInterrupt::all},
    {"checkpoint", MayInterrupt::checkpoint},
    {"none", MayInterrupt::never}};

template <class Row, std::size_t count>
auto value_of(const std::pair<std::string_view, Row> (&table)[count], std::string_view name) {
  return std::ranges::find(table, name, &std::pair<std::string_view, Row>::first)->second;
}
template <class Row, std::size_t count>
std::string_view name_of(const std::pair<std::string_view, Row> (&table)[count], Row value) {
  return std::ranges::find(table, value, &std::pair<std::string_view, Row>::second)->first;
}

}  // namespace

Result<Knowledge> parse_knowledge(std::string_view given) {
  if (given.empty()) return Knowledge();
  const auto options = options_of(fmt::format("know:{}", given), "");
  if (!options)
    return fail(ErrorKind::bad_usage, "", options.error().message, "write KEY=VALUE;...");
  const auto all = complete(*options, knowledge_rows, "it");
  if (!all) return std::unexpected(all.error());
  Knowledge knowledge;
  const std::string_view times = all->at("times");
  if (times.starts_with(noise_word)) {
    const auto deviation = parse_number(times.substr(noise_word.size()));
    if (!deviation || *deviation < 0 || *deviation > most_noise)
      return fail(ErrorKind::bad_usage, "times",
                  fmt::format("'{}' is not a deviation from 0 to {:g}", shown(times), most_noise),
                  "give the deviation of the logarithm, such as noise:0.5");
    knowledge.times = KnownTimes::noise;
    knowledge.noise = *deviation;
  } else if (times == "unknown") {
    knowledge.times = KnownTimes::unknown;
  } else if (times != "true") {
    return fail(ErrorKind::bad_usage, "times",
                fmt::format("'{}' is not a value of it", shown(times)),
                "write true, noise:S or unknown");
  }
  knowledge.speeds = value_of(speeds_by_name, all->at("speeds"));
  knowledge.memory = value_of(memory_by_name, all->at("memory"));
  return knowledge;
}

std::string text_of_times(const Knowledge& knowledge) {
  switch (knowledge.times) {
    case KnownTimes::truth:
      return "true";
    case KnownTimes::noise:
      return fmt::format("{}{:g}", noise_word, knowledge.noise);
    case KnownTimes::unknown:
      break;
  }
  return "unknown";
}

std::string text(const Knowledge& knowledge) {
  return fmt::format("speeds={};times={};memory={}", name_of(speeds_by_name, knowledge.speeds),
                     text_of_times(knowledge), name_of(memory_by_name, knowledge.memory));
}

std::string words(const Knowledge& knowledge) {
  std::vector<std::string> said;
  if (knowledge.times == KnownTimes::unknown) said.emplace_back("no times");
  if (knowledge.times == KnownTimes::noise)
    said.push_back(fmt::format("times with errors of exp(N(0, {:g}))", knowledge.noise));
  if (knowledge.speeds == KnownSpeeds::unknown) said.emplace_back("no speeds on other profiles");
  if (knowledge.speeds == KnownSpeeds::learn)
    said.emplace_back("speeds on other profiles as finished jobs showed them");
  if (knowledge.memory == KnownMemory::unknown) said.emplace_back("nothing of where jobs fit");
  if (knowledge.memory == KnownMemory::forecast)
    said.emplace_back("where jobs fit as it is forecast");
  return fmt::format("{}", fmt::join(said, ", "));
}

Result<MayInterrupt> parse_may(std::string_view given) {
  const auto* found =
      std::ranges::find(may_by_name, given, &std::pair<std::string_view, MayInterrupt>::first);
  if (found != std::end(may_by_name)) return found->second;
  return fail(ErrorKind::bad_usage, "", fmt::format("'{}' is not a value of it", shown(given)),
              "write none, checkpoint or all");
}

std::string_view name(MayInterrupt may) {
  return name_of(may_by_name, may);
}

bool may_move(MayInterrupt may, const JobDetails* details) {
  const Keeps keeps = details == nullptr ? Keeps::unsaid : details->keeps;
  if (may == MayInterrupt::never) return false;
  // Others are moved by a replica that takes over, and lose nothing.
  const bool pays = keeps == Keeps::checkpoint || keeps == Keeps::nothing;
  if (may == MayInterrupt::checkpoint && !pays) return false;
  return details == nullptr || details->movable.value_or(keeps != Keeps::nothing);
}

bool may_stop(MayInterrupt may, const JobDetails* details) {
  return may != MayInterrupt::never && (details == nullptr || details->restartable.value_or(true));
}

double noise_factor(const Knowledge& knowledge, std::uint64_t seed, std::size_t job) {
  constexpr std::uint64_t of_noise = 0x6e6f697365;
  return knowledge.noise == 0 ? 1 : std::exp(knowledge.noise * normal_of(seed, job, of_noise));
}

}  // namespace cleave
