#include "runner/process_outcome.hpp"

#include <cstring>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "runner/reports/report_series.hpp"

namespace cleave {

namespace {

constexpr std::int64_t most = std::int64_t{1} << 62;

struct EndName {
  ProcessOutcome::End end;
  const char* name;
};
constexpr EndName end_names[] = {{ProcessOutcome::End::exited, "exited"},
                                 {ProcessOutcome::End::signalled, "signalled"},
                                 {ProcessOutcome::End::not_started, "not_started"}};

std::string whole_line(std::string_view text) {
  std::uint64_t sum = 0xcbf29ce484222325;
  for (const char each : text) sum = (sum ^ static_cast<unsigned char>(each)) * 0x100000001b3;
  return fmt::format("whole {} {:016x}\n", text.size(), sum);
}

std::optional<OutOfMemorySeen> read_out_of_memory(JsonReader& in) {
  auto seen = in.object_if("out_of_memory");
  if (!seen) return std::nullopt;
  OutOfMemorySeen found;
  found.framework = seen->text("framework");
  const auto requested = seen->integer_if("requested_mib", 0, std::int64_t{1} << 43);
  if (requested) found.requested = MiB{*requested};
  seen->done();
  return found;
}

}  // namespace

std::string in_words(const ProcessOutcome& outcome) {
  if (outcome.used_up)
    return fmt::format("used up its {} MiB of the host's memory", outcome.used_up->value);
  switch (outcome.end) {
    case ProcessOutcome::End::exited:
      return fmt::format("exited with {}", outcome.code);
    case ProcessOutcome::End::signalled:
      return fmt::format("ended by signal {} ({})", outcome.code, ::strsignal(outcome.code));
    case ProcessOutcome::End::not_started:
      break;
  }
  return fmt::format("not started: {}", outcome.reason);
}

std::string outcome_text(const ProcessOutcome& outcome) {
  Json text;
  for (const EndName& each : end_names)
    if (each.end == outcome.end) text["end"] = each.name;
  text["code"] = outcome.code;
  text["reason"] = shown(outcome.reason, 1000);
  text["stopped"] = outcome.stopped;
  if (outcome.checkpointed) text["checkpointed"] = true;
  text["began_ns"] = outcome.began_at.time_since_epoch().count();
  text["ended_ns"] = outcome.ended_at.time_since_epoch().count();
  text["lasted_ns"] = outcome.lasted.count();
  text["out_dropped"] = outcome.out_dropped;
  text["err_dropped"] = outcome.err_dropped;
  text["leftovers"] = outcome.leftovers;
  if (outcome.used_up) text["used_up_mib"] = outcome.used_up->value;
  if (outcome.out_of_memory) text["out_of_memory"] = to_json(*outcome.out_of_memory);
  text["reports"] = to_json(outcome.reports);
  return text.dump();
}

std::string outcome_record(const ProcessOutcome& outcome) {
  const std::string text = outcome_text(outcome);
  return fmt::format("{}\n{}", text, whole_line(text));
}

std::optional<std::string_view> whole_record(std::string_view record) {
  const std::size_t end = record.find('\n');
  if (end == std::string_view::npos || record.substr(end + 1) != whole_line(record.substr(0, end)))
    return std::nullopt;
  return record.substr(0, end);
}

Result<ProcessOutcome> parse_outcome(std::string_view text, const std::string& place) {
  const auto document = parse_json(text, place);
  if (!document) return std::unexpected(document.error());
  std::optional<Error> error;
  JsonReader in(*document, place, error);
  ProcessOutcome outcome;
  const std::string end = in.text("end");
  bool known = false;
  for (const EndName& each : end_names)
    if (each.name == end) {
      outcome.end = each.end;
      known = true;
    }
  if (!known) in.refuse("end", "expected exited, signalled or not_started");
  outcome.code = static_cast<int>(in.integer("code", 0, 255));
  outcome.reason = in.text("reason");
  outcome.stopped = in.flag("stopped", false);
  outcome.checkpointed = in.flag("checkpointed", false);
  outcome.began_at = Instant(Duration(in.integer("began_ns", 0, most)));
  outcome.ended_at = Instant(Duration(in.integer("ended_ns", 0, most)));
  outcome.lasted = Duration(in.integer("lasted_ns", 0, most));
  outcome.out_dropped = in.integer("out_dropped", 0, most);
  outcome.err_dropped = in.integer("err_dropped", 0, most);
  outcome.leftovers = in.integer("leftovers", 0, most);
  if (const auto used_up = in.integer_if("used_up_mib", 0, most)) outcome.used_up = MiB{*used_up};
  outcome.out_of_memory = read_out_of_memory(in);
  outcome.reports = read_reports(in, "reports");
  in.done();
  if (error) return std::unexpected(*error);
  return outcome;
}

}  // namespace cleave
