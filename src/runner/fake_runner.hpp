#pragma once
// A runner without processes, for tests that drive the control loop with a clock of their own: jobs
// begin, report, end and are lost at times that a seed decides. The jobs are a separate object, so
// that they survive the runner as real jobs survive the daemon.

#include <map>
#include <optional>

#include "runner/runner.hpp"

namespace cleave {

/// What happens to one attempt; times are after its start.
struct FakeCourse {
  bool starts = true;  // false: start() fails
  Duration begins = std::chrono::milliseconds(2);
  Duration runs = std::chrono::seconds(10);  // after it began
  ProcessOutcome outcome;               // end, code and memory message; its times are filled in
  std::vector<NumberedReport> reports;  // spread evenly over its run
  std::optional<Duration> lost;         // when its supervisor is killed
  Duration stops = std::chrono::milliseconds(50);  // from stop() or a fatal signal to its end
};

/// The jobs of an imagined machine.
class FakeJobs {
 public:
  explicit FakeJobs(std::uint64_t seed) : seed_(seed) {}
  /// Sets what the next start of this attempt leads to; otherwise it is drawn from seed and key.
  void plan(const JobKey& key, FakeCourse course) { planned_[key] = std::move(course); }
  [[nodiscard]] FakeCourse course_of(const JobKey& key) const;
  /// Moves the time forward.
  void advance_to(Instant now);
  /// The time of the next event, if there is one.
  [[nodiscard]] std::optional<Instant> next() const;
  [[nodiscard]] std::vector<JobKey> running() const;
  /// Reboots the machine: everything that runs is gone, supervisors too. Attempts started in the
  /// last `young` leave nothing at all, because their folders were not on the disk yet.
  void lose_all(Duration young = {});
  /// How many times a program of this job has begun, forgotten attempts included.
  [[nodiscard]] std::int64_t begun(std::int64_t job) const {
    const auto found = begun_.find(job);
    return found == begun_.end() ? 0 : found->second;
  }
  /// The launch of an attempt that was started and not forgotten.
  [[nodiscard]] const Launch& launch_of(const JobKey& key) const {
    return attempts_.at(key).launch;
  }

 private:
  friend class FakeRunner;
  struct Attempt {
    FakeCourse course;
    Launch launch;
    Instant started{};
    std::vector<std::pair<Instant, RunnerEvent>> to_come;  // in order
    std::vector<RunnerEvent> happened;
    std::size_t told = 0;  // to the current runner
    [[nodiscard]] bool is_over() const { return to_come.empty(); }
  };
  void schedule(const JobKey& key, Attempt& attempt) const;

  std::uint64_t seed_;
  Instant now_{};
  std::map<JobKey, FakeCourse> planned_;
  std::map<std::int64_t, std::int64_t> begun_;
  std::map<JobKey, Attempt> attempts_;
};

/// The runner of FakeJobs.
class FakeRunner final : public Runner {
 public:
  /// `jobs` must outlive it. found() of a new runner tells everything again.
  explicit FakeRunner(FakeJobs& jobs);

  Result<std::vector<FoundJob>> found() override;
  Result<void> start(const Launch& launch) override;
  Result<void> signal(const JobKey& key, int number) override;
  Result<void> stop(const JobKey& key) override;
  std::vector<RunnerEvent> poll() override;
  int wake_fd() const override { return -1; }
  std::int64_t kept_bytes(const JobKey& key) override;  // always 1000
  Result<void> forget(const JobKey& key) override;

 private:
  FakeJobs* jobs_;
};

}  // namespace cleave
