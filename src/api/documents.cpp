#include "api/documents.hpp"

#include <limits>

#include "api/time_text.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

constexpr std::int64_t greatest = std::numeric_limits<std::int64_t>::max();

template <class Value>
void put(Json& to, const char* key, const std::optional<Value>& value) {
  if (value)
    to[key] = *value;
  else
    to[key] = nullptr;
}
void put(Json& to, const char* key, const std::optional<Instant>& value) {
  if (value)
    to[key] = utc_text(*value);
  else
    to[key] = nullptr;
}
void put(Json& to, const char* key, const std::optional<MiB>& value) {
  if (value)
    to[key] = value->value;
  else
    to[key] = nullptr;
}

std::optional<Instant> time_if(JsonReader& in, std::string_view key) {
  const auto text = in.text_if(key);
  if (!text) return std::nullopt;
  const auto time = parse_utc_text(*text);
  if (!time)
    in.refuse(key, fmt::format("'{}' is not a time", shown(*text)),
              "times read 2026-05-04T10:11:12.123Z");
  return time;
}

std::optional<MiB> mebibytes_if(JsonReader& in, std::string_view key) {
  const auto number = in.integer_if(key, 0, greatest);
  return number ? std::optional<MiB>(MiB{*number}) : std::nullopt;
}

std::optional<int> int_if(JsonReader& in, std::string_view key, int least, int most) {
  const auto number = in.integer_if(key, least, most);
  return number ? std::optional<int>(static_cast<int>(*number)) : std::nullopt;
}

std::string text_or_empty(JsonReader& in, std::string_view key) {
  return in.text_if(key).value_or("");
}

std::uint32_t user_number(JsonReader& in, std::string_view key) {
  return static_cast<std::uint32_t>(
      in.integer_if(key, 0, std::numeric_limits<std::uint32_t>::max()).value_or(0));
}

ApiPlace place_from(JsonReader& in) {
  ApiPlace place;
  place.gpu = text_or_empty(in, "gpu");
  place.gpu_index = in.integer_if("gpu_index", -1, greatest).value_or(-1);
  place.device = text_or_empty(in, "device");
  place.profile = text_or_empty(in, "profile");
  place.start = in.integer_if("start", 0, greatest).value_or(0);
  return place;
}

std::optional<ApiPlace> place_if(JsonReader& in, std::string_view key) {
  auto object = in.object_if(key);
  return object ? std::optional<ApiPlace>(place_from(*object)) : std::nullopt;
}

Json place_json(const ApiPlace& place) {
  return {{"gpu", place.gpu},
          {"gpu_index", place.gpu_index},
          {"device", place.device},
          {"profile", place.profile},
          {"start", place.start}};
}

Json place_or_null(const std::optional<ApiPlace>& place) {
  if (place) return place_json(*place);
  return nullptr;
}

/// Every element of the list under `key`, which must be there.
template <class Element>
Result<std::vector<Element>> read_list(const Json& document, const std::string& place,
                                       const char* key, Element (*read)(JsonReader&)) {
  std::optional<Error> error;
  JsonReader in(document, place, error);
  if (!in.has(key)) in.refuse("", fmt::format("the key '{}' is missing", key));
  std::vector<Element> elements;
  for (JsonReader& each : in.objects(key)) elements.push_back(read(each));
  if (error) return std::unexpected(*error);
  return elements;
}

template <class Value>
Result<Value> read_one(const Json& document, const std::string& place, Value (*read)(JsonReader&)) {
  std::optional<Error> error;
  JsonReader in(document, place, error);
  Value value = read(in);
  if (error) return std::unexpected(*error);
  return value;
}

}  // namespace

// A submission.

