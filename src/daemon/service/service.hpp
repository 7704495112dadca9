#pragma once
// The API (docs/api.md): which users may ask for what, and how a request becomes a call of the
// control loop. Requests come from the server. Answers go back at once, or when the store has
// written the change; the service itself never blocks.
//
// Each path and method is a row of one table, which tests compare with docs/openapi.json.

#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "control/control.hpp"
#include "daemon/http/fair_turns.hpp"
#include "daemon/page/page_address.hpp"
#include "daemon/page/page_keys.hpp"
#include "daemon/service/api_call.hpp"
#include "daemon/service/audit.hpp"
#include "daemon/service/event_feed.hpp"
#include "daemon/service/user_book.hpp"
#include "daemon/service/views.hpp"

namespace cleave {

/// What clients may know of the daemon and does not change while it runs.
struct ServiceFacts {
  std::string version;
  std::string state_directory, jobs_directory;
  bool simulated = false;
  std::uint32_t uid = 0;  // the daemon's user; root serves everybody
  Instant started{};
  // For people, one line each.
  std::vector<std::string> notices, isolation;
};

/// Settings that a reload may change.
struct ServiceSettings {
  std::string operators_group;
  bool allow_unfenced_users = false;
  std::string forecaster;
  // For users who are not operators:
  std::int64_t highest_priority = 0;
  std::size_t most_waiting_per_user = SIZE_MAX;  // unfinished jobs
  std::vector<std::string> allowed_groups{};     // whose members are served; empty: everybody
  std::optional<Duration> job_time_most{};       // a job's time limit
  // And for everybody:
  std::optional<Duration> job_time_default{};  // of jobs that name none
};

/// What the service uses.
struct ServiceDoors {
  Control& control;
  Store& store;
  AuditFile& audit;
  std::function<Moment()> now;
  std::function<void()> soon;    // asks for a step within a few milliseconds
  std::function<void()> attend;  // a client waits: asks for tick()
  std::function<void(std::function<void()>)>
      later;  // in a turn of the loop of its own, after what is ready
  std::function<bool()> fences = [] { return false; };                  // as Runner::fences
  std::function<std::vector<std::string>()> troubles = {};              // besides those of control
  PageKeys* page_keys = nullptr;                                        // null: there is no page
  std::function<std::optional<PageAddress>()> page = {};                // where it is now
  std::function<std::string()> metrics = [] { return std::string(); };  // of GET /metrics
};

/// Serves the API's requests.
class Service {
 public:
  Service(ServiceDoors doors, ServiceFacts facts, ServiceSettings settings);
  ~Service();

  /// The server's handler.
  void serve(HttpRequest request, HttpAnswer answer);
  /// Called after each step of the loop: answers the calls that waited for it and sends events.
  void after_step();
  /// Called ten times a second while waits() is true: checks for output and for timeouts.
  void tick();
  [[nodiscard]] bool waits() const { return !waiting_.empty() || feed_.waits(); }
  /// Sends the last events to clients that follow them, before the connections are closed.
  void last_words() { feed_.publish(doors_.now().steady, true); }
  void set_settings(ServiceSettings settings);
  /// Whether the user is an operator.
  [[nodiscard]] bool operates(const HttpPeer& peer) { return may_operate(peer); }

  struct RouteFace {
    std::string_view method, path;
    ApiAccess access;
  };
  [[nodiscard]] static std::vector<RouteFace> routes();

 private:
  struct Route;
  static std::span<const Route> table();
  /// A call that is answered later. `check` answers it if it can and returns whether it did; at
  /// `until` it is called with `time_is_up`.
  struct Waiting {
    ApiCallPtr call;
    Duration until{};
    bool each_step = true;  // check after each step; otherwise only ten times a second
    std::function<bool(bool time_is_up)> check;
  };

