#pragma once
// A runner without processes, for tests that drive the control loop with a clock of their own: jobs
// begin, report, end and are lost at times that a seed decides. The jobs are a separate object, so
// that they survive the runner as real jobs survive the daemon.

#include <signal.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/random.hpp"
#include "runner/job_directory.hpp"
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

namespace fake_runner {

inline bool is_end(const RunnerEvent& event) {
  return std::holds_alternative<JobEnded>(event.what) ||
         std::holds_alternative<SupervisorLost>(event.what);
}

inline Duration drawn(Random& random, double mean_seconds) {
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(random.exponential(mean_seconds)));
}

}  // namespace fake_runner

/// A random course: most end well; some fail, run out of memory, are lost or never start.
inline FakeCourse FakeJobs::course_of(const JobKey& key) const {
  if (const auto planned = planned_.find(key); planned != planned_.end()) return planned->second;
  const auto mixed = static_cast<std::uint64_t>(key.job * 1'000'003 + key.attempt);
  Random random(seed_ * 0x9e3779b97f4a7c15ULL + mixed);
  FakeCourse course;
  course.begins = fake_runner::drawn(random, 0.003);
  course.runs = fake_runner::drawn(random, 20);
  course.stops = fake_runner::drawn(random, 0.5);
  constexpr double weights[] = {80, 8, 6, 4, 2};
  switch (random.weighted(weights)) {
    case 1:
      course.outcome.code = 1;
      break;
    case 2:
      course.outcome.code = 1;
      course.outcome.out_of_memory = OutOfMemorySeen{"pytorch", MiB{512}};
      break;
    case 3:
      course.lost = fake_runner::drawn(random, 10);
      break;
    case 4:
      course.starts = false;
      break;
    default:
      break;
  }
  return course;
}

inline void FakeJobs::schedule(const JobKey& key, Attempt& attempt) const {
  const FakeCourse& course = attempt.course;
  const Instant began = attempt.started + course.begins, ends = began + course.runs;
  const auto add = [&](Instant when, decltype(RunnerEvent::what) what) {
    attempt.to_come.emplace_back(when, RunnerEvent{key, std::move(what)});
  };
  if (course.outcome.end != ProcessOutcome::End::not_started)
    add(began, JobBegan{key.job * 100 + key.attempt});
  const auto count = static_cast<std::int64_t>(course.reports.size());
  for (std::int64_t i = 0; i < count; ++i)
    add(began + course.runs * (i + 1) / (count + 1),
        JobReported{course.reports[static_cast<std::size_t>(i)]});
  if (course.outcome.out_of_memory) add(ends, *course.outcome.out_of_memory);
  ProcessOutcome outcome = course.outcome;
  outcome.began_at = began;
  outcome.ended_at = ends;
  outcome.lasted = course.runs;
  outcome.reports = course.reports;
  add(ends, JobEnded{std::move(outcome)});
  if (!course.lost || attempt.started + *course.lost >= ends) return;
  const Instant lost = attempt.started + *course.lost;
  std::erase_if(attempt.to_come, [&](const auto& each) { return each.first >= lost; });
  add(lost, SupervisorLost{0, {}, lost > began});
}

inline void FakeJobs::advance_to(Instant now) {
  now_ = std::max(now_, now);
  for (auto& [key, attempt] : attempts_) {
    std::size_t count = 0;
    while (count < attempt.to_come.size() && attempt.to_come[count].first <= now_) {
      if (std::holds_alternative<JobBegan>(attempt.to_come[count].second.what)) ++begun_[key.job];
      attempt.happened.push_back(std::move(attempt.to_come[count++].second));
    }
    attempt.to_come.erase(attempt.to_come.begin(),
                          attempt.to_come.begin() + static_cast<std::ptrdiff_t>(count));
  }
}

inline std::optional<Instant> FakeJobs::next() const {
  std::optional<Instant> first;
  for (const auto& [key, attempt] : attempts_)
    if (!attempt.is_over() && (!first || attempt.to_come[0].first < *first))
      first = attempt.to_come[0].first;
  return first;
}

inline std::vector<JobKey> FakeJobs::running() const {
  std::vector<JobKey> keys;
  for (const auto& [key, attempt] : attempts_)
    if (!attempt.is_over()) keys.push_back(key);
  return keys;
}

