#pragma once
// A runner without processes, for tests that drive the control loop with a clock of their own: jobs
// begin, report, end and are lost at moments that a seed decides. The table of jobs is an object
// apart, so that it survives the runner as real jobs survive the daemon.

#include <map>
#include <optional>

#include "runner/runner.hpp"

namespace cleave {

/// What becomes of one attempt, in times after its start.
struct FakeCourse {
  bool starts = true;  // false: start() fails
  Duration begins = std::chrono::milliseconds(2);
  Duration runs = std::chrono::seconds(10);  // after it began
  ProcessOutcome outcome;               // end, code and words of memory; its times are filled in
  std::vector<NumberedReport> reports;  // spread evenly over its run
  std::optional<Duration> lost;         // its supervisor is killed then, after the start
  Duration stops = std::chrono::milliseconds(50);  // from stop() or a deadly signal to its end
};

/// The jobs of a machine that is not there.
class FakeJobs {
 public:
  explicit FakeJobs(std::uint64_t seed) : seed_(seed) {}
  /// What the next start of this attempt leads to; without it a course drawn from seed and key.
  void plan(const JobKey& key, FakeCourse course) { planned_[key] = std::move(course); }
  [[nodiscard]] FakeCourse course_of(const JobKey& key) const;
  /// Time never goes back.
  void advance_to(Instant now);
  /// When something will happen next, if anything will.
  [[nodiscard]] std::optional<Instant> next() const;
  [[nodiscard]] std::vector<JobKey> running() const;
  /// The machine starts anew: whatever runs is gone, supervisors too. Of attempts that were started
  /// in the last `young` nothing may be left at all, since nobody had written their folders to the
  /// disk.
  void lose_all(Duration young = {});
  /// How often a program of this job has begun, whatever is left of it.
  [[nodiscard]] std::int64_t begun(std::int64_t job) const {
    const auto found = begun_.find(job);
    return found == begun_.end() ? 0 : found->second;
  }
  /// Of an attempt that was started and not forgotten.
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
    std::size_t told = 0;  // to the runner that is there now
    [[nodiscard]] bool is_over() const { return to_come.empty(); }
  };
  void schedule(const JobKey& key, Attempt& attempt) const;

  std::uint64_t seed_;
  Instant now_{};
  std::map<JobKey, FakeCourse> planned_;
  std::map<std::int64_t, std::int64_t> begun_;
  std::map<JobKey, Attempt> attempts_;
};

class FakeRunner final : public Runner {
 public:
  /// The jobs must outlive it. A new one is told everything again, as found() promises.
  explicit FakeRunner(FakeJobs& jobs);

  Result<std::vector<FoundJob>> found() override;
  Result<void> start(const Launch& launch) override;
  Result<void> signal(const JobKey& key, int number) override;
  Result<void> stop(const JobKey& key) override;
  std::vector<RunnerEvent> poll() override;
  int wake_fd() const override { return -1; }
  std::int64_t kept_bytes(const JobKey& key) override;  // 1000 for each
  Result<void> forget(const JobKey& key) override;

 private:
  FakeJobs* jobs_;
};

}  // namespace cleave
