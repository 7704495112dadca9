#pragma once
// What goes over the daemon's socket, as structs with the tables of their fields (base/record.hpp);
// from a table follow its JSON both ways, the schemas of docs/openapi.json and the lists of fields
// in docs/api.md. To add a field to an answer: a member, its row, and where it is filled in
// (daemon/service/views.cpp).
//
// A submission (model/job_spec.hpp) is read strictly: an unknown key is refused, since nothing
// would come of it. Answers are read tolerantly: what is there must be of the right kind and what
// programs rely on must be there, but keys that a later daemon adds are passed over.
//
// Errors of reading are bad_input with `place` and the key.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.hpp"
#include "base/result.hpp"
#include "model/job_kind.hpp"
#include "model/job_spec.hpp"
#include "model/job_state.hpp"
#include "model/time_source.hpp"

namespace cleave {

[[nodiscard]] Result<Submission> read_submission(const Json& document, const std::string& place);

/// Where a job runs, or ran.
struct ApiPlace {
  std::string gpu;  // UUID
  std::int64_t gpu_index = -1;
  std::string device, profile;  // the MIG UUID; empty profile: the whole GPU
  std::int64_t start = 0;
  friend bool operator==(const ApiPlace&, const ApiPlace&) = default;
};

/// One run of a job.
struct ApiAttempt {
  std::int64_t attempt = 0;
  std::optional<ApiPlace> instance;
  std::optional<Instant> started, began, ended;
  std::string end, why;  // end: a word; empty while it runs
  std::optional<int> exit_code;
  std::optional<MiB> peak;
  std::optional<Duration> predicted = {}, lasted = {};
  std::optional<std::string> predicted_by = {};  // a word, perhaps one of a later daemon
  std::optional<MiB> too_large = {};
  friend bool operator==(const ApiAttempt&, const ApiAttempt&) = default;
};

/// One of the processes of a job of several instances or GPUs, or of the replicas of a service.
struct ApiProcess {
  std::int64_t rank = 0;
  std::string state;  // a word of jobs, perhaps one of a later daemon
  bool held = false;
  std::int64_t restarts = 0;  // of a replica
  std::optional<Instant> starts_again_at;
  std::optional<ApiPlace> instance;
  std::optional<MiB> memory;
  std::optional<int> exit_code;
  std::string why;
  friend bool operator==(const ApiProcess&, const ApiProcess&) = default;
};

/// A job as its owner sees it.
struct ApiJob {
  std::int64_t id = 0;
  std::string name, user;
  std::uint32_t uid = 0;
  std::string state, reason;  // state: a word, perhaps one of a later daemon
  std::optional<int> exit_code;
  std::optional<ApiPlace> instance;
  std::string asked, asks_now;  // in words
  std::int64_t priority = 0;
  bool restartable = false, movable = false;
  std::optional<std::string> progress;  // a word, perhaps one of a later daemon
  std::optional<Duration> time_limit;
  std::optional<Instant> deadline_at, submitted_at, started_at, ended_at, expected_end_at;
  std::optional<std::string> expected_by;  // a word, perhaps one of a later daemon
  std::int64_t attempts = 0, early_restarts = 0;
  std::int64_t places = 1;                   // instances or GPUs at a time
  std::string kind = "batch";                // a word, perhaps one of a later daemon
  std::optional<std::int64_t> replicas, up;  // of a service: wanted, and those that run
  std::int64_t restarts = 0;
  std::optional<Instant> promised_at, idle_since;
  bool idle_measured = false;
  std::optional<MiB> memory;     // the most that was reported as held
  std::optional<double> energy;  // J
  Duration unmetered{};          // while it ran and no counter of its GPU was read
  std::optional<std::string> application, ran_on;
  std::optional<ArrayTask> array;
  std::optional<std::string> awaited;  // `after`, joined by commas
  std::optional<JobsAtOnce> at_once;   // with those of its request
  // In the answer about a single job only.
  std::optional<std::string> why_size;
  std::optional<LeaseTerms> lease;
  std::optional<std::string> image;
  std::optional<double> cpus;      // of the host, for each process; as it was asked for
  std::optional<MiB> host_memory;  // likewise
  std::vector<std::string> after;  // jobs that it waits for, or waited for
  std::string output, error;       // files of its user's, as asked for
  std::vector<std::string> command;
  std::string directory;
  std::vector<ApiAttempt> history;
  std::int64_t history_left_out = 0;  // older attempts
  std::vector<ApiProcess> processes;  // of several places or a service, by rank
  friend bool operator==(const ApiJob&, const ApiJob&) = default;

