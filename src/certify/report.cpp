#include "certify/report.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave::certify {

namespace {

/// Checks that say the same of several questions.
struct Group {
  const Check* check;
  std::vector<std::string> questions;
};

std::string question_of(const Check& check) {
  return check.about.empty() ? check.function : fmt::format("{}, {}", check.function, check.about);
}

std::vector<Group> grouped(const std::vector<Check>& checks, Verdict verdict) {
  std::vector<Group> groups;
  for (const Check& each : checks) {
    if (each.verdict != verdict) continue;
    const auto same = std::ranges::find_if(groups, [&](const Group& group) {
      return group.check->topic == each.topic && group.check->gpu == each.gpu &&
             group.check->simulated == each.simulated && group.check->means == each.means &&
             group.check->why == each.why;
    });
    if (same == groups.end())
      groups.push_back({&each, {question_of(each)}});
    else
      same->questions.push_back(question_of(each));
  }
  return groups;
}

std::string or_unknown(const std::string& text) {
  return text.empty() ? "unknown" : shown(text);
}

std::string head(const Facts& facts) {
  return fmt::format(
      "{} ({}{}), driver {}, NVML {}, CUDA {}, MIG {}\n{}, asked {} at {}\n",
      or_unknown(facts.name), facts.simulated ? "simulated, " : "", or_unknown(facts.uuid),
      or_unknown(facts.driver), or_unknown(facts.nvml),
      facts.cuda ? fmt::format("{}.{}", *facts.cuda / 1000, *facts.cuda % 1000 / 10) : "unknown",
      facts.mig ? "on" : "off", or_unknown(facts.system),
      facts.root ? "as root" : "as a user without root's rights", shown(facts.at));
}

/// The lines of a paragraph of at most 100 columns, indented.
std::string wrapped(std::string_view text, std::size_t indent) {
  constexpr std::size_t columns = 100;
  std::string lines, line;
  const std::string margin(indent, ' ');
  for (const std::string_view word : split(text, ' ')) {
    if (!line.empty() && indent + line.size() + 1 + word.size() > columns) {
      lines += margin + line + "\n";
      line.clear();
    }
    line += line.empty() ? std::string(word) : fmt::format(" {}", word);
  }
  return lines + margin + line + "\n";
}

/// What differs; the meaning comes once after all groups that share it.
std::string differences_text(const std::vector<Group>& groups) {
  std::string text;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const Check& check = *groups[i].check;
    const Check* const before = i == 0 ? nullptr : groups[i - 1].check;
    const Check* const after = i + 1 == groups.size() ? nullptr : groups[i + 1].check;
    if (before == nullptr || before->topic != check.topic)
      text += fmt::format("\n{}\n", name(check.topic));
    text += wrapped(fmt::format("{}", fmt::join(groups[i].questions, "; ")), 2);
    text += wrapped(fmt::format("GPU: {}", check.gpu), 6);
    text += wrapped(fmt::format("simulated: {}", check.simulated), 6);
    const bool shared =
        after != nullptr && after->topic == check.topic && after->means == check.means;
    if (!shared && !check.means.empty()) text += wrapped(check.means, 4);
  }
  return text;
}

/// Checks of times that agree.
std::vector<const Check*> times_in(const std::vector<Check>& checks) {
  std::vector<const Check*> times;
  for (const Check& each : checks)
    if (each.verdict == Verdict::same && !each.gpu.empty()) times.push_back(&each);
  std::ranges::stable_sort(times, {}, [](const Check* each) { return each->function; });
  return times;
}

std::string times_text(const std::vector<Check>& checks) {
  std::string text, line, function;
  const auto end_line = [&] {
    if (!line.empty()) text += wrapped(line, 2);
  };
  for (const Check* each : times_in(checks)) {
    if (each->function != function) {
      end_line();
      function = each->function;
      line = function + ":";
    } else {
      line += ",";
    }
    line += fmt::format(" {} {} ({})", each->about, each->gpu, each->simulated);
  }
  end_line();
  return text.empty() ? "" : "\ntimes that agree (the simulated GPU's in brackets)\n" + text;
}

}  // namespace

std::string report(const Facts& facts, const std::vector<Check>& checks) {
  std::string text = head(facts);
  text += fmt::format(
      "compared with the simulated {}: {}, {} the same, {} different, {} not supported by both, {} "
      "not asked\n",
      shown(facts.model), counted(checks.size(), "check"), count(checks, Verdict::same),
      count(checks, Verdict::different), count(checks, Verdict::not_supported),
      count(checks, Verdict::not_asked));
  text += differences_text(grouped(checks, Verdict::different));
  text += times_text(checks);
  const auto left = grouped(checks, Verdict::not_asked);
  if (!left.empty()) text += "\nnot asked\n";
  for (const Group& group : left)
    text += wrapped(fmt::format("{}: {}", fmt::join(group.questions, "; "), group.check->why), 2);
  return text;
}

Json report_json(const Facts& facts, const std::vector<Check>& checks) {
  Json counts = Json::object();
  for (const Verdict each :
       {Verdict::same, Verdict::different, Verdict::not_supported, Verdict::not_asked})
    counts[std::string(name(each))] = count(checks, each);
  Json list = Json::array();
  for (const Check& each : checks) {
    if (each.verdict == Verdict::same || each.verdict == Verdict::not_supported) continue;
    Json json = {{"topic", name(each.topic)},
                 {"function", each.function},
                 {"about", each.about},
                 {"verdict", name(each.verdict)}};
    if (each.verdict == Verdict::different) {
      json["gpu"] = each.gpu;
      json["simulated"] = each.simulated;
      json["means"] = each.means;
    } else {
      json["why"] = each.why;
    }
    list.push_back(json);
  }
  Json times = Json::array();
  for (const Check* each : times_in(checks))
    times.push_back({{"function", each->function},
                     {"about", each->about},
                     {"gpu", each->gpu},
                     {"simulated", each->simulated}});
  return {{"gpu", {{"name", facts.name}, {"uuid", facts.uuid}, {"mig", facts.mig}}},
          {"model", facts.model},
          {"driver", facts.driver},
          {"checks", counts},
          {"findings", list},
          {"times", times}};
}

}  // namespace cleave::certify
