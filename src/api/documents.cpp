#include "api/documents.hpp"

#include <set>

#include "api/claim_documents.hpp"
#include "api/plan_documents.hpp"
#include "api/time_text.hpp"
#include "api/usage_documents.hpp"
#include "base/format.hpp"
#include "base/record_json.hpp"
#include "base/text.hpp"
#include "model/container_image.hpp"

namespace cleave {

namespace {

constexpr std::size_t most_stated_times = 64;

/// Answers over the socket: seconds, UTC, every key there.
struct AnswerForm {
  static constexpr bool strict = false, bounded = true;
  static bool has(const FieldInfo& info) { return info.use != FieldUse::stored; }
  static std::string_view key(const FieldInfo& info) { return info.key; }
  static bool needed(const FieldInfo& info) { return info.needed; }
  static bool omits(const FieldInfo&) { return false; }

  static Json json(Duration time) { return in_seconds(time); }
  static Json json(Instant time) { return utc_text(time); }
  static bool read(JsonReader& in, std::string_view key, const FieldInfo&, Duration& time) {
    const auto found = in.seconds_if(key);
    if (found) time = *found;
    return found.has_value();
  }
  static bool read(JsonReader& in, std::string_view key, const FieldInfo&, Instant& time) {
    const auto text = in.text_if(key);
    if (!text) return false;
    const auto found = parse_utc_text(*text);
    if (found)
      time = *found;
    else
      in.refuse(key, fmt::format("'{}' is not a time", shown(*text)),
                "write times like 2026-05-04T10:11:12.123Z");
    return found.has_value();
  }
  // What only the store has.
  static Json json(const Request&) { return nullptr; }
  static bool read(JsonReader&, std::string_view, const FieldInfo&, Request&) { return false; }
};

/// What is sent to the daemon.
struct SubmissionForm : AnswerForm {
  static constexpr bool strict = true;
};

/// An answer that cannot be read is never the user's mistake.
std::unexpected<Error> unreadable(Error error) {
  error.kind = ErrorKind::internal;
  return std::unexpected(std::move(error));
}

template <class Record>
Result<Record> read_one(const Json& document, const std::string& place) {
  std::optional<Error> error;
  JsonReader in(document, place, error);
  Record record;
  read_record<AnswerForm>(in, record);
  if (error) return unreadable(std::move(*error));
  return record;
}

/// Every element of the list under `key`, which must be there.
template <class Record>
Result<std::vector<Record>> read_list(const Json& document, const std::string& place,
                                      const char* key) {
  std::optional<Error> error;
  JsonReader in(document, place, error);
  if (!in.has(key)) in.refuse("", fmt::format("the key '{}' is missing", key));
  std::vector<Record> records;
  for (JsonReader& each : in.objects(key)) read_record<AnswerForm>(each, records.emplace_back());
  if (error) return unreadable(std::move(*error));
  return records;
}

/// What a job keeps must allow for what else is said of it.
void check_progress(JsonReader& in, const JobSpec& spec) {
  if (spec.progress == Keeps::nothing && spec.movable)
    in.refuse("progress", "a job that keeps nothing cannot be moved",
              "leave out movable, or say what the job keeps: stateless or checkpoint");
  if (spec.progress == Keeps::nothing && spec.checkpoint_signal != 0)
    in.refuse("progress", "a job that keeps nothing writes no checkpoint when it is signalled",
              "leave out checkpoint_signal, or say that it keeps its last checkpoint: checkpoint");
  if (moves_by_checkpoint(spec) && spec.checkpoint_signal != 0 &&
      spec.checkpoint_grace == Duration::zero())
    in.refuse("checkpoint_grace_s", "TERM would follow the checkpoint signal at once",
              "give the time that saving takes, or leave out checkpoint_signal: TERM asks for it "
              "then");
}

/// Commands that save a process and bring it back are for a single one, outside of containers.
void check_checkpoint_command(JsonReader& in, const Submission& submission) {
  if (submission.checkpoint_command.empty()) {
    if (!submission.restore_command.empty())
      in.refuse("restore_command", "there is no checkpoint_command that it would follow",
                "give checkpoint_command too");
    return;
  }
  const auto refuse = [&](std::string what, std::string remedy) {
    in.refuse("checkpoint_command", std::move(what), std::move(remedy));
  };
  if (submission.checkpoint_signal != 0)
    refuse("it is given in place of checkpoint_signal", "leave out one of the two");
  if (submission.progress == Keeps::nothing)
    refuse("a job that keeps nothing has no checkpoint",
           "leave it out, or say that the job keeps its last checkpoint: checkpoint");
  if (!may_be_restarted(submission) && submission.progress == Keeps::unsaid)
    refuse("it is not said that the job may be stopped and started again",
           "add restartable, or say that it keeps its last checkpoint: checkpoint");
  if (!submission.image.empty())
    refuse("it would not run in the job's container", "use checkpoint_signal");
  if (submission.service) refuse("a replica of a service takes over before", "leave it out");
  if (submission.gpus.value_or(1) > 1 || submission.instances.value_or(1) > 1)
    refuse("it is for jobs of one instance or GPU", "use checkpoint_signal");
  if (submission.checkpoint_grace == Duration::zero())
    in.refuse("checkpoint_grace_s", "the checkpoint command would have no time",
              "give the time that it may take");
}

/// Tasks of an array, and processes of one job, each have files of their own.
void check_outputs(JsonReader& in, const Submission& submission) {
  const bool processes = submission.instances.value_or(1) > 1 ||
                         (submission.service && submission.service->replicas > 1);
  for (const auto& [pattern, key] :
       {std::pair(&submission.output_file, "output"), std::pair(&submission.error_file, "error")}) {
    if (pattern->empty()) continue;
    if (!submission.array.empty() && !has_letter(*pattern, 'a') && !has_letter(*pattern, 'j'))
      in.refuse(key, "all jobs of the array would write one file",
                "put %a into its name, the index, or %j, the job's number");
    if (processes && !has_letter(*pattern, 't'))
      in.refuse(key, "all processes of the job would write one file",
                "put %t into its name, the number of the process");
  }
}

void check_array(JsonReader& in, const Submission& submission) {
  if (std::ssize(submission.after) > most_dependencies)
    in.refuse("after", fmt::format("it has more than {} dependencies", most_dependencies),
              "name ranges of jobs, such as ok:12-40");
  if (submission.array.empty()) return;
  if (submission.service)
    in.refuse("array", "a service has replicas in place of an array", "leave out one of the two");
  if (submission.lease)
    in.refuse("array", "a lease is one place for one person", "leave out one of the two");
}

void check_times(JsonReader& in, const JobSpec& spec) {
  if (spec.times.empty()) return;
  if (spec.expected)
    in.refuse("times", "it is given in place of expected_s", "leave out one of the two");
  if (spec.times.size() > most_stated_times)
    in.refuse("times", fmt::format("it has more than {} times", most_stated_times),
              "two of different size are enough");
  std::set<std::string_view> profiles;
  for (const StatedTime& each : spec.times) {
    if (!profiles.insert(each.profile).second)
      in.refuse("times", fmt::format("'{}' is given twice", shown(each.profile)));
    if (each.time <= Duration::zero())
      in.refuse("times", fmt::format("'{}' has no time", shown(each.profile)), "give its time_s");
  }
}

void check_kernel(JsonReader& in, const Submission& submission) {
  if (!submission.kernel) return;
  if (!submission.memory && !submission.model)
    in.refuse("kernel", "a kernel says how much compute is asked for beside a size",
              "give memory_mib or model too");
  if (const auto wrong = wrong_dimensions(*submission.kernel))
    in.refuse(fmt::format("kernel.{}", *wrong), std::string(wrong_dimensions_text));
}

/// What is not for services, or not for leases.
void refuse_for_kind(JsonReader& in, std::string_view kind, const Submission& submission) {
  const auto refuse = [&](bool said, std::string_view key) {
    if (said)
      in.refuse(key,
                fmt::format("this says something of the work of a batch, and a {} has none", kind),
                "leave it out");
  };
  refuse(submission.deadline.has_value(), "deadline_s");
  refuse(!submission.times.empty(), "times");
  if (submission.gpus || submission.instances)
    in.refuse(
        submission.gpus ? "gpus" : "instances",
        submission.service ? "a replica has one instance" : "a lease has one instance",
        submission.service ? "leave it out; replicas says how many there are" : "leave it out");
}

void check_service(JsonReader& in, Submission& submission) {
  refuse_for_kind(in, "service", submission);
  if (submission.expected)
    in.refuse("expected_s", "a service runs until it is cancelled", "leave it out");
  if (submission.time_limit)
    in.refuse("time_limit_s", "a service runs until it is cancelled", "leave it out");
  if (submission.retries != 0)
    in.refuse("retries", "replicas are started again however they end", "leave it out");
  if (submission.progress != Keeps::unsaid && submission.progress != Keeps::stateless)
    in.refuse("progress", "a service is stateless", "leave it out");
  submission.progress = Keeps::stateless;
}

void check_lease(JsonReader& in, const Submission& submission) {
  refuse_for_kind(in, "lease", submission);
  const LeaseTerms& lease = *submission.lease;
  const bool shrinks = lease.then == LeaseTerms::Then::shrink;
  if (shrinks && !lease.idle_after)
    in.refuse("lease.then", "it is not said when the lease is idle", "give idle_after_s too");
  if (lease.idle_memory && !shrinks)
    in.refuse("lease.idle_mib", "this lease does not shrink", "add \"then\": \"shrink\"");
  if (shrinks && !lease.idle_memory && !submission.memory)
    in.refuse("lease.idle_mib", "how much memory it holds while it is idle is not known",
              "give idle_mib, or ask for memory_mib");
  if (shrinks && !moves_by_checkpoint(submission) && submission.progress != Keeps::stateless)
    in.refuse("progress",
              "a lease that shrinks is stopped and goes on elsewhere, and it is not "
              "said that it saves its work",
              "say that it does: checkpoint; or choose give-back");
}

void check_kind(JsonReader& in, Submission& submission) {
  if (submission.service && submission.lease)
    in.refuse("lease", "a job is a service or a lease, not both", "leave out one of the two");
  if (submission.service) check_service(in, submission);
  if (submission.lease) check_lease(in, submission);
}

void check_container(JsonReader& in, const Submission& submission) {
  if (submission.image.empty()) {
    if (!submission.binds.empty())
      in.refuse("binds", "only a container has them", "name its image, or leave them out");
  } else if (!is_mountable(submission.working_directory)) {
    in.refuse("directory", "this folder cannot be given to a container",
              "its path has no colon, comma, quote or .., and no control characters");
  }
}

bool is_sized(const AskedSize& size) {
  return size.profile || size.memory || size.model;
}

/// What no row can say, since it is about several fields.
void check_together(JsonReader& in, Submission& submission) {
  if (submission.profile.has_value() + submission.memory.has_value() +
          submission.model.has_value() >
      1)
    in.refuse("", "more than one of profile, memory_mib and model is given",
              "give one of them, or none");
  if (submission.compute_slices && !submission.memory)
    in.refuse("compute_slices", "it is used only with memory_mib",
              "give memory_mib too, or name a profile");
  if (const auto wrong = wrong_places(submission, is_sized(submission), submission.movable))
    in.refuse(wrong->key, wrong->message, wrong->remedy);
  check_progress(in, submission);
  check_times(in, submission);
  check_kernel(in, submission);
  check_array(in, submission);
  check_outputs(in, submission);
  check_kind(in, submission);
  check_container(in, submission);
  check_checkpoint_command(in, submission);
}

}  // namespace

Result<Submission> read_submission(const Json& document, const std::string& place) {
  std::optional<Error> error;
  JsonReader in(document, place, error);
  Submission submission;
  read_record<SubmissionForm>(in, submission);
  check_together(in, submission);
  if (error) return std::unexpected(*error);
  return submission;
}

Json to_json(const ApiJob& job, bool whole) {
  return record_json<AnswerForm>(job, whole);
}
Result<ApiJob> read_job(const Json& document, const std::string& place) {
  return read_one<ApiJob>(document, place);
}
Result<std::vector<ApiJob>> read_jobs(const Json& document, const std::string& place) {
  return read_list<ApiJob>(document, place, "jobs");
}

Json to_json(const ApiInstance& instance) {
  return record_json<AnswerForm>(instance);
}
Json to_json(const ApiGpu& gpu) {
  return record_json<AnswerForm>(gpu);
}
Result<ApiGpu> read_gpu(const Json& document, const std::string& place) {
  return read_one<ApiGpu>(document, place);
}
Result<std::vector<ApiGpu>> read_gpus(const Json& document, const std::string& place) {
  return read_list<ApiGpu>(document, place, "gpus");
}

Json to_json(const ApiEvent& event) {
  return record_json<AnswerForm>(event);
}
Result<ApiEvent> read_event(const Json& document, const std::string& place) {
  return read_one<ApiEvent>(document, place);
}
Result<std::vector<ApiEvent>> read_events(const Json& document, const std::string& place) {
  return read_list<ApiEvent>(document, place, "events");
}

Json to_json(const ApiStatus& status) {
  return record_json<AnswerForm>(status);
}
Result<ApiStatus> read_status(const Json& document, const std::string& place) {
  return read_one<ApiStatus>(document, place);
}

namespace {

Json instance_json(const Geometry& geometry, const InstanceEntry& instance) {
  const Placement& where = geometry[instance.placement];
  Json json{{"profile", where.profile->name}, {"start", where.start}};
  if (instance.workload) json["workload"] = *instance.workload;
  if (!instance.movable) json["movable"] = false;
  if (!instance.owned) json["owned"] = false;
  return json;
}

/// As much of the format as a daemon's fleet has.
Json fleet_json(const FleetFile& file) {
  Json gpus = Json::array(), waiting = Json::array();
  for (const GpuEntry& gpu : file.gpus) {
    const Geometry& geometry = file.geometries[gpu.geometry];
    Json instances = Json::array();
    for (const InstanceEntry& each : gpu.instances)
      instances.push_back(instance_json(geometry, each));
    gpus.push_back(
        {{"name", gpu.name}, {"model", geometry.model().key}, {"instances", std::move(instances)}});
  }
  for (const WaitingEntry& each : file.waiting) {
    Json json{{"workload", each.workload}};
    if (const auto* profile = std::get_if<ByProfile>(&each.request.wanted))
      json["profile"] = profile->profile;
    if (const auto* size = std::get_if<BySize>(&each.request.wanted)) {
      json["memory_mib"] = size->memory.value;
      json["compute_slices"] = size->compute.value;
    }
    waiting.push_back(std::move(json));
  }
  return {{"gpus", std::move(gpus)}, {"waiting", std::move(waiting)}};
}

}  // namespace

Json to_json(const ApiFleet& fleet, const FleetFile& file) {
  Json json = record_json<AnswerForm>(fleet);
  json["fleet"] = fleet_json(file);
  return json;
}
Result<ApiFleet> read_fleet(const Json& document, const std::string& place) {
  return read_one<ApiFleet>(document, place);
}

Json to_json(const PlanOrder& order) {
  Json json = record_json<AnswerForm>(order);
  // What has become of a move is not the order's.
  for (Json& move : json["moves"])
    for (const char* key : {"state", "why_not"}) move.erase(key);
  return json;
}
Result<PlanOrder> read_plan_order(const Json& document, const std::string& place) {
  std::optional<Error> error;
  JsonReader in(document, place, error);
  PlanOrder order;
  read_record<SubmissionForm>(in, order);
  if (order.within < std::chrono::seconds(1))
    in.refuse("within_s", "a plan needs a second at least", "leave it out for an hour");
  for (std::size_t i = 0; i < order.moves.size(); ++i) {
    const PlannedMove& move = order.moves[i];
    if (move.from.gpu.empty()) in.refuse(fmt::format("moves[{}].from", i), "it is missing");
    if (move.to.gpu.empty()) in.refuse(fmt::format("moves[{}].to", i), "it is missing");
  }
  if (error) return std::unexpected(*error);
  return order;
}

Json to_json(const LivePlan& plan) {
  return record_json<AnswerForm>(plan);
}
Result<LivePlan> read_live_plan(const Json& document, const std::string& place) {
  return read_one<LivePlan>(document, place);
}
Result<std::vector<LivePlan>> read_live_plans(const Json& document, const std::string& place) {
  return read_list<LivePlan>(document, place, "plans");
}

Json to_json(const ClaimOrder& order) {
  Json json = record_json<AnswerForm>(order);
  // What is not said is left out: an order is read strictly.
  if (order.uid < 0) json.erase("uid");
  for (Json& ask : json["asks"])
    for (const char* key : {"profile", "memory_mib", "gpu", "start"})
      if (ask[key].is_null()) ask.erase(key);
  return json;
}
Result<ClaimOrder> read_claim_order(const Json& document, const std::string& place) {
  std::optional<Error> error;
  JsonReader in(document, place, error);
  ClaimOrder order;
  read_record<SubmissionForm>(in, order);
  std::int64_t all = 0;
  for (const ClaimAsk& ask : order.asks) {
    all += ask.count;
    if (ask.profile.empty() == !ask.memory.has_value())
      in.refuse("asks", "an ask names either a profile or memory_mib",
                R"(write {"profile": "3g.20gb"} or {"memory_mib": 9216})");
  }
  if (order.asks.empty()) in.refuse("asks", "nothing is asked for");
  if (all > most_claimed)
    in.refuse("asks", fmt::format("{} instances are more than one claim may have", all),
              fmt::format("ask for {} at most", most_claimed));
  if (error) return std::unexpected(*error);
  return order;
}
Json to_json(const ApiClaim& claim) {
  return record_json<AnswerForm>(claim);
}
Result<ApiClaim> read_claim(const Json& document, const std::string& place) {
  return read_one<ApiClaim>(document, place);
}
Result<std::vector<ApiClaim>> read_claims(const Json& document, const std::string& place) {
  return read_list<ApiClaim>(document, place, "claims");
}

namespace {

std::map<std::string, std::int64_t> read_counts(const Json& object, std::string_view key) {
  std::map<std::string, std::int64_t> counts;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_object()) return counts;
  for (const auto& [profile, count] : found->items())
    if (count.is_number_integer()) counts[profile] = count.get<std::int64_t>();
  return counts;
}

}  // namespace

