#pragma once
// Jobs that wait for others to end (model/dependency.hpp). What a job still waits for is kept with
// it; nothing of it is in the store but what was asked for, since a job that can never start is
// cancelled in the same write as the end that is the reason. So a daemon that begins need only look
// at what the store has of the others, and one that is not there any more ended as it should.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/loop/job_lifecycle.hpp"

namespace cleave {

/// Keeps jobs from the queue until what they wait for is over.
class DependencyKeeper {
 public:
  /// All must outlive it.
  DependencyKeeper(NodeState& node, Book& book, JobLifecycle& lifecycle)
      : node_(node), book_(book), lifecycle_(lifecycle) {}

  /// Whether a job of this user can wait for these: they are jobs of the user, and none has ended
  /// otherwise. Of a range, those that the user has.
  [[nodiscard]] Result<void> check(std::uint32_t uid, const std::vector<std::string>& after);
  /// Before jobs enter the queue that came together.
  void forget_looks() { looks_.clear(); }
  /// What the job, which has entered the node and not the queue, waits for. False: it cannot start
  /// any more, and is over.
  bool enter(LiveJob& job);
  /// Of the jobs that an earlier daemon left.
  void recall();
  /// Jobs have ended: others may start now, or never.
  void step();

 private:
  /// What has become of what a job waits for.
  struct Look {
    std::vector<Dependency> awaits;  // what has not been met
    std::string missed;              // why it never will be; empty: it may
    std::string unknown;             // what names no job of the user
  };
  /// Nothing where the user has no such job.
  [[nodiscard]] std::optional<JobState> state_of(std::uint32_t uid, JobNumber job);
  [[nodiscard]] Look look_at(std::uint32_t uid, const std::vector<std::string>& after);
  [[nodiscard]] bool any_unfinished(std::uint32_t uid, const Dependency& dependency) const;
  /// Why the job can never start; empty where it may.
  [[nodiscard]] std::string missed_by(const LiveJob& job,
                                      const std::vector<std::pair<JobNumber, JobState>>& ended);

  NodeState& node_;
  Book& book_;
  JobLifecycle& lifecycle_;
  /// Of jobs that enter together, which often wait for the same.
  std::map<std::pair<std::uint32_t, std::vector<std::string>>, Look> looks_;
};

}  // namespace cleave
