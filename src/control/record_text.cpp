#include "control/record_text.hpp"

#include <climits>

#include "base/format.hpp"
#include "base/json.hpp"

namespace cleave {

namespace {

constexpr std::int64_t version = 1;
constexpr std::int64_t most_id = UINT32_MAX;

Json begun() {
  Json json = Json::object();
  json["v"] = version;
  return json;
}

/// Never fails, whatever the bytes are.
std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Reads one text with `take`, which is given the reader once the version is right.
template <class Value, class Take>
Result<Value> read_text(std::string_view text, const std::string& place, Take take) {
  const auto document = parse_json(text, place);
  if (!document) return std::unexpected(document.error());
  std::optional<Error> error;
  JsonReader in(*document, place, error);
  const std::int64_t found = in.integer("v", 1, INT64_MAX);
  if (!error && found > version)
    return fail(ErrorKind::bad_input, place,
                fmt::format("it was written by a newer Cleave, version {} of this text", found),
                "run that one");
  Value value;
  take(in, value);
  in.done();
  if (error) return std::unexpected(*error);
  return value;
}

std::int64_t any_integer(JsonReader& in, std::string_view key) {
  return in.integer(key, INT64_MIN, INT64_MAX);
}

std::optional<std::int64_t> any_integer_if(JsonReader& in, std::string_view key) {
  return in.integer_if(key, INT64_MIN, INT64_MAX);
}

void add(Json& json, const char* key, const std::optional<Duration>& time) {
  if (time) json[key] = time->count();
}

std::optional<Duration> time_if(JsonReader& in, std::string_view key) {
  const auto count = any_integer_if(in, key);
  return count ? std::optional<Duration>(Duration(*count)) : std::nullopt;
}

struct WantedJson {
  Json& json;
  void operator()(const ByProfile& by) const { json["profile"] = by.profile; }
  void operator()(const BySize& by) const {
    json["mib"] = by.memory.value;
    json["compute"] = by.compute.value;
  }
  void operator()(const ByShare& by) const {
    json["thousandths"] = by.thousandths;
    json["nearest"] = by.rule == ShareRule::nearest;
  }
  void operator()(const Unknown&) const {}
};

void add_request(Json& json, const Request& request) {
  std::visit(WantedJson{json}, request.wanted);
  if (request.fits) json["fits"] = *request.fits;
  if (request.at_least) json["at_least"] = request.at_least->value;
}

void take_request(JsonReader& in, Request& request) {
  if (in.has("profile")) {
    request.wanted = ByProfile{in.text("profile")};
  } else if (in.has("mib")) {
    const MiB memory{any_integer(in, "mib")};
    request.wanted = BySize{memory, {static_cast<int>(in.integer("compute", INT_MIN, INT_MAX))}};
  } else if (in.has("thousandths")) {
    const int thousandths = static_cast<int>(in.integer("thousandths", INT_MIN, INT_MAX));
    request.wanted =
        ByShare{thousandths, in.flag("nearest", false) ? ShareRule::nearest : ShareRule::round_up};
  } else {
    request.wanted = Unknown{};
  }
  if (in.has("fits")) request.fits = in.texts("fits");
  if (const auto least = any_integer_if(in, "at_least")) request.at_least = MiB{*least};
}

}  // namespace

std::string owner_text(const JobOwner& owner) {
  Json json = begun();
  json["uid"] = owner.uid;
  json["gid"] = owner.gid;
  if (!owner.groups.empty()) json["groups"] = owner.groups;
  if (!owner.user.empty()) json["user"] = owner.user;
  return dumped(json);
}

Result<JobOwner> parse_owner(std::string_view text, const std::string& place) {
  return read_text<JobOwner>(text, place, [](JsonReader& in, JobOwner& owner) {
    owner.uid = static_cast<std::uint32_t>(in.integer("uid", 0, most_id));
    owner.gid = static_cast<std::uint32_t>(in.integer("gid", 0, most_id));
    for (const std::int64_t group : in.integers("groups", 0, most_id))
      owner.groups.push_back(static_cast<std::uint32_t>(group));
    owner.user = in.text_if("user").value_or("");
  });
}

std::string spec_text(const JobSpec& spec) {
  Json json = begun();
  if (!spec.name.empty()) json["name"] = spec.name;
  json["request"] = Json::object();
  add_request(json["request"], spec.request);
  json["asked"] = spec.asked;
  if (spec.priority != 0) json["priority"] = spec.priority;
  add(json, "deadline_ns", spec.deadline);
  if (spec.retries != 0) json["retries"] = spec.retries;
  if (spec.restartable) json["restartable"] = true;
  if (spec.movable) json["movable"] = true;
  if (spec.checkpoint_signal != 0) json["checkpoint_signal"] = spec.checkpoint_signal;
  json["checkpoint_grace_ns"] = spec.checkpoint_grace.count();
  json["stop_grace_ns"] = spec.stop_grace.count();
  if (spec.out_of_memory_code) json["out_of_memory_code"] = *spec.out_of_memory_code;
  if (spec.application) json["application"] = *spec.application;
  if (spec.batch) json["batch"] = *spec.batch;
  add(json, "expected_ns", spec.expected);
  return dumped(json);
}

Result<JobSpec> parse_spec(std::string_view text, const std::string& place) {
  return read_text<JobSpec>(text, place, [](JsonReader& in, JobSpec& spec) {
    spec.name = in.text_if("name").value_or("");
    if (auto request = in.object_if("request")) {
      take_request(*request, spec.request);
      request->done();
    } else {
      in.refuse("", "the key 'request' is missing");
    }
    spec.asked = in.text("asked");
    spec.priority = any_integer_if(in, "priority").value_or(0);
    spec.deadline = time_if(in, "deadline_ns");
    spec.retries = any_integer_if(in, "retries").value_or(0);
    spec.restartable = in.flag("restartable", false);
    spec.movable = in.flag("movable", false);
    spec.checkpoint_signal =
        static_cast<int>(in.integer_if("checkpoint_signal", INT_MIN, INT_MAX).value_or(0));
    spec.checkpoint_grace = Duration(any_integer(in, "checkpoint_grace_ns"));
    spec.stop_grace = Duration(any_integer(in, "stop_grace_ns"));
    if (const auto code = in.integer_if("out_of_memory_code", INT_MIN, INT_MAX))
      spec.out_of_memory_code = static_cast<int>(*code);
    spec.application = in.text_if("application");
    spec.batch = any_integer_if(in, "batch");
    spec.expected = time_if(in, "expected_ns");
  });
}

std::string request_text(const Request& request) {
  Json json = begun();
  add_request(json, request);
  return dumped(json);
}

Result<Request> parse_request(std::string_view text, const std::string& place) {
  return read_text<Request>(text, place,
                            [](JsonReader& in, Request& request) { take_request(in, request); });
}

std::string command_text(const JobCommand& command) {
  Json json = begun();
  json["argv"] = command.argv;
  json["environment"] = command.environment;
  json["working_directory"] = command.working_directory;
  return dumped(json);
}

Result<JobCommand> parse_command(std::string_view text, const std::string& place) {
  return read_text<JobCommand>(text, place, [](JsonReader& in, JobCommand& command) {
    // A command that lost its words must not become one without any.
    for (const char* key : {"argv", "environment"})
      if (!in.has(key)) in.refuse("", fmt::format("the key '{}' is missing", key));
    command.argv = in.texts("argv");
    command.environment = in.texts("environment");
    command.working_directory = in.text("working_directory");
  });
}

std::string instants_text(const std::vector<Instant>& instants) {
  Json json = begun();
  if (!instants.empty()) {
    Json& list = json["ns"] = Json::array();
    for (const Instant each : instants) list.push_back(each.time_since_epoch().count());
  }
  return dumped(json);
}

Result<std::vector<Instant>> parse_instants(std::string_view text, const std::string& place) {
  return read_text<std::vector<Instant>>(
      text, place, [](JsonReader& in, std::vector<Instant>& all) {
        for (const std::int64_t count : in.integers("ns", INT64_MIN, INT64_MAX))
          all.emplace_back(Duration(count));
      });
}

}  // namespace cleave