  // service.cpp
  void health(const ApiCallPtr& call);
  void metrics(const ApiCallPtr& call);
  void status(const ApiCallPtr& call);
  void list_profiles(const ApiCallPtr& call);
  void list_gpus(const ApiCallPtr& call);
  void list_instances(const ApiCallPtr& call);
  void drain(const ApiCallPtr& call);
  void undrain(const ApiCallPtr& call);
  void set_drained(const ApiCallPtr& call, bool drained);
  void pause(const ApiCallPtr& call);
  void resume(const ApiCallPtr& call);
  void set_paused(const ApiCallPtr& call, bool paused);
  void show_scheduler(const ApiCallPtr& call);
  void choose_scheduler(const ApiCallPtr& call);
  void events(const ApiCallPtr& call);
  void openapi(const ApiCallPtr& call);
  // service_plans.cpp
  void show_fleet(const ApiCallPtr& call);
  void preview_plan(const ApiCallPtr& call);
  void begin_plan(const ApiCallPtr& call);
  void list_plans(const ApiCallPtr& call);
  void show_plan(const ApiCallPtr& call);
  void pause_plan(const ApiCallPtr& call);
  void resume_plan(const ApiCallPtr& call);
  void cancel_plan(const ApiCallPtr& call);
  void change_plan(const ApiCallPtr& call, PlanChange change);
  void reply_with_plan(const ApiCallPtr& call, std::int64_t number, int status, std::string result);
  // service_claims.cpp
  void make_claim(const ApiCallPtr& call);
  void show_claim(const ApiCallPtr& call);
  void list_claims(const ApiCallPtr& call);
  void release_claim(const ApiCallPtr& call);
  void show_room(const ApiCallPtr& call);
  [[nodiscard]] bool has_claim_key(const ApiCallPtr& call) const;
  void reply_with_claim(const ApiCallPtr& call, const std::string& result = {});
  // service_jobs.cpp
  void submit(const ApiCallPtr& call);
  void submit_several(const ApiCallPtr& call);
  void list_jobs(const ApiCallPtr& call);
  void show_job(const ApiCallPtr& call);
  void wait_for_job(const ApiCallPtr& call);
  void logs(const ApiCallPtr& call);
  // service_cancel.cpp
  void cancel_job(const ApiCallPtr& call);
  void cancel_several(const ApiCallPtr& call);
  // service_usage.cpp
  void usage(const ApiCallPtr& call);
  // service_tokens.cpp
  void make_token(const ApiCallPtr& call);
  void list_tokens(const ApiCallPtr& call);
  void revoke_token(const ApiCallPtr& call);
  [[nodiscard]] Result<std::uint32_t> token_user(const ApiCallPtr& call,
                                                 const std::optional<std::string>& named);
  // service_purge.cpp
  void purge(const ApiCallPtr& call);
  void purge_job(const ApiCallPtr& call);

  void route(const ApiCallPtr& call);
  [[nodiscard]] bool knows(const ApiCallPtr& call);
  [[nodiscard]] bool may_operate(const HttpPeer& peer);
  [[nodiscard]] bool is_in(const HttpPeer& peer, std::span<const std::uint32_t> groups);
  [[nodiscard]] bool is_served(const ApiCall& call);
  /// Calls `then` when the store has written the last change.
  void when_written(const ApiCallPtr& call, std::function<void()> then);
  void wait(Waiting waiting);
  [[nodiscard]] std::vector<std::string> troubles() const;
  [[nodiscard]] std::vector<Json> gpu_documents(const ApiCallPtr& call);
  [[nodiscard]] std::function<bool(JobNumber)> sight_of(const ApiCallPtr& call) const;

