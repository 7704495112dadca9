#include "runner/supervisor/supervisor_message.hpp"

#include "base/json.hpp"
#include "base/text.hpp"
#include "runner/reports/report_series.hpp"

namespace cleave {

namespace {

struct AskName {
  SupervisorAsk::What what;
  const char* name;
};
constexpr AskName ask_names[] = {{SupervisorAsk::What::follow, "follow"},
                                 {SupervisorAsk::What::state, "state"},
                                 {SupervisorAsk::What::signal, "signal"},
                                 {SupervisorAsk::What::stop, "stop"},
                                 {SupervisorAsk::What::checkpoint, "checkpoint"}};
constexpr std::int64_t most = std::int64_t{1} << 62;
constexpr std::chrono::milliseconds longest_grace = std::chrono::hours(24);
constexpr int last_signal = 64, most_error_number = 4095;

struct NamedBody {
  const char* name;
  Json body;
};

NamedBody body_of(const SupervisorReady&) {
  return {"ready", Json::object()};
}
NamedBody body_of(const SupervisorFailed& failed) {
  return {"failed", Json{{"reason", shown(failed.reason, 1000)}, {"code", failed.code}}};
}
NamedBody body_of(const JobBegan& began) {
  return {"began", Json{{"pid", began.pid}}};
}
NamedBody body_of(const JobReports& reports) {
  return {"reports", Json{{"reports", to_json(reports.reports)}}};
}
NamedBody body_of(const OutOfMemorySeen& seen) {
  return {"out_of_memory", to_json(seen)};
}
NamedBody body_of(const NotCheckpointed& failed) {
  return {"not_checkpointed", Json{{"reason", shown(failed.reason, 1000)}}};
}
NamedBody body_of(const SupervisorState& state) {
  return {"state", Json{{"phase", state.phase},
                        {"pid", state.pid},
                        {"out_dropped", state.out_dropped},
                        {"err_dropped", state.err_dropped},
                        {"reports_refused", state.reports_refused},
                        {"trouble", shown(state.trouble, 1000)}}};
}
NamedBody body_of(const SupervisorAnswer& answer) {
  return {"answer", Json{{"refused", shown(answer.refused, 1000)}}};
}

SupervisorMessage read_state(JsonReader& in) {
  SupervisorState state;
  state.phase = shown(in.text("phase"), 20);
  state.pid = in.integer("pid", 0, most);
  state.out_dropped = in.integer("out_dropped", 0, most);
  state.err_dropped = in.integer("err_dropped", 0, most);
  state.reports_refused = in.integer("reports_refused", 0, most);
  state.trouble = in.text("trouble");
  return state;
}

SupervisorMessage read_failed(JsonReader& in) {
  SupervisorFailed failed{in.text("reason")};
  failed.code = static_cast<int>(in.integer_if("code", 0, most_error_number).value_or(0));
  return failed;
}

SupervisorMessage read_out_of_memory_seen(JsonReader& in) {
  OutOfMemorySeen seen;
  seen.framework = shown(in.text("framework"), 40);
  if (const auto requested = in.integer_if("requested_mib", 0, std::int64_t{1} << 43))
    seen.requested = MiB{*requested};
  return seen;
}

struct MessageKind {
  const char* name;
  SupervisorMessage (*read)(JsonReader& in);
};
const MessageKind message_kinds[] = {
    {"ready", [](JsonReader&) { return SupervisorMessage(SupervisorReady{}); }},
    {"failed", read_failed},
    {"began",
     [](JsonReader& in) { return SupervisorMessage(JobBegan{in.integer("pid", 1, most)}); }},
    {"reports",
     [](JsonReader& in) { return SupervisorMessage(JobReports{read_reports(in, "reports")}); }},
    {"out_of_memory", read_out_of_memory_seen},
    {"not_checkpointed",
     [](JsonReader& in) { return SupervisorMessage(NotCheckpointed{in.text("reason")}); }},
    {"state", read_state},
    {"answer",
     [](JsonReader& in) { return SupervisorMessage(SupervisorAnswer{in.text("refused")}); }},
};

}  // namespace

std::string ask_text(const SupervisorAsk& ask) {
  Json text;
  for (const AskName& each : ask_names)
    if (each.what == ask.what) text["ask"] = each.name;
  if (ask.what == SupervisorAsk::What::signal) text["signal"] = ask.signal;
  if (ask.grace)
    text["grace_ms"] = std::chrono::duration_cast<std::chrono::milliseconds>(*ask.grace).count();
  return text.dump();
}

Result<SupervisorAsk> parse_ask(std::string_view text) {
  const auto document = parse_json(text, "request");
  if (!document) return std::unexpected(document.error());
  std::optional<Error> error;
  JsonReader in(*document, "request", error);
  const std::string what = in.text("ask");
  SupervisorAsk ask;
  bool known = false;
  for (const AskName& each : ask_names)
    if (each.name == what) {
      ask.what = each.what;
      known = true;
    }
  if (!known) in.refuse("ask", "expected follow, state, signal, stop or checkpoint");
  if (ask.what == SupervisorAsk::What::signal)
    ask.signal = static_cast<int>(in.integer("signal", 1, last_signal));
  if (ask.what == SupervisorAsk::What::stop)
    if (const auto grace = in.integer_if("grace_ms", 0, longest_grace.count()))
      ask.grace = std::chrono::milliseconds(*grace);
  if (ask.what == SupervisorAsk::What::checkpoint)
    ask.grace = std::chrono::milliseconds(in.integer("grace_ms", 1, longest_grace.count()));
  in.done();
  if (error) return std::unexpected(*error);
  return ask;
}

std::string message_text(const SupervisorMessage& message) {
  return std::visit(
      [](const auto& each) {
        NamedBody named = body_of(each);
        Json text;
        text[named.name] = std::move(named.body);
        return text.dump(-1, ' ', false, Json::error_handler_t::replace);
      },
      message);
}

Result<SupervisorMessage> parse_message(std::string_view text) {
  const auto document = parse_json(text, "supervisor");
  if (!document) return std::unexpected(document.error());
  std::optional<Error> error;
  JsonReader in(*document, "supervisor", error);
  std::optional<SupervisorMessage> message;
  for (const MessageKind& kind : message_kinds) {
    if (message) break;
    auto body = in.object_if(kind.name);
    if (!body) continue;
    message = kind.read(*body);
    body->done();
  }
  in.done();
  if (!message) in.refuse("", "it is not a known message");
  if (error) return std::unexpected(*error);
  return *message;
}

}  // namespace cleave
