#pragma once
// A folder of jobs with a runner over it, for tests with real processes. Everything that it started
// is ended with it.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/temporary_folder_test.hpp"
#include "runner/process_runner.hpp"

namespace cleave::supervised {

class Stand {
 public:
  /// With control groups for its attempts, if places for them are given, that fence these nodes.
  explicit Stand(GroupPlaces groups = {}, std::optional<DriverNodes> fenced = {});
  ~Stand();
  Stand(const Stand&) = delete;
  Stand& operator=(const Stand&) = delete;

  [[nodiscard]] ProcessRunner& runner() { return *runner_; }
  /// The runner goes, as when the daemon dies, and another one begins; returns what that finds.
  std::vector<FoundJob> begin_again();
  /// As that, with other fences.
  void fence_from_now_on(std::optional<DriverNodes> fenced) {
    fenced_ = std::move(fenced);
    (void)begin_again();
  }

  /// As that, with other gifts for containers.
  void give_from_now_on(ContainerGifts gifts) {
    gifts_ = std::move(gifts);
    (void)begin_again();
  }

  /// The next attempt, as this process's user; a shell runs the script.
  [[nodiscard]] Launch launch(const std::string& script);
  JobKey start(const Launch& launch);
  JobKey start_script(const std::string& script) { return start(launch(script)); }

  [[nodiscard]] std::size_t started() const { return started_.size(); }
  /// Waits for the event, at most 20 seconds. All events stay in events().
  bool wait_until(const std::function<bool()>& is);
  const ProcessOutcome* wait_for_end(const JobKey& key);
  [[nodiscard]] const ProcessOutcome* outcome(const JobKey& key) const;
  [[nodiscard]] bool lost(const JobKey& key) const;
  [[nodiscard]] bool never_started(const JobKey& key) const;
  /// How many times its end was reported.
  [[nodiscard]] std::int64_t ends(const JobKey& key) const;
  [[nodiscard]] std::int64_t pid(const JobKey& key) const;
  [[nodiscard]] const std::vector<RunnerEvent>& events() const { return events_; }
  void hear();

  /// A file of the user's folder in the attempt's.
  [[nodiscard]] std::string text(const JobKey& key, const std::string& file) const;
  [[nodiscard]] std::string path(const std::string& name) const;
  [[nodiscard]] std::string folder(const JobKey& key) const;
  [[nodiscard]] std::string users_folder(const JobKey& key) const;
  /// Processes with the mark of this attempt.
  [[nodiscard]] std::vector<ProcessFacts> processes(const std::vector<JobKey>& keys) const;
  [[nodiscard]] std::vector<ProcessFacts> processes(const JobKey& key) const {
    return processes(std::vector{key});
  }
  [[nodiscard]] bool may_have_begun(const JobKey& key) const;
  /// The supervisor's pid, by its arguments; 0 if there is none.
  [[nodiscard]] std::vector<pid_t> supervisors(const std::vector<JobKey>& keys) const;
  [[nodiscard]] pid_t supervisor(const JobKey& key) const { return supervisors({key})[0]; }

 private:
  [[nodiscard]] ProcessRunner::Places places() const;
  TemporaryFolder made_;
  std::string root_ = made_.path().string();
  GroupPlaces groups_;
  std::optional<DriverNodes> fenced_;
  ContainerGifts gifts_;
  std::unique_ptr<ProcessRunner> runner_;
  std::vector<RunnerEvent> events_;
  std::vector<JobKey> started_;
};

[[nodiscard]] bool is_alive(std::int64_t pid);
[[nodiscard]] std::string read_text(const std::string& path);

}  // namespace cleave::supervised