  [[nodiscard]] Result<JobOwner> owner_of(const ApiCallPtr& call);
  [[nodiscard]] Result<void> may_join(const JobOwner& owner);
  [[nodiscard]] Result<void> set_time_limit(JobSpec& spec, bool operates,
                                            const std::string& place) const;
  [[nodiscard]] bool has_share_left(std::uint32_t uid, std::size_t more);
  [[nodiscard]] Result<void> within_limits(const ApiCallPtr& call, struct SubmissionIntake& intake);
  [[nodiscard]] bool submitted_before(const ApiCallPtr& call,
                                      const struct SubmissionIntake& intake);
  void take_in(const ApiCallPtr& call, bool listed);
  void reply_with_new_job(const ApiCallPtr& call, JobNumber number, const JobCommand& command);
  /// Why a client does not see a job, and the status that says so.
  struct Unseen {
    Error error;
    int status = 404;
  };
  [[nodiscard]] std::expected<JobRecord, Unseen> look_up(const ApiCallPtr& call, JobNumber number,
                                                         std::string_view word);
  [[nodiscard]] std::optional<JobRecord> find_job(const ApiCallPtr& call);
  [[nodiscard]] CancelGrace grace_for(const ApiCallPtr& call, const JobRecord& job,
                                      bool at_once) const;
  [[nodiscard]] bool cancel_piece(const std::shared_ptr<struct CancelWalk>& walk);
  [[nodiscard]] bool cancelled_piece(struct CancelWalk& walk);
  [[nodiscard]] GpuIndexOf index_of();
  [[nodiscard]] std::optional<JobQuery> job_query(const ApiCallPtr& call);
  [[nodiscard]] ApiJob list_view(const JobRecord& job, const AttemptRecord* stored,
                                 const GpuIndexOf& indices);
  [[nodiscard]] std::optional<ArrayTask> find_array(const ApiCallPtr& call, JobNumber number);
  void begin_live_listing(struct JobListing& listing);
  [[nodiscard]] Result<void> begin_stored_listing(struct JobListing& listing);
  [[nodiscard]] bool live_piece(struct JobListing& listing);
  [[nodiscard]] bool stored_piece(struct JobListing& listing);
  [[nodiscard]] bool list_piece(struct JobListing& listing);
  [[nodiscard]] bool event_piece(struct EventListing& listing);
  [[nodiscard]] bool purge_some(struct PurgeWalk& walk);
  [[nodiscard]] bool purge_piece(struct PurgeWalk& walk);
  [[nodiscard]] std::shared_ptr<struct UsageListing> usage_question(const ApiCallPtr& call);
  [[nodiscard]] bool usage_piece(struct UsageListing& listing);
  [[nodiscard]] bool profile_piece(struct ProfileListing& listing);
  /// Whose things a query is about that names a user, a uid or `all`, or nobody: the client's own.
  /// The inner one is empty for all users; the outer one where the query was refused.
  [[nodiscard]] std::optional<std::optional<std::uint32_t>> user_meant(
      const ApiCallPtr& call, const std::optional<std::string>& user);
  /// Work in pieces, one in each turn of the loop; `piece` returns whether there is more. It ends
  /// early if the client has hung up.
  void in_pieces(const ApiCallPtr& call, std::function<bool()> piece);
  [[nodiscard]] Result<std::vector<ApiProcess>> process_views(const JobRecord& job,
                                                              const GpuIndexOf& indices);
  void add_what_runs(ApiJob& view);
  void reply_with_job(const ApiCallPtr& call, JobNumber number, std::string result = {},
                      int status = 200);
  [[nodiscard]] bool output_piece(const ApiCallPtr& call, const struct OutputQuery& query,
                                  bool time_is_up);

  ServiceDoors doors_;
  ServiceFacts facts_;
  ServiceSettings settings_;
  UserBook users_;
  FairTurns turns_;
  EventFeed feed_;
  std::vector<std::uint32_t> operators_gids_;  // one, or none
  std::vector<std::uint32_t> allowed_gids_;    // of the groups that there are
  std::map<std::uint64_t, std::function<void(const Result<void>&)>>
      unwritten_;                                 // by number of the change
  std::map<std::uint32_t, std::size_t> joining_;  // submissions not written yet, by user
  struct OnlyUser {
    JobNumber job = 0;
    std::uint32_t uid = 0;
  };
  // Unfinished jobs of each user when they were last counted, plus those submitted since: never
  // fewer than there are.
  std::map<std::uint32_t, std::size_t> held_;
  Duration counted_{};
  std::weak_ptr<class PlanPreview> preview_;  // the latest
  std::optional<OnlyUser> only_;              // the one user with jobs, proven by an unfinished one
  std::vector<Waiting> waiting_;
};

/// The text of docs/openapi.json at build time.
std::string_view openapi_text();

}  // namespace cleave
