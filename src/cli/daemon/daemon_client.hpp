#pragma once
// Shared by the commands that talk to the daemon: the socket, the job that is meant, and the exit
// code that its end means.

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

/// The options that every command on the daemon has.
struct DaemonOptions {
  std::string socket;  // --socket; empty: not given
  bool json = false;
};
/// `--socket`, and `--json` for commands that have it; described the same way everywhere.
void add_daemon(CommandLine& command, DaemonOptions& options, bool with_json = true);
/// The positional JOB of commands on one job.
void add_job(CommandLine& command, std::string& job);

[[nodiscard]] Result<std::vector<SocketPlace>> sockets_of(const DaemonOptions& options);
/// Sends nothing yet.
[[nodiscard]] Result<ApiClient> open_daemon(const DaemonOptions& options,
                                            std::function<bool()> stop = {});

/// The daemon's document, unchanged: it may have keys that this program does not know.
[[nodiscard]] Result<Json> ask_job(ApiClient& daemon, std::int64_t job);
/// Jobs that match a query such as "all=1&user=u", newest first, page after page; at most `limit`.
[[nodiscard]] Result<Json> ask_jobs(ApiClient& daemon, const std::string& query, std::size_t limit);
/// The exit code for a failure of Cleave itself, in commands whose exit code is a job's.
inline constexpr int cleave_failed = 125;

/// Asks again while no daemon answers, as during its restart, and says so once. Jobs continue
/// meanwhile. Another thread can end it through the client's `stop`.
template <class Answer>
[[nodiscard]] Result<Answer> patiently(ApiClient& daemon, std::chrono::seconds patience,
                                       const std::function<Result<Answer>()>& ask);
extern template Result<Json> patiently(ApiClient&, std::chrono::seconds,
                                       const std::function<Result<Json>()>&);
extern template Result<ApiAnswer> patiently(ApiClient&, std::chrono::seconds,
                                            const std::function<Result<ApiAnswer>()>&);
/// `--patience`
void add_patience(CommandLine& command, std::string& patience);
/// What it is without the option.
inline constexpr const char* usual_patience = "60s";
[[nodiscard]] std::chrono::seconds patience_of(const std::string& patience);

/// Waits until the job has ended; returns its document.
[[nodiscard]] Result<Json> wait_for_job(ApiClient& daemon, std::int64_t job,
                                        std::chrono::seconds patience);
/// The exit code of a job that has ended; 125 if it has none because it never ran or was lost.
/// Never 0 for a job that failed or was cancelled.
[[nodiscard]] int exit_code_of(const ApiJob& job);
/// "job 12 failed with exit code 3: out of memory", with its reason if there is one.
[[nodiscard]] std::string end_in_words(const ApiJob& job);

/// The exit code of a command that returns a job's. Errors are reported; they become 2 where the
/// command line or its input is wrong, and 125 otherwise.
[[nodiscard]] Result<int> or_125(const Result<int>& code, bool json);

}  // namespace cleave::cli
