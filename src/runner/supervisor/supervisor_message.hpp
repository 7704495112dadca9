#pragma once
// The messages between supervisor and daemon over a socket of packets, each one JSON object:
//
//   daemon:      {"ask":"follow"}  {"ask":"state"}  {"ask":"signal","signal":10}
//                {"ask":"stop"}  {"ask":"stop","grace_ms":0}
//                {"ask":"checkpoint","grace_ms":60000}
//   supervisor:  {"ready":{}}  {"failed":{"reason":"..","code":28}}  {"began":{"pid":5}}
//                {"reports":{"reports":[..]}}  {"out_of_memory":{..}}  {"state":{..}}
//                {"answer":{"refused":".."}}  {"not_checkpointed":{"reason":".."}}
//
// After "follow" the supervisor sends what happened so far, and then everything new. The connection
// ends with the supervisor, or if the supervisor drops a peer that does not read.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runner/process_outcome.hpp"

namespace cleave {

/// A request of the daemon.
struct SupervisorAsk {
  enum class What : std::uint8_t { follow, state, signal, stop, checkpoint };
  What what = What::state;
  int signal = 0;
  /// Of stop, where it is to be shorter than the launch's; how long a checkpoint may take.
  std::optional<Duration> grace = {};
};

/// The supervisor has taken over the attempt.
struct SupervisorReady {};
/// It could not, and started nothing.
struct SupervisorFailed {
  std::string reason;
  int code = 0;  // the system's error number; 0 where it was not the system that refused
};
/// The job's program runs.
struct JobBegan {
  std::int64_t pid = 0;
};
/// The checkpoint command did not succeed; the job's program goes on.
struct NotCheckpointed {
  std::string reason;
};
/// Memory reports of the job.
struct JobReports {
  std::vector<NumberedReport> reports;
};
/// The answer to "state".
struct SupervisorState {
  /// "starting", "running", "stopping", "ending" (leftovers are being ended), "ended".
  std::string phase;
  std::int64_t pid = 0;
  std::int64_t out_dropped = 0, err_dropped = 0;
  std::int64_t reports_refused = 0;  // of other senders, broken, or too many
  std::string trouble;               // why the outcome is not on the disk yet
};
/// The answer to "signal" and "stop".
struct SupervisorAnswer {
  std::string refused;  // the reason; empty if it was done
};

/// Any message of the supervisor.
using SupervisorMessage =
    std::variant<SupervisorReady, SupervisorFailed, JobBegan, JobReports, OutOfMemorySeen,
                 NotCheckpointed, SupervisorState, SupervisorAnswer>;

inline constexpr std::size_t longest_packet = 16 << 10;
inline constexpr std::size_t most_reports_in_packet = 64;

[[nodiscard]] std::string ask_text(const SupervisorAsk& ask);
[[nodiscard]] Result<SupervisorAsk> parse_ask(std::string_view text);
[[nodiscard]] std::string message_text(const SupervisorMessage& message);
[[nodiscard]] Result<SupervisorMessage> parse_message(std::string_view text);

}  // namespace cleave