Json to_json(const ApiRoom& room) {
  Json gpus = Json::array();
  for (const ApiRoomGpu& each : room.gpus)
    gpus.push_back({{"gpu", each.gpu}, {"uuid", each.uuid}, {"profiles", each.profiles}});
  return {{"gpus", std::move(gpus)}, {"profiles", room.profiles}};
}
Result<ApiRoom> read_room(const Json& document, const std::string& place) {
  std::optional<Error> error;
  JsonReader in(document, place, error);
  ApiRoom room;
  std::vector<JsonReader> gpus = in.objects("gpus");
  if (error) return unreadable(std::move(*error));
  room.profiles = read_counts(document, "profiles");
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    ApiRoomGpu& gpu = room.gpus.emplace_back();
    gpu.gpu = gpus[i].integer("gpu", 0, INT64_MAX);
    gpu.uuid = gpus[i].text("uuid");
    gpu.profiles = read_counts(document["gpus"][i], "profiles");
  }
  if (error) return unreadable(std::move(*error));
  return room;
}

Json error_document(const Error& error) {
  return {{"error",
           {{"kind", name(error.kind)},
            {"place", error.place},
            {"message", error.message},
            {"remedy", error.remedy}}}};
}

Error read_error(int status, std::string_view body) {
  // What the daemon refused is the client's to mend; the rest is its own.
  const bool wrong_request = status == 400 || status == 404 || status == 413;
  Error error{status == 500   ? ErrorKind::internal
              : wrong_request ? ErrorKind::bad_input
                              : ErrorKind::infeasible,
              "", "", ""};
  const auto document = parse_json(body, "");
  if (document && document->is_object() && document->contains("error")) {
    std::optional<Error> wrong;
    JsonReader in((*document)["error"], "", wrong);
    const auto text_or_empty = [&in](const char* key) { return in.text_if(key).value_or(""); };
    const std::string kind = text_or_empty("kind");
    for (const ErrorKind each :
         {ErrorKind::bad_usage, ErrorKind::bad_input, ErrorKind::infeasible, ErrorKind::internal})
      if (kind == name(each)) error.kind = each;
    error.place = text_or_empty("place");
    error.message = text_or_empty("message");
    error.remedy = text_or_empty("remedy");
  }
  if (error.message.empty())
    error.message = fmt::format("the daemon answered with status {}", status);
  return error;
}

