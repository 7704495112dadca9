#pragma once
// The supervisor's end of the socket that CLEAVE_REPORT names. It exists while the job runs,
// whether or not the daemon listens, and never blocks the job. A datagram counts if it comes from
// the job's user and, if the sender still exists, from one of the job's processes. Reports that
// come too fast are dropped, except that the last one is always taken, a moment later.

#include <sys/types.h>

#include <optional>
#include <string>

#include "runner/descriptor.hpp"
#include "runner/reports/report_series.hpp"

namespace cleave {

/// The socket, with the limit of its rate.
class ReportReceiver {
 public:
  /// Binds the socket in the current directory.
  [[nodiscard]] static Result<ReportReceiver> open(uid_t user);
  [[nodiscard]] int descriptor() const { return socket_.number(); }

  /// Receives a bounded number of datagrams.
  void receive(ReportSeries& into);
  /// Takes the last report that came too fast, if its time has come.
  void take_held_back(ReportSeries& into, bool at_once = false);
  [[nodiscard]] std::optional<ReportRate::Clock::time_point> wake_at() const;
  [[nodiscard]] std::int64_t refused() const { return refused_; }

 private:
  ReportReceiver(Descriptor socket, uid_t user);
  [[nodiscard]] bool is_of_the_job(pid_t sender);
  void take(const std::string& line, ReportSeries& into);

  Descriptor socket_;
  uid_t user_;
  ReportRate rate_;
  std::optional<std::string> held_back_;
  pid_t known_sender_ = 0;
  ReportRate::Clock::time_point known_until_{};
  std::int64_t refused_ = 0;
};

}  // namespace cleave