Json to_json(const ApiSubmission& submission) {
  Json json{{"command", submission.command},
            {"environment", submission.environment},
            {"directory", submission.directory}};
  const auto add = [&json](const char* key, const auto& value) {
    if (value) json[key] = *value;
  };
  const auto add_seconds = [&json](const char* key, const std::optional<Duration>& value) {
    if (value) json[key] = in_seconds(*value);
  };
  add("name", submission.name);
  add("profile", submission.profile);
  if (submission.memory) json["memory_mib"] = submission.memory->value;
  if (submission.compute_slices) json["compute_slices"] = submission.compute_slices->value;
  if (submission.model)
    json["model"] = {{"name", submission.model->name},
                     {"memory_mib", submission.model->memory.value}};
  if (submission.priority != 0) json["priority"] = submission.priority;
  add_seconds("deadline_s", submission.deadline);
  if (submission.retries != 0) json["retries"] = submission.retries;
  if (submission.restartable) json["restartable"] = true;
  if (submission.movable) json["movable"] = true;
  add("checkpoint_signal", submission.checkpoint_signal);
  add_seconds("checkpoint_grace_s", submission.checkpoint_grace);
  add_seconds("stop_grace_s", submission.stop_grace);
  add("out_of_memory_code", submission.out_of_memory_code);
  add("application", submission.application);
  add("batch", submission.batch);
  add_seconds("expected_s", submission.expected);
  return json;
}

namespace {

void read_request(JsonReader& in, ApiSubmission& submission) {
  submission.profile = in.text_if("profile");
  submission.memory = mebibytes_if(in, "memory_mib");
  if (const auto slices = int_if(in, "compute_slices", 1, 1000))
    submission.compute_slices = {*slices};
  if (auto model = in.object_if("model")) {
    submission.model = ApiModel{model->text("name"), {}};
    submission.model->memory = MiB{model->integer("memory_mib", 0, greatest)};
    model->done();
  }
  if (submission.profile.has_value() + submission.memory.has_value() +
          submission.model.has_value() >
      1)
    in.refuse("", "more than one of profile, memory_mib and model is given",
              "give one of them, or none");
  if (submission.compute_slices && !submission.memory)
    in.refuse("compute_slices", "only memory_mib may have it",
              "give memory_mib too, or name a profile");
}

ApiSubmission submission_from(JsonReader& in) {
  ApiSubmission submission;
  submission.command = in.texts("command");
  if (submission.command.empty()) in.refuse("command", "there is no command");
  if (!in.has("environment")) in.refuse("", "the key 'environment' is missing");
  submission.environment = in.texts("environment");
  submission.directory = in.text("directory");
  submission.name = in.text_if("name");
  read_request(in, submission);
  constexpr std::int64_t most_priority = 1'000'000, most_retries = 1000;
  submission.priority = in.integer_if("priority", -most_priority, most_priority).value_or(0);
  submission.deadline = in.seconds_if("deadline_s");
  submission.retries = in.integer_if("retries", 0, most_retries).value_or(0);
  submission.restartable = in.flag("restartable", false);
  submission.movable = in.flag("movable", false);
  submission.checkpoint_signal = int_if(in, "checkpoint_signal", 0, 64);
  submission.checkpoint_grace = in.seconds_if("checkpoint_grace_s");
  submission.stop_grace = in.seconds_if("stop_grace_s");
  submission.out_of_memory_code = int_if(in, "out_of_memory_code", 1, 255);
  submission.application = in.text_if("application");
  submission.batch = in.integer_if("batch", 1, greatest);
  submission.expected = in.seconds_if("expected_s");
  in.done();
  return submission;
}

}  // namespace

Result<ApiSubmission> read_submission(const Json& document, const std::string& place) {
  return read_one(document, place, submission_from);
}

// Jobs.

