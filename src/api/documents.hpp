#pragma once
// What goes over the daemon's socket, as structs with their JSON both ways; docs/api.md says what
// each key means. A submission is read strictly: an unknown key is refused, since it would be a
// wish that nobody fulfils. Answers are read tolerantly: what is there must be of the right kind
// and what programs rely on must be there, but keys that a later daemon adds are passed over.
//
// Errors of reading are bad_input with `place` and the key.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.hpp"
#include "base/quantity.hpp"
#include "base/result.hpp"
#include "base/time.hpp"

namespace cleave {

/// A model that was read and sized by whoever submits.
struct ApiModel {
  std::string name;
  MiB memory;
  friend bool operator==(const ApiModel&, const ApiModel&) = default;
};

struct ApiSubmission {
  std::vector<std::string> command, environment;  // environment: "NAME=value", the whole of it
  std::string directory;                          // absolute
  std::optional<std::string> name;
  // At most one of profile, memory and model.
  std::optional<std::string> profile;
  std::optional<MiB> memory;
  std::optional<ComputeSlices> compute_slices;  // with memory only
  std::optional<ApiModel> model;
  std::int64_t priority = 0, retries = 0;
  std::optional<Duration> deadline;  // after submission
  bool restartable = false, movable = false;
  std::optional<int> checkpoint_signal;
  std::optional<Duration> checkpoint_grace, stop_grace;
  std::optional<int> out_of_memory_code;
  std::optional<std::string> application;
  std::optional<std::int64_t> batch;
  std::optional<Duration> expected;  // run time on the whole GPU under MIG
  friend bool operator==(const ApiSubmission&, const ApiSubmission&) = default;
};
[[nodiscard]] Json to_json(const ApiSubmission& submission);
[[nodiscard]] Result<ApiSubmission> read_submission(const Json& document, const std::string& place);

/// Where a job runs, or ran.
struct ApiPlace {
  std::string gpu;  // UUID
  std::int64_t gpu_index = 0;
  std::string device, profile;  // the MIG UUID; empty profile: the whole GPU
  std::int64_t start = 0;
  friend bool operator==(const ApiPlace&, const ApiPlace&) = default;
};

struct ApiAttempt {
  std::int64_t attempt = 0;
  std::optional<ApiPlace> instance;
  std::optional<Instant> started, began, ended;
  std::string end, why;  // end: a word; empty while it runs
  std::optional<int> exit_code;
  std::optional<MiB> peak;
  friend bool operator==(const ApiAttempt&, const ApiAttempt&) = default;
};

struct ApiJob {
  std::int64_t id = 0;
  std::string name, user;
  std::uint32_t uid = 0;
  std::string state, reason;
  std::optional<int> exit_code;
  std::optional<ApiPlace> instance;
  std::string asked, asks_now;  // in words
  std::int64_t priority = 0;
  bool restartable = false, movable = false;
  std::optional<Instant> deadline_at, submitted_at, started_at, ended_at;
  std::int64_t attempts = 0, early_restarts = 0;
  std::optional<MiB> memory;  // last reported as allocated
  // In the answer about a single job only.
  std::vector<std::string> command;
  std::string directory;
  std::vector<ApiAttempt> history;
  friend bool operator==(const ApiJob&, const ApiJob&) = default;

  /// Nothing more will become of it.
  [[nodiscard]] bool is_over() const {
    return state == "finished" || state == "failed" || state == "cancelled";
  }
};
/// The names of the states, in the order in which a job goes through them.
inline constexpr std::string_view api_job_states[] = {
    "queued", "starting", "running", "stopping", "finished", "failed", "cancelled"};
/// `whole`: with command, directory and history.
[[nodiscard]] Json to_json(const ApiJob& job, bool whole);
[[nodiscard]] Result<ApiJob> read_job(const Json& document, const std::string& place);
/// Of {"jobs": [...]}.
[[nodiscard]] Result<std::vector<ApiJob>> read_jobs(const Json& document, const std::string& place);
/// The same from its text, several times as fast.
[[nodiscard]] Result<std::vector<ApiJob>> read_jobs_text(std::string_view text,
                                                         const std::string& place);

struct ApiInstance {
  ApiPlace where;
  std::string owner;  // ours, foreign, half-made
  std::vector<std::int64_t> jobs, processes;
  std::optional<MiB> used, total;
  friend bool operator==(const ApiInstance&, const ApiInstance&) = default;
};
[[nodiscard]] Json to_json(const ApiInstance& instance);

struct ApiGpu {
  std::int64_t index = 0;
  std::string uuid, model;
  bool managed = false, mig = false, drained = false, lost = false;
  std::string trouble;
  std::optional<double> power_w;
  std::string layout;  // as people write it
  std::vector<ApiInstance> instances;
  friend bool operator==(const ApiGpu&, const ApiGpu&) = default;
};
[[nodiscard]] Json to_json(const ApiGpu& gpu);
[[nodiscard]] Result<ApiGpu> read_gpu(const Json& document, const std::string& place);
/// Of {"gpus": [...]}.
[[nodiscard]] Result<std::vector<ApiGpu>> read_gpus(const Json& document, const std::string& place);

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

struct ApiStatus {
  std::string version, scheduler, forecaster, user;
  std::int64_t pid = 0;
  std::uint32_t uid = 0;  // the daemon's
  std::optional<Instant> started_at;
  bool simulated = false, paused = false,
       operates = false;  // operates: who asked may do everything
  std::int64_t queued = 0, starting = 0, running = 0, stopping = 0, gpus = 0;
  std::vector<std::string> troubles, notices;
  friend bool operator==(const ApiStatus&, const ApiStatus&) = default;
};
[[nodiscard]] Result<ApiStatus> read_status(const Json& document, const std::string& place);

/// What {"error": {...}} says; where the body is no such document, what can be said of an answer
/// with this status. Never without a message.
[[nodiscard]] Error read_error(int status, std::string_view body);
[[nodiscard]] Json error_document(const Error& error);

}  // namespace cleave
