#include "certify/compare.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "base/format.hpp"
#include "base/text.hpp"
#include "certify/checks.hpp"
#include "device/door.hpp"

namespace cleave::certify {

namespace {

constexpr std::size_t longest_value = 160;
constexpr double most_times_longer = 2, least_ms = 50;

std::string text_of(const Json& value) {
  return value.is_string() ? shown(value.get<std::string>()) : shown(value.dump(), longest_value);
}

/// "251.3"
std::string milliseconds_text(const Json& value) {
  return value.is_number() ? fmt::format("{:.1f}", value.get<double>()) : text_of(value);
}

/// Letters and digits as one x, so that only their pattern is compared.
std::string pattern_of(const std::string& text) {
  std::string pattern;
  for (const char c : text) {
    const bool letter = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (!letter)
      pattern += c;
    else if (pattern.empty() || pattern.back() != 'x')
      pattern += 'x';
  }
  return pattern;
}

bool alike(const Json& one, const Json& other) {
  if (one.is_number() && other.is_number()) return true;
  if (one.type() != other.type()) return false;
  if (one.is_string())
    return pattern_of(one.get<std::string>()) == pattern_of(other.get<std::string>());
  if (!one.is_object()) return true;
  return std::ranges::equal(
      one.items(), other.items(), {}, [](const auto& item) { return item.key(); },
      [](const auto& item) { return item.key(); });
}

bool in_time(const Json& one, const Json& other) {
  if (!one.is_number() || !other.is_number()) return one == other;
  const double a = std::max(one.get<double>(), least_ms),
               b = std::max(other.get<double>(), least_ms);
  return a <= most_times_longer * b && b <= most_times_longer * a;
}

/// Whether two values agree by the rule, without members that vary.
bool agree(const CheckRow& row, const Json& one, const Json& other) {
  switch (row.rule) {
    case Rule::alike:
      return alike(one, other);
    case Rule::in_time:
      return in_time(one, other);
    case Rule::same:
      break;
  }
  return one == other;
}

/// The value without members that vary, in lists too.
Json steady(const CheckRow& row, const Json& value) {
  if (value.is_array()) {
    Json list = Json::array();
    for (const Json& each : value) list.push_back(steady(row, each));
    return list;
  }
  if (!value.is_object()) return value;
  Json kept = Json::object();
  for (const auto& [key, member] : value.items())
    if (!varies(row, key)) kept[key] = steady(row, member);
  return kept;
}

/// Puts what differs into the check: members of objects one by one.
void find_difference(const CheckRow& row, const Json& gpu, const Json& simulated, Check& check) {
  if (!gpu.is_object() || !simulated.is_object()) {
    if (agree(row, gpu, simulated)) return;
    check.gpu = text_of(gpu);
    check.simulated = text_of(simulated);
    return;
  }
  const auto add = [](std::string& text, const std::string& key, const std::string& value) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, value);
  };
  for (const auto& [key, value] : gpu.items()) {
    const bool both = simulated.contains(key);
    if (both && agree(row, value, simulated[key])) continue;
    add(check.gpu, key, text_of(value));
    add(check.simulated, key, both ? text_of(simulated[key]) : "missing");
  }
  for (const auto& [key, value] : simulated.items()) {
    if (gpu.contains(key)) continue;
    add(check.gpu, key, "missing");
    add(check.simulated, key, text_of(value));
  }
}

/// What became of the question, without the value.
std::string outcome_text(const Answer& answer) {
  switch (answer.outcome) {
    case Outcome::answered:
      return answer.topic == Topic::functions ? "there" : text(answer.code);
    case Outcome::absent:
      return answer.topic == Topic::functions ? "missing" : "the library lacks it";
    case Outcome::crashed:
      return "the call crashes: " + answer.note;
    case Outcome::silent:
      return "the call does not return";
    case Outcome::not_asked:
      break;
  }
  return "not asked: " + answer.note;
}

bool lacks(const Answer& answer) {
  return (answer.outcome == Outcome::answered && answer.code == nvml::Return::not_supported) ||
         answer.outcome == Outcome::absent;
}

Check judged(const Answer& gpu, const Answer& simulated) {
  const CheckRow& row = row_of(gpu.topic, gpu.function);
  Check check{gpu.topic, gpu.function, gpu.about, Verdict::same, {}, {}, {}, {}};
  for (const Answer* each : {&gpu, &simulated})
    if (each->outcome == Outcome::not_asked) {
      check.verdict = Verdict::not_asked;
      check.why = each->note;
      return check;
    }
  if (gpu.outcome != simulated.outcome || gpu.code != simulated.code) {
    check.gpu = outcome_text(gpu);
    check.simulated = outcome_text(simulated);
  } else if (gpu.told()) {
    find_difference(row, steady(row, gpu.value), steady(row, simulated.value), check);
  }
  if (!check.gpu.empty() || !check.simulated.empty()) {
    check.verdict = Verdict::different;
    check.means = row.means;
  } else if (lacks(gpu)) {
    check.verdict = Verdict::not_supported;
  } else if (row.rule == Rule::in_time && gpu.told()) {
    check.gpu = milliseconds_text(gpu.value);
    check.simulated = milliseconds_text(simulated.value);
  }
  return check;
}

Check one_sided(const Answer& answer, std::string_view who) {
  const bool left = answer.outcome == Outcome::not_asked;
  return {answer.topic, answer.function,
          answer.about, Verdict::not_asked,
          {},           {},
          {},           left ? answer.note : fmt::format("only {} has what this asks about", who)};
}

constexpr auto verdict_names =
    std::to_array<std::string_view>({"different", "same", "not supported", "not asked"});

}  // namespace

std::string_view name(Verdict verdict) {
  return verdict_names[static_cast<std::size_t>(verdict)];
}

std::vector<Check> compare(const Answers& gpu, const Answers& simulated) {
  std::map<std::string, const Answer*> theirs;
  const auto key = [](const Answer& each) {
    return fmt::format("{} {}", name(each.topic), each.question());
  };
  for (const Answer& each : simulated) theirs.emplace(key(each), &each);
  std::vector<Check> checks;
  for (const Answer& each : gpu) {
    const auto other = theirs.extract(key(each));
    checks.push_back(other ? judged(each, *other.mapped()) : one_sided(each, "the GPU"));
  }
  for (const Answer& each : simulated)
    if (theirs.contains(key(each))) checks.push_back(one_sided(each, "the simulated GPU"));
  std::ranges::stable_sort(checks, {}, &Check::topic);
  return checks;
}

std::size_t count(const std::vector<Check>& checks, Verdict verdict) {
  return static_cast<std::size_t>(std::ranges::count(checks, verdict, &Check::verdict));
}

}  // namespace cleave::certify
