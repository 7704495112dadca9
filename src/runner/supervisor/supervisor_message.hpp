#pragma once
// What supervisor and daemon say to each other over a socket of packets, one JSON object each way
// of theirs:
//
//   daemon:      {"ask":"follow"}  {"ask":"state"}  {"ask":"signal","signal":10}  {"ask":"stop"}
//   supervisor:  {"ready":{}}  {"failed":{"reason":".."}}  {"began":{"pid":5}}
//   {"reports":{"reports":[..]}}
//                {"out_of_memory":{..}}  {"state":{..}}  {"answer":{"refused":".."}}
//
// Who follows is told what there was so far and then what comes. The end of the connection is the
// end of the supervisor, or it let go of a reader that did not read.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runner/process_outcome.hpp"

namespace cleave {

struct SupervisorAsk {
  enum class What : std::uint8_t { follow, state, signal, stop };
  What what = What::state;
  int signal = 0;
};

struct SupervisorReady {};
/// Before it was ready: nothing was started.
struct SupervisorFailed {
  std::string reason;
};
/// The job's own program runs.
struct JobBegan {
  std::int64_t pid = 0;
};
struct JobReports {
  std::vector<NumberedReport> reports;
};
struct SupervisorState {
  std::string
      phase;  // "starting", "running", "stopping", "ending" (what it left is being ended), "ended"
  std::int64_t pid = 0;
  std::int64_t out_dropped = 0, err_dropped = 0;
  std::int64_t reports_refused = 0;  // from others, broken, or too many
  std::string trouble;               // why the outcome is not on the disk yet
};
struct SupervisorAnswer {
  std::string refused;  // empty: done
};

using SupervisorMessage = std::variant<SupervisorReady, SupervisorFailed, JobBegan, JobReports,
                                       OutOfMemorySeen, SupervisorState, SupervisorAnswer>;

inline constexpr std::size_t longest_packet = 16 << 10;
inline constexpr std::size_t most_reports_in_packet = 64;

[[nodiscard]] std::string ask_text(const SupervisorAsk& ask);
[[nodiscard]] Result<SupervisorAsk> parse_ask(std::string_view text);
[[nodiscard]] std::string message_text(const SupervisorMessage& message);
[[nodiscard]] Result<SupervisorMessage> parse_message(std::string_view text);

}  // namespace cleave
