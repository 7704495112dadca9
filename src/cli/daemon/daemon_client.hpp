#pragma once
// What the commands that speak with the daemon share: which socket, which job is meant, and what
// its end means for the exit code.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "api/client.hpp"
#include "api/documents.hpp"
#include "base/json.hpp"
#include "cli/command.hpp"

namespace cleave::cli {

struct DaemonOptions {
  std::string socket;  // --socket; empty: not given
  bool json = false;
};
/// `--socket`, and `--json` for commands that have it, described the same way everywhere.
void add_daemon(CommandLine& command, DaemonOptions& options, bool with_json = true);
/// The positional JOB of commands on one job.
void add_job(CommandLine& command, std::string& job);

[[nodiscard]] Result<std::vector<SocketPlace>> sockets_of(const DaemonOptions& options);
/// Nothing is asked yet.
[[nodiscard]] Result<ApiClient> open_daemon(const DaemonOptions& options,
                                            std::function<bool()> stop = {});

/// The answer's documents are kept as they came, with keys that this program does not know.
[[nodiscard]] Result<Json> ask_job(ApiClient& daemon, std::int64_t job);
/// "all=1&user=u", page after page until the daemon has no more, or `limit` are there; newest
/// first.
[[nodiscard]] Result<Json> ask_jobs(ApiClient& daemon, const std::string& query, std::size_t limit);
/// A number, or a name that just one live job has.
[[nodiscard]] Result<std::int64_t> find_job(ApiClient& daemon, const std::string& job);

inline constexpr int cleave_failed = 125;  // where the exit code is a job's

/// Asks again while no daemon answers, as while it is restarted: jobs go on meanwhile. Says so
/// once. Another thread's interruption ends it too, through the client's `stop`.
template <class Answer>
[[nodiscard]] Result<Answer> patiently(ApiClient& daemon, std::chrono::seconds patience,
                                       const std::function<Result<Answer>()>& ask);
extern template Result<Json> patiently(ApiClient&, std::chrono::seconds,
                                       const std::function<Result<Json>()>&);
extern template Result<ApiAnswer> patiently(ApiClient&, std::chrono::seconds,
                                            const std::function<Result<ApiAnswer>()>&);
/// `--patience`
void add_patience(CommandLine& command, std::int64_t& seconds);

/// Waits until the job is over; its document then.
[[nodiscard]] Result<Json> wait_for_job(ApiClient& daemon, std::int64_t job,
                                        std::chrono::seconds patience);
/// The job's own, when it is over; where it has none, because it never ran or was lost, 125. A job
/// that failed or was cancelled never says 0.
[[nodiscard]] int exit_code_of(const ApiJob& job);
/// "job 12 failed with exit code 3: out of memory", with its reason if there is one.
[[nodiscard]] std::string end_in_words(const ApiJob& job);

/// The exit code, where that of a job is what was asked for: failures are told and become 125.
[[nodiscard]] Result<int> or_125(const Result<int>& code, bool json);

}  // namespace cleave::cli
