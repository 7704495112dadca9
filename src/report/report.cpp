#include "report/report.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/format.hpp"
#include "base/json.hpp"

namespace cleave::report {

namespace {

constexpr std::string_view title_place = "<!--cleave:title-->",
                           document_place = "<!--cleave:document-->";

/// As JSON in a script element, which nothing in it can end.
std::string harmless(const std::string& json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  }
  return text;
}

std::string as_html(std::string_view text) {
  std::string html;
  for (const char c : text) {
    if (c == '<')
      html += "&lt;";
    else if (c == '&')
      html += "&amp;";
    else
      html += c;
  }
  return html;
}

std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string list_of(const std::vector<std::string>& texts) {
  std::vector<std::string> all;
  for (const std::string& each : texts) all.push_back(quoted(each));
  return fmt::format("[{}]", fmt::join(all, ", "));
}

std::string list_of(const std::vector<Line>& lines) {
  std::vector<std::string> all;
  for (const auto& [word, value] : lines)
    all.push_back(fmt::format("[{}, {}]", quoted(word), quoted(value)));
  return fmt::format("[{}]", fmt::join(all, ", "));
}

std::string or_null(const std::string& json) {
  return json.empty() ? "null" : json;
}

std::string run_text(const RunPart& run) {
  Json users = Json::array();
  for (const UserShare& each : run.users)
    users.push_back({{"user", each.user}, {"jobs", each.jobs}, {"share", each.share}});
  return fmt::format(
      R"({{"scheduler": {}, "seed": {}, "summary": {}, "figures": {}, "recorded": {}, )"
      R"("distributions": {}, "users": {}}})",
      quoted(run.scheduler), run.seed, list_of(run.summary), or_null(run.figures),
      or_null(run.recorded), or_null(run.distributions),
      users.dump(-1, ' ', false, Json::error_handler_t::replace));
}

/// 0, 1 %, ..., 99 %, 99.5 %, 99.9 %, all.
std::vector<double> shares() {
  std::vector<double> all;
  for (int percent = 0; percent < 100; ++percent) all.push_back(percent / 100.0);
  for (const double last : {0.995, 0.999, 1.0}) all.push_back(last);
  return all;
}

/// The least value that this share of all values does not exceed; three digits are drawn.
Json quantiles(std::vector<double> values) {
  std::ranges::sort(values);
  Json list = Json::array();
  for (const double share : shares()) {
    const auto rank =
        static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
    list.push_back(std::round(values[rank == 0 ? 0 : rank - 1] * 1e3) / 1e3);
  }
  return list;
}

std::pair<std::string_view, std::string_view> split_at(std::string_view text,
                                                       std::string_view place) {
  const auto at = text.find(place);
  return {text.substr(0, at), text.substr(at + place.size())};
}

}  // namespace

Json distributions(const std::vector<JobOutcome>& outcomes) {
  std::vector<double> wait, turnaround, execution, slowdown;
  for (const JobOutcome& each : outcomes) {
    if (each.end != JobOutcome::End::finished) continue;
    wait.push_back(in_seconds(each.wait));
    turnaround.push_back(in_seconds(each.turnaround));
    execution.push_back(in_seconds(each.execution));
    if (each.slowdown) slowdown.push_back(*each.slowdown);
  }
  Json all = {{"jobs", wait.size()}, {"shares", shares()}};
  if (wait.empty()) return all;
  all["wait_s"] = quantiles(wait);
  all["turnaround_s"] = quantiles(turnaround);
  all["execution_s"] = quantiles(execution);
  if (!slowdown.empty()) all["slowdown"] = quantiles(slowdown);
  return all;
}

std::string document_of(const Report& report) {
  std::vector<std::string> runs;
  for (const RunPart& run : report.runs) runs.push_back(run_text(run));
  return fmt::format(R"({{"format": "cleave report/1", "title": {}, "version": {}, "command": {},)"
                     "\n"
                     R"("asked": {},)"
                     "\n"
                     R"("assumed": {},)"
                     "\n"
                     R"("runs": [{}],)"
                     "\n"
                     R"("comparison": {},)"
                     "\n"
                     R"("plan": {},)"
                     "\n"
                     R"("advice": {}}})",
                     quoted(report.title), quoted(report.version), list_of(report.command),
                     list_of(report.asked), list_of(report.assumed), fmt::join(runs, ",\n"),
                     or_null(report.comparison), or_null(report.plan), or_null(report.advice));
}

std::string page_of(const Report& report) {
  const auto [head, rest] = split_at(page_text(), title_place);
  const auto [body, foot] = split_at(rest, document_place);
  return fmt::format("{}{}{}{}{}", head, as_html(report.title), body, harmless(document_of(report)),
                     foot);
}

}  // namespace cleave::report