  /// Nothing more will become of it.
  [[nodiscard]] bool is_over() const {
    const auto known = parse_job_state(state);
    return known && is_final(*known);
  }
};
/// `whole`: with command, directory and history.
[[nodiscard]] Json to_json(const ApiJob& job, bool whole);
[[nodiscard]] Result<ApiJob> read_job(const Json& document, const std::string& place);
/// Of {"jobs": [...]}.
[[nodiscard]] Result<std::vector<ApiJob>> read_jobs(const Json& document, const std::string& place);

/// Who made an instance, as far as the ledger says.
inline constexpr std::array<std::string_view, 4> instance_owner_names = {"ours", "foreign",
                                                                         "half-made", "unknown"};

/// A GPU instance as it is found, and what runs there.
struct ApiInstance : ApiPlace {
  std::string owner;  // ours, foreign, half-made, unknown
  std::vector<std::int64_t> jobs, processes;
  std::optional<MiB> used, total;
  std::optional<double> energy = {};                         // J
  std::optional<double> activity = {};                       // of its processors: 0 to 1
  bool held = false;                                         // a job has it, of any user
  std::optional<std::string> claim = {}, claim_holder = {};  // empty: of somebody else
  friend bool operator==(const ApiInstance&, const ApiInstance&) = default;
};
[[nodiscard]] Json to_json(const ApiInstance& instance);

/// A GPU that the daemon manages.
struct ApiGpu {
  std::int64_t index = 0;
  std::string uuid, model;
  bool managed = false, mig = false, drained = false, lost = false;
  std::string trouble;
  std::optional<double> power_w, energy;
  std::string layout;  // as people write it
  std::vector<ApiInstance> instances;
  std::optional<std::string> reserved_for;  // empty: for nobody
  std::optional<Instant> reserved_from, reserved_until;
  friend bool operator==(const ApiGpu&, const ApiGpu&) = default;
};
[[nodiscard]] Json to_json(const ApiGpu& gpu);
[[nodiscard]] Result<ApiGpu> read_gpu(const Json& document, const std::string& place);
/// Of {"gpus": [...]}.
[[nodiscard]] Result<std::vector<ApiGpu>> read_gpus(const Json& document, const std::string& place);

/// Something that happened.
struct ApiEvent {
  std::int64_t id = 0;
  std::optional<Instant> at;
  std::string kind;
  std::optional<std::int64_t> job;
  std::string gpu, text;
  friend bool operator==(const ApiEvent&, const ApiEvent&) = default;
};
[[nodiscard]] Json to_json(const ApiEvent& event);
[[nodiscard]] Result<ApiEvent> read_event(const Json& document, const std::string& place);
/// Of {"events": [...]}.
[[nodiscard]] Result<std::vector<ApiEvent>> read_events(const Json& document,
                                                        const std::string& place);

/// Unfinished jobs by their state.
struct ApiJobCounts {
  std::int64_t queued = 0, starting = 0, running = 0, stopping = 0;
  friend bool operator==(const ApiJobCounts&, const ApiJobCounts&) = default;
};

/// The client as the daemon knows it by its socket.
struct ApiClientUser {
  std::uint32_t uid = 0;
  std::string user;
  bool operates = false;  // may do everything
  friend bool operator==(const ApiClientUser&, const ApiClientUser&) = default;
};

/// How far predicted times were off, of the latest jobs that finished.
struct ApiPredictionErrors {
  std::optional<std::string> by;  // a word, perhaps one of a later daemon; empty: all together
  std::int64_t count = 0;
  double median = 0, p90 = 0;  // of |predicted / seen - 1|
  friend bool operator==(const ApiPredictionErrors&, const ApiPredictionErrors&) = default;
};

/// The daemon itself.
struct ApiStatus {
  std::string version;
  std::int64_t pid = 0;
  std::uint32_t uid = 0;  // the daemon's
  std::optional<Instant> started_at;
  bool simulated = false;
  std::string scheduler, forecaster;
  bool paused = false;
  ApiJobCounts jobs;
  std::int64_t gpus = 0;
  std::vector<ApiPredictionErrors> predictions;
  std::vector<std::string> troubles, notices, isolation;
  std::string state_directory;
  ApiClientUser you;
  friend bool operator==(const ApiStatus&, const ApiStatus&) = default;
};
[[nodiscard]] Json to_json(const ApiStatus& status);
[[nodiscard]] Result<ApiStatus> read_status(const Json& document, const std::string& place);

/// What {"error": {...}} says; where the body is not such a document, what can be said of an answer
/// with this status. Never without a message.
[[nodiscard]] Error read_error(int status, std::string_view body);
[[nodiscard]] Json error_document(const Error& error);

// The tables.

template <>
inline constexpr auto fields_of<ApiPlace> = std::tuple{
    field("gpu", &ApiPlace::gpu, {.help = "UUID of the GPU"}),
    field("gpu_index", &ApiPlace::gpu_index,
          {.help = "NVML's index of the GPU; -1 if it is not managed now", .least = -1}),
    field("device", &ApiPlace::device,
          {.help = "Value of CUDA_VISIBLE_DEVICES: a MIG UUID, or the GPU's UUID if the job has "
                   "the whole GPU; empty if there is none, and for users who neither operate nor "
                   "have a job there"}),
    field("profile", &ApiPlace::profile,
          {.help = "Profile of the instance; empty on a whole GPU and where it is unknown"}),
    field("start", &ApiPlace::start, {.help = "First memory slice of the instance", .least = 0}),
};
template <>
inline constexpr std::string_view schema_of<ApiPlace> = "Place";

template <>
inline constexpr auto fields_of<ApiAttempt> = std::tuple{
    field("attempt", &ApiAttempt::attempt,
          {.help = "Number of the attempt", .least = 1, .needed = true}),
    field("instance", &ApiAttempt::instance, {.help = "Where it ran"}),
    field("started_at", &ApiAttempt::started, {.help = "When it was decided"}),
    field("began_at", &ApiAttempt::began, {.help = "When its process began"}),
    field("ended_at", &ApiAttempt::ended, {.help = "When it ended"}),
    field("end", &ApiAttempt::end,
          {.help = "Why it ended, or is being ended",
           .words = attempt_end_names,
           .null = NullWhen::empty}),
    field("why", &ApiAttempt::why, {.help = "The same in words"}),
    field("exit_code", &ApiAttempt::exit_code,
          {.help = "Exit code; 128 + signal if a signal ended it", .least = -1, .most = 1000}),
    field("peak_mib", &ApiAttempt::peak,
          {.help = "Most memory that it reported, with the context", .least = 0}),
    field("predicted_s", &ApiAttempt::predicted,
          {.help = "How long it was predicted to run when it began; null where nothing was known",
           .least = 0}),
    field("predicted_by", &ApiAttempt::predicted_by,
          {.help = "How that was known, in the words of a job's expected_by",
           .words = time_source_names}),
    field("lasted_s", &ApiAttempt::lasted,
          {.help = "How long its process ran; null while it does", .least = 0}),
    field(
        "too_large_mib", &ApiAttempt::too_large,
        {.help = "Memory that it was forecast to need, where no GPU here has as much", .least = 0}),
};
template <>
inline constexpr std::string_view schema_of<ApiAttempt> = "Attempt";

template <>
inline constexpr auto fields_of<ApiProcess> = std::tuple{
    field("rank", &ApiProcess::rank,
          {.help = "Number of the process in its job, from 0", .least = 0, .needed = true}),
    field("state", &ApiProcess::state,
          {.help = "What the process is doing, or how it ended", .words = job_state_names}),
    field("held", &ApiProcess::held,
          {.help = "Whether there is no process, and the GPU is held for the first one, which "
                   "sees it"}),
    field(
        "restarts", &ApiProcess::restarts,
        {.help = "Of a replica: how often it was started again because it had ended", .least = 0}),
    field("starts_again_at", &ApiProcess::starts_again_at,
          {.help = "When it is started again; null unless it has ended and waits for that"}),
    field("instance", &ApiProcess::instance, {.help = "Where it runs, or ran last"}),
    field("memory_mib", &ApiProcess::memory,
          {.help = "Most memory that its latest attempt reported, with the context", .least = 0}),
    field("exit_code", &ApiProcess::exit_code,
          {.help = "Exit code of its latest attempt; 128 + signal if a signal ended it",
           .least = -1,
           .most = 1000}),
    field("why", &ApiProcess::why, {.help = "Why its latest attempt ended, in words"}),
};
template <>
inline constexpr std::string_view schema_of<ApiProcess> = "Process";

template <>
inline constexpr auto fields_of<ApiJob> = std::tuple{
    field("id", &ApiJob::id, {.help = "Number of the job", .least = 1, .needed = true}),
    field("name", &ApiJob::name, {.help = "Name given by the user; may be empty"}),
    field("user", &ApiJob::user, {.help = "Name of the user; may be empty"}),
    field("uid", &ApiJob::uid, {.help = "Number of the user", .least = 0}),
    field("state", &ApiJob::state,
          {.help = "What the job is doing", .words = job_state_names, .needed = true}),
    field("reason", &ApiJob::reason,
          {.help = "Why it is in this state, in words; lists explain 10 queued jobs only"}),
    field("exit_code", &ApiJob::exit_code,
          {.help = "Exit code of the attempt that ended it", .least = -1, .most = 1000}),
    field("instance", &ApiJob::instance, {.help = "Where it runs now"}),
    field("asked", &ApiJob::asked, {.help = "What was asked for, in words"}),
    field("asks_now", &ApiJob::asks_now,
          {.help = "What the job asks for now, in words: more, if it has been found to need more"}),
    field("priority", &ApiJob::priority, {.help = "Its priority"}),
    field("restartable", &ApiJob::restartable, {.help = "Whether it may be stopped and run again"}),
    field("movable", &ApiJob::movable, {.help = "Whether it may be moved while it runs"}),
    field("progress", &ApiJob::progress,
          {.help = "What it keeps of its work when it is moved, stopped or lost",
           .words = std::span(words_of_keeps).subspan(1)}),
    field("deadline_at", &ApiJob::deadline_at, {.help = "When it should be done"}),
    field("time_limit_s", &ApiJob::time_limit,
          {.help = "Seconds for which it may run; null: no limit", .use = FieldUse::whole}),
    field(
        "image", &ApiJob::image,
        {.help = "The image of its container; null where it runs in none", .use = FieldUse::whole}),
    field("cpus", &ApiJob::cpus,
          {.help = "CPUs of the host that it asked for; null: the share of its slices",
           .use = FieldUse::whole}),
    field("host_memory_mib", &ApiJob::host_memory,
          {.help = "MiB of the host's memory that it asked for; null: the share of its slices",
           .use = FieldUse::whole}),
    field(
        "after", &ApiJob::after,
        {.help = "What it waits for, or waited for, as it was submitted", .use = FieldUse::whole}),
    field("output", &ApiJob::output,
          {.help = "File in which its user wants its standard output, as it was submitted; null "
                   "where none was named",
           .use = FieldUse::whole,
           .null = NullWhen::empty}),
    field("error", &ApiJob::error,
          {.help = "The same of its standard error",
           .use = FieldUse::whole,
           .null = NullWhen::empty}),
    field("command", &ApiJob::command,
          {.help = "The program and its arguments", .use = FieldUse::whole}),
    field("directory", &ApiJob::directory,
          {.help = "Where the command starts", .use = FieldUse::whole}),
    field("submitted_at", &ApiJob::submitted_at, {.help = "When it was submitted"}),
    field("started_at", &ApiJob::started_at, {.help = "When its latest attempt began"}),
    field("ended_at", &ApiJob::ended_at, {.help = "When it ended for good"}),
    field("expected_end_at", &ApiJob::expected_end_at,
          {.help = "When it is expected to end; null unless it runs and its time is known"}),
    field("expected_by", &ApiJob::expected_by,
          {.help = "How that is known: from what the job reports, from what it reported on another "
                   "profile, from declared times, by the law of slices from two of them, as "
                   "measured of the application, as measured of it on other profiles, by the "
                   "trained model, or as a guess from one profile",
           .words = time_source_names}),
    field("why_size", &ApiJob::why_size,
          {.help = "Why its instance is as large as it is, in words; null where the scheduler does "
                   "not say so",
           .use = FieldUse::whole}),
    field("attempts", &ApiJob::attempts, {.help = "Attempts started so far", .least = 0}),
    field("early_restarts", &ApiJob::early_restarts,
          {.help = "Restarts in the last day before its memory would have run out", .least = 0}),
    field("places", &ApiJob::places,
          {.help = "Instances or GPUs that it has at a time; of a service, a replica", .least = 1}),
    field("kind", &ApiJob::kind, {.help = "What kind of job it is", .words = words_of_job_kind}),
    field("replicas", &ApiJob::replicas,
          {.help = "Of a service: how many replicas are wanted", .least = 1}),
    field("up", &ApiJob::up, {.help = "Of a service: how many replicas run", .least = 0}),
    field("restarts", &ApiJob::restarts,
          {.help = "Of a service: how often its replicas were started again because one had ended",
           .least = 0}),
    field("lease", &ApiJob::lease,
          {.help = "Of a lease: what was asked for", .use = FieldUse::whole}),
    field("promised_at", &ApiJob::promised_at,
          {.help = "Of a lease that had to wait: by when its place was expected to be free when it "
                   "came; null where that was not known"}),
    field(
        "idle_measured", &ApiJob::idle_measured,
        {.help = "Of a lease: whether the driver counts its work; while it does not, the lease is "
                 "not idle"}),
    field("idle_since", &ApiJob::idle_since,
          {.help = "Of a lease: since when it has done no GPU work"}),
    field("memory_mib", &ApiJob::memory,
          {.help = "Most memory that its latest attempt reported, with the context", .least = 0}),
    field("application", &ApiJob::application,
          {.help = "Its application, whose jobs have one profile of performance"}),
    field("ran_on", &ApiJob::ran_on,
          {.help = "Profile on which its latest attempt runs or ran; `none`: a whole GPU"}),
    field("array", &ApiJob::array, {.help = "Which job of which array; null: it is in none"}),
    field("awaited", &ApiJob::awaited,
          {.help = "What it waits for, or waited for, as it was submitted: `after` of the answer "
                   "about the job alone, joined by commas; null: nothing"}),
    field("at_once", &ApiJob::at_once,
          {.help = "Of the jobs of its request, how many may run at a time; null: all"}),
    field("energy_j", &ApiJob::energy,
          {.help = "Joules that it has used of its GPUs, of all attempts and processes "
                   "(docs/energy.md); null while no counter was read"}),
    field("unmetered_s", &ApiJob::unmetered,
          {.help = "Seconds for which it had an instance or a GPU of which no counter was read, "
                   "those of all its processes together",
           .least = 0,
           .use = FieldUse::whole}),
    field("history", &ApiJob::history,
          {.help = "Its latest attempts, oldest first; of a job of several places those of its "
                   "first process",
           .use = FieldUse::whole}),
    field("history_left_out", &ApiJob::history_left_out,
          {.help = "Number of older attempts, of which nothing is kept",
           .least = 0,
           .use = FieldUse::whole}),
    field("processes", &ApiJob::processes,
          {.help = "Of a job of several places its processes, of a service its replicas, by rank",
           .use = FieldUse::whole}),
};
template <>
inline constexpr std::string_view schema_of<ApiJob> = "Job";

template <>
inline constexpr auto fields_of<ApiInstance> = std::tuple_cat(
    fields_of<ApiPlace>,
    std::tuple{
        field("owner", &ApiInstance::owner,
              {.help = "Whether Cleave made it", .words = instance_owner_names}),
        field("jobs", &ApiInstance::jobs,
              {.help = "Numbers of the jobs that hold it; jobs of other users are left out",
               .least = 1}),
        field("held", &ApiInstance::held, {.help = "Whether a job has it, of any user"}),
        field("claim", &ApiInstance::claim,
              {.help = "Key of the claim by which another engine has it; empty for users who "
                       "neither operate nor run programs there; null: there is none"}),
        field("claim_holder", &ApiInstance::claim_holder,
              {.help = "Who has that claim, for people; for the same users"}),
        field("used_mib", &ApiInstance::used, {.help = "Memory in use", .least = 0}),
        field("total_mib", &ApiInstance::total, {.help = "Memory of the instance", .least = 0}),
        field("energy_j", &ApiInstance::energy,
              {.help = "Joules that jobs have used there since it was made; null where none is "
                       "known"}),
        field("activity", &ApiInstance::activity,
              {.help = "Share of its SMs' time with work, of all its jobs together, between the "
                       "last two looks at the GPU; null where no job runs there, where the driver "
                       "does not count it, as before Hopper, and for users who neither operate nor "
                       "have a job there"}),
        field(
            "processes", &ApiInstance::processes,
            {.help =
                 "Numbers of the processes that use it; for those who operate or have a job there",
             .least = 0}),
    });
template <>
inline constexpr std::string_view schema_of<ApiInstance> = "Instance";

template <>
inline constexpr auto fields_of<ApiGpu> = std::tuple{
    field("index", &ApiGpu::index, {.help = "NVML's index", .least = 0, .needed = true}),
    field("uuid", &ApiGpu::uuid, {.help = "UUID", .needed = true}),
    field("model", &ApiGpu::model, {.help = "The driver's name of the model"}),
    field("managed", &ApiGpu::managed, {.help = "Whether the daemon manages it"}),
    field("mig", &ApiGpu::mig, {.help = "Whether MIG mode is on"}),
    field("drained", &ApiGpu::drained, {.help = "Whether it takes no new jobs"}),
    field("lost", &ApiGpu::lost, {.help = "Whether the driver has lost it"}),
    field("trouble", &ApiGpu::trouble, {.help = "What is wrong with it, in words; may be empty"}),
    field("power_w", &ApiGpu::power_w, {.help = "Power drawn now"}),
    field("energy_j", &ApiGpu::energy,
          {.help = "Joules that its counter shows, since its driver was loaded; null where it has "
                   "none"}),
    field("layout", &ApiGpu::layout, {.help = "Its instances: 4g.20gb@0,2g.10gb@4"}),
    field("instances", &ApiGpu::instances, {.help = "The same in full, by start"}),
    field("reserved_for", &ApiGpu::reserved_for,
          {.help = "For which user or account it is reserved, now or within a day; empty: no job "
                   "may run there then; null: it is not"}),
    field("reserved_from", &ApiGpu::reserved_from, {.help = "When that reservation begins"}),
    field("reserved_until", &ApiGpu::reserved_until, {.help = "When that reservation ends"}),
};
template <>
inline constexpr std::string_view schema_of<ApiGpu> = "Gpu";

template <>
inline constexpr auto fields_of<ApiEvent> = std::tuple{
    field("id", &ApiEvent::id,
          {.help = "Number of the event; without gaps", .least = 1, .needed = true}),
    field("at", &ApiEvent::at, {.help = "When it happened", .null = NullWhen::never}),
    field("kind", &ApiEvent::kind, {.help = "What happened: job-started", .needed = true}),
    field("job", &ApiEvent::job, {.help = "Number of the job concerned", .least = 1}),
    field("gpu", &ApiEvent::gpu, {.help = "UUID of the GPU concerned", .null = NullWhen::empty}),
    field("text", &ApiEvent::text, {.help = "One line for people"}),
};
template <>
inline constexpr std::string_view schema_of<ApiEvent> = "Event";

template <>
inline constexpr auto fields_of<ApiJobCounts> = std::tuple{
    field("queued", &ApiJobCounts::queued, {.least = 0}),
    field("starting", &ApiJobCounts::starting, {.least = 0}),
    field("running", &ApiJobCounts::running, {.least = 0}),
    field("stopping", &ApiJobCounts::stopping, {.least = 0}),
};
template <>
inline constexpr auto fields_of<ApiClientUser> = std::tuple{
    field("uid", &ApiClientUser::uid, {.least = 0}),
    field("user", &ApiClientUser::user),
    field("operator", &ApiClientUser::operates, {.help = "Whether you may do everything"}),
};
template <>
inline constexpr auto fields_of<ApiPredictionErrors> = std::tuple{
    field("by", &ApiPredictionErrors::by,
          {.help = "How the times were known; null: all together", .words = time_source_names}),
    field("count", &ApiPredictionErrors::count, {.help = "Number of jobs", .least = 0}),
    field("median_error", &ApiPredictionErrors::median,
          {.help = "Median of |predicted / seen - 1|"}),
    field("p90_error", &ApiPredictionErrors::p90, {.help = "Its 90th percentile"}),
};
template <>
inline constexpr std::string_view schema_of<ApiPredictionErrors> = "PredictionErrors";
template <>
inline constexpr auto fields_of<ApiStatus> = std::tuple{
    field("version", &ApiStatus::version, {.help = "Version of the daemon", .needed = true}),
    field("pid", &ApiStatus::pid, {.help = "Number of its process", .least = 0}),
    field("uid", &ApiStatus::uid,
          {.help = "The user whose jobs it runs; 0: those of all users", .least = 0}),
    field("started_at", &ApiStatus::started_at,
          {.help = "When it was started", .null = NullWhen::never}),
    field("simulated", &ApiStatus::simulated, {.help = "Whether its GPUs are simulated"}),
    field("scheduler", &ApiStatus::scheduler, {.help = "The scheduler with its options"}),
    field("forecaster", &ApiStatus::forecaster, {.help = "The forecaster of memory"}),
    field("paused", &ApiStatus::paused, {.help = "Whether no job is started"}),
    field("jobs", &ApiStatus::jobs, {.help = "Unfinished jobs by their state"}),
    field("gpus", &ApiStatus::gpus, {.help = "Number of GPUs it manages", .least = 0}),
    field("predictions", &ApiStatus::predictions,
          {.help = "How far predicted times were off, of your latest finished jobs; of those of "
                   "all users for operators"}),
    field("troubles", &ApiStatus::troubles, {.help = "What is wrong now"}),
    field("notices", &ApiStatus::notices, {.help = "What applies as long as it runs"}),
    field("isolation", &ApiStatus::isolation,
          {.help = "What keeps jobs apart: control groups, fences of device nodes"}),
    field("state_directory", &ApiStatus::state_directory, {.help = "Where it keeps its state"}),
    field("you", &ApiStatus::you, {.help = "The client, as the socket tells"}),
};
template <>
inline constexpr std::string_view schema_of<ApiStatus> = "Status";

}  // namespace cleave
