#pragma once
// Watches services while a run goes: what their replicas can serve at each moment, what is asked of
// them, and for how long they keep their target (model/service_terms.hpp).

#include <vector>

#include "model/ids.hpp"
#include "model/job.hpp"
#include "model/run_summary.hpp"

namespace cleave {

/// The services of one workload, which must outlive this.
class ServiceWatch {
 public:
  explicit ServiceWatch(const Workload& workload);

  /// Whether there are any; if not, nothing else may be called but summaries().
  [[nodiscard]] bool counts() const { return !watched_.empty(); }
  /// A replica serves at this relative speed from `from` on, and no more as before.
  void serves(JobId replica, double speed, Instant from, Instant now);
  /// It serves no more.
  void stops(JobId replica, Instant now);
  /// Those that run as long as other jobs do have ended then.
  void end(Instant then);
  /// When all have ended.
  [[nodiscard]] std::vector<ServiceSummary> summaries() const;

 private:
  struct Replica {
    JobId job;
    double served = 0;  // a second
    Instant from;
  };
  struct Watched {
    const ServiceTerms* terms;
    Instant arrival;
    std::optional<Instant> end;
    Instant since;  // watched until then
    std::vector<Replica> replicas;
    Duration on_target{}, off{}, longest_off{};  // off: the latest time without a break
  };

  [[nodiscard]] Watched& of(JobId replica);
  static void advance(Watched& service, Instant to);
  [[nodiscard]] static Instant next_change(const Watched& service, Instant to);
  static void count(Watched& service, Instant to);

  const Workload* workload_;
  std::vector<Watched> watched_;
};

}  // namespace cleave
