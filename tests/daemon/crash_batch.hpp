#pragma once
// Jobs of all kinds for a daemon that is killed, and what must have become of each in the end.
// Every job writes a line into a file of its own when it begins and one when it ends.

#include <map>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "daemon_stand.hpp"

namespace cleave::whole {

class CrashBatch {
 public:
  /// `supervisors_die`, and jobs too: jobs may then be lost, if they allow it, or fail.
  CrashBatch(DaemonStand& stand, std::uint64_t seed, bool supervisors_die = false);

  /// Submits one more job; the daemon may die meanwhile, and the answer with it. Each has a key,
  /// and those without an answer are submitted again first.
  void submit();
  void submit_again();
  /// A job of this kind: "good", "fails", "starves", "grows", "saved", which grows too, "long".
  void submit(const std::string& kind);
  /// Cancels at most `most` of the long ones.
  void cancel(std::int64_t most);
  /// Or the daemon is gone.
  bool wait_until_long_ones_run();
  /// A fault of the simulated driver, for one or two calls.
  void break_a_gpu();
  void mend_gpus();

  /// With a running daemon: waits until no job is left. False if that takes longer.
  bool wait_until_over(std::chrono::milliseconds most);
  /// Checks all laws; the daemon and all jobs have ended.
  void check();
  /// Expects no process and no instances but these, with a running daemon. Waits for instances that
  /// are being destroyed.
  void check_nothing_is_left(const std::vector<std::string>& foreign);

  struct Counts {
    std::int64_t accepted = 0, unanswered = 0, finished = 0, failed = 0, cancelled = 0, lost = 0,
                 taken_before = 0;  // of those that were submitted again
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  struct Wanted {
    std::string kind;
    int retries = 0;
    bool restartable = false, accepted = false, cancelled = false;
    std::int64_t number = 0;
    std::string body;
  };
  struct Written {
    std::int64_t begun = 0, ended_well = 0;
  };
  void send(Wanted& wanted, const std::string& name);
  [[nodiscard]] std::string script(const Wanted& wanted, const std::string& name);
  [[nodiscard]] Json document(const Wanted& wanted, const std::string& name);
  [[nodiscard]] Written written(const std::string& name) const;
  void check_job(const Wanted& wanted, const std::string& name, const Json& job);
  void check_ends(const Wanted& wanted, const std::string& name, const std::string& state,
                  const std::string& reason);

  DaemonStand& stand_;
  Random random_;
  bool supervisors_die_;
  std::map<std::string, Wanted> wanted_;
  std::string folder_;
  Counts counts_;
};

}  // namespace cleave::whole
