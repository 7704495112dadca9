#pragma once
// One of several replicas acts: the one that holds a Lease of coordination.k8s.io. Clocks of
// machines are not compared: a lease has run out when it has not changed for its time by the clock
// of the one that looks.

#include <optional>
#include <string>

#include "base/time.hpp"
#include "kubenode/kube_doors.hpp"

namespace cleave {

/// Its times. The holder stops to act before another may begin.
struct KubeLeaseTimes {
  Duration lasts = std::chrono::seconds(15);
  Duration renewed_every = std::chrono::seconds(2);
  Duration acts_for = std::chrono::seconds(10);  // after it began to renew
};

/// One replica's side of it.
class KubeLease {
 public:
  KubeLease(KubeDoor& kube, const std::string& space, std::string name, std::string holder,
            KubeLeaseTimes times = {});

  /// Takes or renews it where that is due. Fails where the API server says nothing of use; then it
  /// may still be held for a while.
  [[nodiscard]] Result<void> look(Duration steady, Instant now);
  /// Whether this replica may act.
  [[nodiscard]] bool held(Duration steady) const;
  /// Who has it, as it was last seen.
  [[nodiscard]] const std::string& holder() const { return seen_holder_; }
  /// Gives it back, so that another need not wait.
  void release(Instant now);

 private:
  [[nodiscard]] Result<void> write(const Json* there, Duration steady, Instant now);
  [[nodiscard]] Json body(const Json* there, Instant now, const std::string& holder) const;

  KubeDoor& kube_;
  const std::string space_, name_, target_, holder_;
  const KubeLeaseTimes times_;
  std::optional<Duration> looked_, renewed_;  // when that began
  std::string seen_version_, seen_holder_;
  Duration changed_{};  // when seen_version_ was first seen
};

}  // namespace cleave
