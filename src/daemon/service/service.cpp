#include "daemon/service/service.hpp"

#include <unistd.h>

#include <algorithm>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "daemon/metrics/metrics_settings.hpp"

namespace cleave {

namespace {

constexpr std::size_t most_events_at_once = 1000, events_a_piece = 250;
constexpr std::size_t most_waiting_calls = 4096;
constexpr std::size_t profiles_a_piece = 200;

/// Of those that the system knows.
std::vector<std::uint32_t> gids_of(std::span<const std::string> groups) {
  std::vector<std::uint32_t> found;
  for (const std::string& each : groups)
    if (const auto gid = each.empty() ? std::nullopt : UserBook::gid_of(each))
      found.push_back(*gid);
  return found;
}

}  // namespace

struct Service::Route {
  RouteFace face;
  void (Service::*serve)(const ApiCallPtr&);
};

std::span<const Service::Route> Service::table() {
  using enum ApiAccess;
  static const Route rows[] = {
      {{"GET", "/healthz", everyone}, &Service::health},
      {{"GET", "/metrics", everyone}, &Service::metrics},
      {{"GET", "/v1/status", everyone}, &Service::status},
      {{"POST", "/v1/jobs", everyone}, &Service::submit},
      {{"POST", "/v1/submissions", everyone}, &Service::submit_several},
      {{"GET", "/v1/jobs", everyone}, &Service::list_jobs},
      {{"GET", "/v1/jobs/{job}", everyone}, &Service::show_job},
      {{"GET", "/v1/jobs/{job}/wait", everyone}, &Service::wait_for_job},
      {{"POST", "/v1/jobs/{job}/cancel", everyone}, &Service::cancel_job},
      {{"POST", "/v1/cancellations", everyone}, &Service::cancel_several},
      {{"POST", "/v1/jobs/{job}/purge", everyone}, &Service::purge_job},
      {{"GET", "/v1/jobs/{job}/logs", everyone}, &Service::logs},
      {{"POST", "/v1/purge", everyone}, &Service::purge},
      {{"GET", "/v1/usage", everyone}, &Service::usage},
      {{"GET", "/v1/profiles", everyone}, &Service::list_profiles},
      {{"GET", "/v1/gpus", everyone}, &Service::list_gpus},
      {{"GET", "/v1/instances", everyone}, &Service::list_instances},
      {{"POST", "/v1/gpus/{gpu}/drain", operators}, &Service::drain},
      {{"POST", "/v1/gpus/{gpu}/undrain", operators}, &Service::undrain},
      {{"POST", "/v1/pause", operators}, &Service::pause},
      {{"POST", "/v1/resume", operators}, &Service::resume},
      {{"GET", "/v1/scheduler", everyone}, &Service::show_scheduler},
      {{"PUT", "/v1/scheduler", operators}, &Service::choose_scheduler},
      {{"GET", "/v1/fleet", operators}, &Service::show_fleet},
      {{"POST", "/v1/plans/preview", operators}, &Service::preview_plan},
      {{"POST", "/v1/plans", operators}, &Service::begin_plan},
      {{"GET", "/v1/plans", operators}, &Service::list_plans},
      {{"GET", "/v1/plans/{plan}", operators}, &Service::show_plan},
      {{"POST", "/v1/plans/{plan}/pause", operators}, &Service::pause_plan},
      {{"POST", "/v1/plans/{plan}/resume", operators}, &Service::resume_plan},
      {{"POST", "/v1/plans/{plan}/cancel", operators}, &Service::cancel_plan},
      {{"PUT", "/v1/claims/{key}", operators}, &Service::make_claim},
      {{"GET", "/v1/claims/{key}", operators}, &Service::show_claim},
      {{"DELETE", "/v1/claims/{key}", operators}, &Service::release_claim},
      {{"GET", "/v1/claims", operators}, &Service::list_claims},
      {{"GET", "/v1/room", operators}, &Service::show_room},
      {{"GET", "/v1/events", everyone}, &Service::events},
      {{"POST", "/v1/tokens", local}, &Service::make_token},
      {{"GET", "/v1/tokens", local}, &Service::list_tokens},
      {{"POST", "/v1/tokens/{token}/revoke", local}, &Service::revoke_token},
      {{"GET", "/v1/openapi.json", everyone}, &Service::openapi},
  };
  return rows;
}

std::vector<Service::RouteFace> Service::routes() {
  std::vector<RouteFace> faces;
  for (const Route& each : table()) faces.push_back(each.face);
  return faces;
}

Service::Service(ServiceDoors doors, ServiceFacts facts, ServiceSettings settings)
    : doors_(std::move(doors)),
      facts_(std::move(facts)),
      turns_(doors_.later),
      feed_(doors_.control, doors_.store, turns_) {
  set_settings(std::move(settings));
}

Service::~Service() = default;

void Service::set_settings(ServiceSettings settings) {
  settings_ = std::move(settings);
  operators_gids_ = gids_of({&settings_.operators_group, 1});
  allowed_gids_ = gids_of(settings_.allowed_groups);
  only_.reset();
}

// Routing and permissions.

void Service::serve(HttpRequest request, HttpAnswer answer) {
  const bool changes = request.method != "GET" && request.method != "HEAD";
  const auto call = std::make_shared<ApiCall>(
      std::move(request), std::move(answer),
      [this](const AuditLine& line) { doors_.audit.write(line, doors_.now().wall); });
  call->changes = changes;
  route(call);
}

/// A daemon that does not run as root serves its own user and root only.
bool Service::knows(const ApiCallPtr& call) {
  const std::uint32_t uid = call->request.peer.uid;
  if (const auto& user = users_.user(uid, doors_.now().steady)) call->user = user->name;
  call->operates = may_operate(call->request.peer);
  if (facts_.uid != 0 && uid != facts_.uid && uid != 0) {
    call->refuse(Error{ErrorKind::infeasible, "", "this daemon belongs to another user",
                       "start your own, or have one started as root"},
                 403);
    return false;
  }
  if (is_served(*call)) return true;
  call->refuse(Error{ErrorKind::infeasible, "", "you are in none of the groups that are served",
                     fmt::format("have an administrator add you to one of allowed_groups: {}",
                                 fmt::join(settings_.allowed_groups, ", "))},
               403);
  return false;
}

/// Whether the daemon lives is no secret: monitors need no group.
bool Service::is_served(const ApiCall& call) {
  return settings_.allowed_groups.empty() || call.operates || call.request.path == "/healthz" ||
         is_in(call.request.peer, allowed_gids_);
}

bool Service::may_operate(const HttpPeer& peer) {
  return peer.uid == 0 || peer.uid == facts_.uid || is_in(peer, operators_gids_);
}

bool Service::is_in(const HttpPeer& peer, std::span<const std::uint32_t> groups) {
  if (groups.empty()) return false;
  const auto& user = users_.user(peer.uid, doors_.now().steady);
  return std::ranges::any_of(groups, [&](std::uint32_t group) {
    return peer.gid == group ||
           (user && std::ranges::find(user->groups, group) != user->groups.end());
  });
}

void Service::route(const ApiCallPtr& call) {
  if (!knows(call)) return;
  std::vector<std::string> methods;
  for (const Route& each : table()) {
    auto parts = match_path(each.face.path, call->request.path);
    if (!parts) continue;
    methods.emplace_back(each.face.method);
    if (each.face.method != call->request.method) continue;
    call->parts = std::move(*parts);
    if (each.face.access == ApiAccess::operators && !call->operates)
      return call->refuse(
          Error{ErrorKind::infeasible, "", "only operators may do this",
                "root, the daemon's user and members of its operators_group are operators"},
          403);
    if (each.face.access == ApiAccess::local && call->request.web)
      return call->refuse(Error{ErrorKind::infeasible, "", "the page cannot do this",
                                "use `cleave page`, which asks over the daemon's socket"},
                          403);
    return (this->*each.serve)(call);
  }
  if (methods.empty())
    return call->no_such("path", call->request.path, "GET /v1/openapi.json lists them");
  HttpResponse response =
      http_error(405, name(ErrorKind::bad_input), "",
                 fmt::format("{} is not possible here", shown(call->request.method)),
                 fmt::format("use {}", any_of(methods)));
  response.headers.emplace_back("Allow", fmt::format("{}", fmt::join(methods, ", ")));
  call->reply(std::move(response), "not possible here");
}

// Delayed answers.

void Service::when_written(const ApiCallPtr& call, std::function<void()> then) {
  unwritten_.emplace(doors_.control.last_request(),
                     [call, then = std::move(then)](const Result<void>& done) {
                       if (!done) return call->refuse(done.error(), 503);
                       then();
                     });
  doors_.soon();
}

void Service::after_step() {
  for (const RequestAnswer& answer : doors_.control.answered()) {
    const auto found = unwritten_.find(answer.number);
    if (found == unwritten_.end()) continue;
    const auto tell = std::move(found->second);
    unwritten_.erase(found);
    tell(answer.done);
  }
  feed_.publish(doors_.now().steady);
  if (feed_.waits()) doors_.attend();
  std::erase_if(waiting_, [](const Waiting& each) { return each.each_step && each.check(false); });
}

void Service::tick() {
  const Duration now = doors_.now().steady;
  feed_.publish(now);
  std::erase_if(waiting_, [now](const Waiting& each) {
    return each.call->gone() || each.check(now >= each.until);
  });
}

void Service::in_pieces(const ApiCallPtr& call, std::function<bool()> piece) {
  turns_.add(call->request.peer.uid,
             [call, piece = std::move(piece)] { return !call->gone() && piece(); });
}

void Service::wait(Waiting waiting) {
  if (waiting.check(waiting.until <= doors_.now().steady)) return;
  if (waiting_.size() >= most_waiting_calls)
    return waiting.call->refuse(
        Error{ErrorKind::infeasible, "", "too many requests are waiting", "try again later"}, 429);
  waiting_.push_back(std::move(waiting));
  doors_.attend();
}

// The daemon itself.

std::vector<std::string> Service::troubles() const {
  std::vector<std::string> all = doors_.control.troubles();
  if (doors_.troubles) std::ranges::move(doors_.troubles(), std::back_inserter(all));
  return all;
}

void Service::health(const ApiCallPtr& call) {
  if (!call->query_is_fine()) return;
  const auto all = troubles();
  const auto gpus = doors_.control.gpus();
  const bool starting = std::ranges::any_of(
      gpus, [](const GpuStatus& gpu) { return !gpu.observation && gpu.trouble.empty(); });
  call->reply(200, Json{{"status", !all.empty() ? "degraded"
                                   : starting   ? "starting"
                                                : "ok"},
                        {"troubles", all}});
}

void Service::metrics(const ApiCallPtr& call) {
  if (!call->query_is_fine()) return;
  HttpResponse response;
  response.content_type = metrics_type;
  response.body = doors_.metrics();
  call->reply(std::move(response));
}

void Service::status(const ApiCallPtr& call) {
  if (!call->query_is_fine()) return;
  std::map<JobState, std::int64_t> counts;
  for (const JobRecord* job : doors_.control.jobs()) ++counts[job->state];
  ApiStatus status;
  status.version = facts_.version;
  status.pid = ::getpid();
  status.uid = facts_.uid;
  status.started_at = facts_.started;
  status.simulated = facts_.simulated;
  status.scheduler = doors_.control.scheduler();
  status.forecaster = settings_.forecaster;
  status.paused = doors_.control.paused();
  status.jobs = {counts[JobState::queued], counts[JobState::starting], counts[JobState::running],
                 counts[JobState::stopping]};
  status.gpus = std::ssize(doors_.control.gpus());
  const auto whose =
      call->operates ? std::nullopt : std::optional<std::uint32_t>(call->request.peer.uid);
  for (const PredictionErrors& each : doors_.control.prediction_errors(whose))
    status.predictions.push_back(prediction_errors_view(each));
  status.troubles = troubles();
  status.notices = facts_.notices;
  status.isolation = facts_.isolation;
  status.state_directory = facts_.state_directory;
  status.you = {call->request.peer.uid, call->user, call->operates};
  call->reply(200, to_json(status));
}

void Service::pause(const ApiCallPtr& call) {
  set_paused(call, true);
}
void Service::resume(const ApiCallPtr& call) {
  set_paused(call, false);
}
void Service::set_paused(const ApiCallPtr& call, bool paused) {
  if (!call->query_is_fine()) return;
  doors_.control.pause(paused, doors_.now());
  when_written(call, [call, paused] { call->reply(200, Json{{"paused", paused}}); });
}

void Service::show_scheduler(const ApiCallPtr& call) {
  if (call->query_is_fine()) call->reply(200, Json{{"scheduler", doors_.control.scheduler()}});
}

void Service::choose_scheduler(const ApiCallPtr& call) {
  if (!call->query_is_fine()) return;
  const auto document = parse_json(call->request.body, "request");
  if (!document) return call->refuse(document.error());
  std::optional<Error> error;
  JsonReader in(*document, "request", error);
  const std::string spec = in.text("scheduler");
  in.done();
  if (error) return call->refuse(*error);
  if (const auto taken = doors_.control.set_scheduler(spec, doors_.now()); !taken)
    return call->refuse(taken.error());
  when_written(call, [call, spec] { call->reply(200, Json{{"scheduler", spec}}, spec); });
}

void Service::openapi(const ApiCallPtr& call) {
  if (!call->query_is_fine()) return;
  HttpResponse response;
  response.body = openapi_text();
  call->reply(std::move(response));
}

// What jobs taught.

/// Records being written for one answer.
struct ProfileListing {
  ApiCallPtr call;
  std::vector<LearntProfile> records;
  std::size_t next = 0;
  std::string text;
};

bool Service::profile_piece(ProfileListing& listing) {
  const std::size_t end = std::min(listing.records.size(), listing.next + profiles_a_piece);
  for (; listing.next < end; ++listing.next) {
    LearntProfile& each = listing.records[listing.next];
    each.record.extra["x-uid"] = fmt::format("{}", each.uid);
    if (listing.next > 0) listing.text += ',';
    listing.text += profile_text(each.record);
  }
  if (listing.next < listing.records.size()) return true;
  HttpResponse response;
  response.body = fmt::format("{{\"profiles\":[{}]}}\n", listing.text);
  listing.call->reply(std::move(response));
  return false;
}

void Service::list_profiles(const ApiCallPtr& call) {
  const auto user = call->text("user");
  if (!call->query_is_fine()) return;
  const auto whose = user_meant(call, user);
  if (!whose) return;
  const auto listing = std::make_shared<ProfileListing>();
  listing->call = call;
  for (const auto& [uid, repository] : doors_.control.learnt().by_user()) {
    if (*whose && uid != **whose) continue;
    for (const auto& [key, record] : repository.records())
      listing->records.push_back({uid, record});
  }
  in_pieces(call, [this, listing] { return profile_piece(*listing); });
}

// GPUs.

std::function<bool(JobNumber)> Service::sight_of(const ApiCallPtr& call) const {
  return [this, operates = call->operates, uid = call->request.peer.uid](JobNumber number) {
    const JobRecord* job = doors_.control.job(number);
    return operates || (job != nullptr && job->owner.uid == uid);
  };
}

/// Of all GPUs, in their order.
std::vector<Json> Service::gpu_documents(const ApiCallPtr& call) {
  const GpuSight sight{sight_of(call), call->operates, call->request.peer.uid};
  const auto claims = doors_.control.claims();
  const auto reservations = doors_.control.reservations();
  std::vector<Json> all;
  for (const GpuStatus& gpu : doors_.control.gpus()) {
    const GpuReservation* first = nullptr;
    for (const GpuReservation& each : reservations)
      if (index(each.gpu) == all.size() && (first == nullptr || each.from < first->from))
        first = &each;
    all.push_back(to_json(gpu_view(gpu, sight, claims, first)));
  }
  return all;
}

void Service::list_gpus(const ApiCallPtr& call) {
  if (!call->query_is_fine()) return;
  call->reply(200, Json{{"gpus", gpu_documents(call)}});
}

void Service::list_instances(const ApiCallPtr& call) {
  if (!call->query_is_fine()) return;
  Json list = Json::array();
  for (const Json& gpu : gpu_documents(call))
    for (const Json& instance : gpu["instances"]) list.push_back(instance);
  call->reply(200, Json{{"instances", std::move(list)}});
}

void Service::drain(const ApiCallPtr& call) {
  set_drained(call, true);
}
void Service::undrain(const ApiCallPtr& call) {
  set_drained(call, false);
}
void Service::set_drained(const ApiCallPtr& call, bool drained) {
  if (!call->query_is_fine()) return;
  const auto gpus = doors_.control.gpus();
  const std::string& which = call->parts[0];
  const auto found = std::ranges::find_if(gpus, [&](const GpuStatus& each) {
    return which == each.gpu->uuid || which == fmt::format("{}", each.gpu->index);
  });
  if (found == gpus.end())
    return call->no_such("managed GPU", which, "`cleave top --once` shows them");
  const auto gpu = static_cast<GpuId>(found - gpus.begin());
  if (const auto taken = doors_.control.drain(gpu, drained, doors_.now()); !taken)
    return call->refuse(taken.error());
  when_written(call, [this, call, gpu] { call->reply(200, gpu_documents(call)[index(gpu)]); });
}

// Events.

/// A list of events being collected for one answer.
struct EventListing {
  ApiCallPtr call;
  std::optional<std::uint32_t> uid;
  std::int64_t after = 0;
  std::size_t listed = 0;
  std::string text;
};

/// Reads one piece. The store has no index by user, so all events are read and filtered.
bool Service::event_piece(EventListing& listing) {
  const auto found = doors_.store.events(listing.after, std::nullopt, events_a_piece);
  if (!found) {
    listing.call->refuse(found.error(), 503);
    return false;
  }
  for (const EventRecord& event : *found) {
    listing.after = event.number;
    if (!shows_to(event, listing.uid) || listing.listed == most_events_at_once) continue;
    if (listing.listed++ > 0) listing.text += ',';
    listing.text += api_text(to_json(event_view(event)));
  }
  if (found->size() == events_a_piece && listing.listed < most_events_at_once) return true;
  HttpResponse response;
  response.body = fmt::format("{{\"events\":[{}]}}\n", listing.text);
  listing.call->reply(std::move(response));
  return false;
}

void Service::events(const ApiCallPtr& call) {
  auto after = call->integer("after", 0, INT64_MAX);
  const bool as_json = call->word("format", {"stream", "json"}) == "json";
  if (!call->query_is_fine()) return;
  const std::string& last_id = call->request.last_event_id;
  if (const auto id = parse_integer(last_id); id && *id >= 0)
    after = id;
  else if (!last_id.empty())
    return call->refuse(Error{ErrorKind::bad_input, "Last-Event-ID",
                              "this is not the id of an event",
                              "leave it out to begin with the events of now"});
  const std::optional<std::uint32_t> uid =
      call->operates ? std::nullopt : std::optional(call->request.peer.uid);
  const std::int64_t last = doors_.control.last_event();
  if (!as_json) {
    HttpResponse response;
    response.content_type = "text/event-stream";
    response.headers.emplace_back("Cache-Control", "no-store");
    response.stream = [this, from = after.value_or(last), uid](std::shared_ptr<HttpStream> stream) {
      feed_.subscribe(std::move(stream), from, uid);
    };
    return call->reply(std::move(response));
  }
  const std::int64_t recent =
      std::max<std::int64_t>(last - static_cast<std::int64_t>(most_events_at_once), 0);
  const auto listing = std::make_shared<EventListing>();
  listing->call = call;
  listing->uid = uid;
  listing->after = after.value_or(recent);
  in_pieces(call, [this, listing] { return event_piece(*listing); });
}

}  // namespace cleave
