#pragma once
// The socket that CLEAVE_REPORT names, as the supervisor holds it: always there while the job runs,
// whether or not anybody follows, and never in the job's way. A datagram counts when it comes from
// the job's user and, where that process is still there, from one of the job's processes. What
// comes too fast is left out, except that the last one is always taken, a moment later.

#include <sys/types.h>

#include <optional>
#include <string>

#include "runner/descriptor.hpp"
#include "runner/reports/report_series.hpp"

namespace cleave {

class ReportReceiver {
 public:
  /// Binds it in the current directory.
  [[nodiscard]] static Result<ReportReceiver> open(uid_t user);
  [[nodiscard]] int descriptor() const { return socket_.number(); }

  /// What has come, a bounded number of datagrams.
  void receive(ReportSeries& into);
  /// Takes the one that came too fast, if its time has come.
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