namespace {

Json attempt_json(const ApiAttempt& attempt) {
  Json json{{"attempt", attempt.attempt}, {"instance", place_or_null(attempt.instance)}};
  put(json, "started_at", attempt.started);
  put(json, "began_at", attempt.began);
  put(json, "ended_at", attempt.ended);
  json["end"] = attempt.end.empty() ? Json(nullptr) : Json(attempt.end);
  json["why"] = attempt.why;
  put(json, "exit_code", attempt.exit_code);
  put(json, "peak_mib", attempt.peak);
  return json;
}

ApiAttempt attempt_from(JsonReader& in) {
  ApiAttempt attempt;
  attempt.attempt = in.integer("attempt", 0, greatest);
  attempt.instance = place_if(in, "instance");
  attempt.started = time_if(in, "started_at");
  attempt.began = time_if(in, "began_at");
  attempt.ended = time_if(in, "ended_at");
  attempt.end = text_or_empty(in, "end");
  attempt.why = text_or_empty(in, "why");
  attempt.exit_code = int_if(in, "exit_code", -1, 1000);
  attempt.peak = mebibytes_if(in, "peak_mib");
  return attempt;
}

ApiJob job_from(JsonReader& in) {
  ApiJob job;
  job.id = in.integer("id", 1, greatest);
  job.name = text_or_empty(in, "name");
  job.user = text_or_empty(in, "user");
  job.uid = user_number(in, "uid");
  job.state = in.text("state");
  job.reason = text_or_empty(in, "reason");
  job.exit_code = int_if(in, "exit_code", -1, 1000);
  job.instance = place_if(in, "instance");
  job.asked = text_or_empty(in, "asked");
  job.asks_now = text_or_empty(in, "asks_now");
  job.priority = in.integer_if("priority", -greatest, greatest).value_or(0);
  job.restartable = in.flag("restartable", false);
  job.movable = in.flag("movable", false);
  job.deadline_at = time_if(in, "deadline_at");
  job.submitted_at = time_if(in, "submitted_at");
  job.started_at = time_if(in, "started_at");
  job.ended_at = time_if(in, "ended_at");
  job.attempts = in.integer_if("attempts", 0, greatest).value_or(0);
  job.early_restarts = in.integer_if("early_restarts", 0, greatest).value_or(0);
  job.memory = mebibytes_if(in, "memory_mib");
  job.command = in.texts("command");
  job.directory = text_or_empty(in, "directory");
  for (JsonReader& attempt : in.objects("history")) job.history.push_back(attempt_from(attempt));
  return job;
}

}  // namespace

Json to_json(const ApiJob& job, bool whole) {
  Json json{{"id", job.id},   {"name", job.name},   {"user", job.user},
            {"uid", job.uid}, {"state", job.state}, {"reason", job.reason}};
  put(json, "exit_code", job.exit_code);
  json["instance"] = place_or_null(job.instance);
  json["asked"] = job.asked;
  json["asks_now"] = job.asks_now;
  json["priority"] = job.priority;
  json["restartable"] = job.restartable;
  json["movable"] = job.movable;
  put(json, "deadline_at", job.deadline_at);
  if (whole) {
    json["command"] = job.command;
    json["directory"] = job.directory;
  }
  put(json, "submitted_at", job.submitted_at);
  put(json, "started_at", job.started_at);
  put(json, "ended_at", job.ended_at);
  json["attempts"] = job.attempts;
  json["early_restarts"] = job.early_restarts;
  put(json, "memory_mib", job.memory);
  json["energy_j"] = nullptr;
  if (whole) {
    json["history"] = Json::array();
    for (const ApiAttempt& attempt : job.history) json["history"].push_back(attempt_json(attempt));
  }
  return json;
}

Result<ApiJob> read_job(const Json& document, const std::string& place) {
  return read_one(document, place, job_from);
}

Result<std::vector<ApiJob>> read_jobs(const Json& document, const std::string& place) {
  return read_list(document, place, "jobs", job_from);
}

// GPUs and instances.

namespace {

ApiInstance instance_from(JsonReader& in) {
  ApiInstance instance;
  instance.where = place_from(in);
  instance.owner = text_or_empty(in, "owner");
  instance.jobs = in.integers("jobs", 1, greatest);
  instance.processes = in.integers("processes", 0, greatest);
  instance.used = mebibytes_if(in, "used_mib");
  instance.total = mebibytes_if(in, "total_mib");
  return instance;
}

ApiGpu gpu_from(JsonReader& in) {
  ApiGpu gpu;
  gpu.index = in.integer("index", 0, greatest);
  gpu.uuid = in.text("uuid");
  gpu.model = text_or_empty(in, "model");
  gpu.managed = in.flag("managed", false);
  gpu.mig = in.flag("mig", false);
  gpu.drained = in.flag("drained", false);
  gpu.lost = in.flag("lost", false);
  gpu.trouble = text_or_empty(in, "trouble");
  gpu.power_w = in.number_if("power_w");
  gpu.layout = text_or_empty(in, "layout");
  for (JsonReader& instance : in.objects("instances"))
    gpu.instances.push_back(instance_from(instance));
  return gpu;
}

}  // namespace

Json to_json(const ApiInstance& instance) {
  Json json = place_json(instance.where);
  json["owner"] = instance.owner;
  json["jobs"] = instance.jobs;
  put(json, "used_mib", instance.used);
  put(json, "total_mib", instance.total);
  json["processes"] = instance.processes;
  return json;
}