Json to_json(const ApiUsage& usage) {
  return record_json<AnswerForm>(usage);
}
Result<std::vector<ApiUsage>> read_usage(const Json& document, const std::string& place) {
  return read_list<ApiUsage>(document, place, "usage");
}

Result<std::vector<UsageBy>> parse_usage_by(std::string_view text, const std::string& place) {
  std::vector<UsageBy> all;
  for (const std::string_view word : split(text, ',')) {
    if (text.empty()) break;
    const auto* known = std::ranges::find(usage_by_names, word);
    if (known == usage_by_names.end())
      return fail(ErrorKind::bad_input, place, fmt::format("'{}' is not known", shown(word)),
                  fmt::format("there are: {}", fmt::join(usage_by_names, ", ")));
    const auto by = static_cast<UsageBy>(known - usage_by_names.begin());
    if (std::ranges::find(all, by) != all.end())
      return fail(ErrorKind::bad_input, place, fmt::format("'{}' is given twice", word),
                  "name each once");
    all.push_back(by);
  }
  return all;
}

std::string day_text(std::int64_t day) {
  // Beyond what an instant can hold there is nothing to be shown.
  const auto most = std::chrono::floor<std::chrono::days>(Instant::max()).time_since_epoch();
  const auto within = std::clamp<std::int64_t>(day, 0, most.count());
  const Instant at{std::chrono::days(within)};
  return utc_text(at).substr(0, 10);
}

std::optional<std::int64_t> parse_day(std::string_view text) {
  const auto at = parse_utc_text(fmt::format("{}T00:00:00Z", text));
  if (!at) return std::nullopt;
  return std::chrono::floor<std::chrono::days>(*at).time_since_epoch().count();
}

}  // namespace cleave