inline void FakeJobs::lose_all(Duration young) {
  for (auto each = attempts_.begin(); each != attempts_.end();) {
    Attempt& attempt = each->second;
    if (attempt.is_over()) {  // its outcome and its folder were synced
      ++each;
    } else if (attempt.started + young > now_) {
      each = attempts_.erase(each);
    } else {
      const bool began = !attempt.happened.empty();
      attempt.to_come.clear();
      attempt.happened.push_back({each->first, SupervisorLost{0, {}, began}});
      ++each;
    }
  }
}

inline FakeRunner::FakeRunner(FakeJobs& jobs) : jobs_(&jobs) {
  for (auto& [key, attempt] : jobs_->attempts_) attempt.told = 0;
}

inline Result<std::vector<FoundJob>> FakeRunner::found() {
  std::vector<FoundJob> all;
  for (auto& [key, attempt] : jobs_->attempts_) {
    FoundJob found;
    found.key = key;
    found.began = !attempt.happened.empty();
    if (attempt.is_over()) {
      const auto* ended = std::get_if<JobEnded>(&attempt.happened.back().what);
      found.state = ended == nullptr ? FoundJob::State::dead : FoundJob::State::ended;
      if (ended != nullptr) found.outcome = ended->outcome;
      attempt.told = attempt.happened.size();
    }
    all.push_back(std::move(found));
  }
  return all;
}

inline Result<void> FakeRunner::start(const Launch& launch) {
  const std::string name = directory_name(launch.key);
  if (const auto fine = check_launch(launch, name); !fine) return fine;
  if (jobs_->attempts_.contains(launch.key))
    return fail(ErrorKind::infeasible, name, "it is there already");
  FakeJobs::Attempt attempt;
  attempt.course = jobs_->course_of(launch.key);
  if (!attempt.course.starts)
    return fail(ErrorKind::infeasible, name, "the supervisor does not start");
  attempt.launch = launch;
  attempt.started = jobs_->now_;
  jobs_->schedule(launch.key, attempt);
  jobs_->attempts_.emplace(launch.key, std::move(attempt));
  return {};
}

inline Result<void> FakeRunner::signal(const JobKey& key, int number) {
  const auto found = jobs_->attempts_.find(key);
  if (found == jobs_->attempts_.end() || found->second.is_over())
    return fail(ErrorKind::infeasible, directory_name(key), "it does not run");
  if (number != SIGKILL && number != SIGTERM) return {};
  FakeJobs::Attempt& attempt = found->second;
  const Instant ends = jobs_->now_ + (number == SIGKILL ? Duration{} : attempt.course.stops);
  const auto end = std::ranges::find_if(
      attempt.to_come, [](const auto& each) { return fake_runner::is_end(each.second); });
  auto* ended = std::get_if<JobEnded>(&end->second.what);
  if (ended == nullptr || end->first <= ends) return {};
  ended->outcome.end = ProcessOutcome::End::signalled;
  ended->outcome.code = number;
  ended->outcome.out_of_memory.reset();
  ended->outcome.ended_at = ends;
  end->first = ends;
  auto last = std::move(*end);
  std::erase_if(attempt.to_come, [&](const auto& each) {
    return each.first >= ends || fake_runner::is_end(each.second);
  });
  attempt.to_come.push_back(std::move(last));
  return {};
}

inline Result<void> FakeRunner::stop(const JobKey& key) {
  if (const auto sent = signal(key, SIGTERM); !sent) return sent;
  for (auto& [when, event] : jobs_->attempts_.at(key).to_come)
    if (auto* ended = std::get_if<JobEnded>(&event.what)) ended->outcome.stopped = true;
  return {};
}

inline std::vector<RunnerEvent> FakeRunner::poll() {
  std::vector<RunnerEvent> events;
  for (auto& [key, attempt] : jobs_->attempts_)
    while (attempt.told < attempt.happened.size())
      events.push_back(attempt.happened[attempt.told++]);
  return events;
}

inline std::int64_t FakeRunner::kept_bytes(const JobKey& key) {
  return jobs_->attempts_.contains(key) ? 1000 : 0;
}

inline Result<void> FakeRunner::forget(const JobKey& key) {
  const auto found = jobs_->attempts_.find(key);
  if (found == jobs_->attempts_.end()) return {};
  if (!found->second.is_over())
    return fail(ErrorKind::infeasible, directory_name(key), "it has not ended yet");
  jobs_->attempts_.erase(found);
  return {};
}

}  // namespace cleave