Json to_json(const ApiGpu& gpu) {
  Json json{{"index", gpu.index},     {"uuid", gpu.uuid},      {"model", gpu.model},
            {"managed", gpu.managed}, {"mig", gpu.mig},        {"drained", gpu.drained},
            {"lost", gpu.lost},       {"trouble", gpu.trouble}};
  put(json, "power_w", gpu.power_w);
  json["layout"] = gpu.layout;
  json["instances"] = Json::array();
  for (const ApiInstance& instance : gpu.instances) json["instances"].push_back(to_json(instance));
  return json;
}

Result<ApiGpu> read_gpu(const Json& document, const std::string& place) {
  return read_one(document, place, gpu_from);
}

Result<std::vector<ApiGpu>> read_gpus(const Json& document, const std::string& place) {
  return read_list(document, place, "gpus", gpu_from);
}

// Events, the daemon's own state, errors.

namespace {

ApiEvent event_from(JsonReader& in) {
  ApiEvent event;
  event.id = in.integer("id", 0, greatest);
  event.at = time_if(in, "at");
  event.kind = in.text("kind");
  event.job = in.integer_if("job", 1, greatest);
  event.gpu = text_or_empty(in, "gpu");
  event.text = text_or_empty(in, "text");
  return event;
}

ApiStatus status_from(JsonReader& in) {
  ApiStatus status;
  status.version = in.text("version");
  status.scheduler = text_or_empty(in, "scheduler");
  status.forecaster = text_or_empty(in, "forecaster");
  status.pid = in.integer_if("pid", 0, greatest).value_or(0);
  status.uid = user_number(in, "uid");
  status.started_at = time_if(in, "started_at");
  status.simulated = in.flag("simulated", false);
  status.paused = in.flag("paused", false);
  if (auto jobs = in.object_if("jobs")) {
    status.queued = jobs->integer_if("queued", 0, greatest).value_or(0);
    status.starting = jobs->integer_if("starting", 0, greatest).value_or(0);
    status.running = jobs->integer_if("running", 0, greatest).value_or(0);
    status.stopping = jobs->integer_if("stopping", 0, greatest).value_or(0);
  }
  status.gpus = in.integer_if("gpus", 0, greatest).value_or(0);
  status.troubles = in.texts("troubles");
  status.notices = in.texts("notices");
  if (auto you = in.object_if("you")) {
    status.user = text_or_empty(*you, "user");
    status.operates = you->flag("operator", false);
  }
  return status;
}

}  // namespace

Json to_json(const ApiEvent& event) {
  Json json{{"id", event.id}};
  put(json, "at", event.at);
  json["kind"] = event.kind;
  put(json, "job", event.job);
  json["gpu"] = event.gpu.empty() ? Json(nullptr) : Json(event.gpu);
  json["text"] = event.text;
  return json;
}

Result<ApiEvent> read_event(const Json& document, const std::string& place) {
  return read_one(document, place, event_from);
}

Result<std::vector<ApiEvent>> read_events(const Json& document, const std::string& place) {
  return read_list(document, place, "events", event_from);
}

Result<ApiStatus> read_status(const Json& document, const std::string& place) {
  return read_one(document, place, status_from);
}

Json error_document(const Error& error) {
  return {{"error",
           {{"kind", name(error.kind)},
            {"place", error.place},
            {"message", error.message},
            {"remedy", error.remedy}}}};
}

Error read_error(int status, std::string_view body) {
  // What the daemon refused is the asker's to mend; the rest is its own.
  Error error{status == 500                    ? ErrorKind::internal
              : status == 400 || status == 413 ? ErrorKind::bad_input
                                               : ErrorKind::infeasible,
              "", "", ""};
  const auto document = parse_json(body, "");
  if (document && document->is_object() && document->contains("error")) {
    std::optional<Error> wrong;
    JsonReader in((*document)["error"], "", wrong);
    const std::string kind = text_or_empty(in, "kind");
    for (const ErrorKind each :
         {ErrorKind::bad_usage, ErrorKind::bad_input, ErrorKind::infeasible, ErrorKind::internal})
      if (kind == name(each)) error.kind = each;
    error.place = text_or_empty(in, "place");
    error.message = text_or_empty(in, "message");
    error.remedy = text_or_empty(in, "remedy");
  }
  if (error.message.empty())
    error.message = fmt::format("the daemon answered with status {}", status);
  return error;
}

}  // namespace cleave
