#pragma once
// A runner without processes, for tests that drive the control loop with a clock of their own: jobs
// begin, report, end and are lost at times that a seed decides. The jobs are a separate object, so
// that they survive the runner as real jobs survive the daemon.

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <set>

#include "base/random.hpp"
#include "runner/job_directory.hpp"
#include "runner/runner.hpp"

namespace cleave {

/// What happens to one attempt; times are after its start.
struct FakeCourse {
  bool starts = true;          // false: start() fails
  std::optional<int> refused;  // when it would begin: it was not started, with this error number
  int short_of = 0;            // the error number with which start() fails, of a shortage
  Duration begins = std::chrono::milliseconds(2);
  Duration runs = std::chrono::seconds(10);  // after it began
  ProcessOutcome outcome;               // end, code and memory message; its times are filled in
  std::vector<NumberedReport> reports;  // spread evenly over its run
  std::optional<Duration> lost;         // when its supervisor is killed
  Duration stops = std::chrono::milliseconds(50);  // from stop() or a fatal signal to its end
  /// From any other signal to its end with this code, having saved its work; empty: it runs on, as
  /// do all that have reported their last iteration.
  std::optional<Duration> saves;
  int saved_code = 0;
};

/// The jobs of an imagined machine.
class FakeJobs {
 public:
  explicit FakeJobs(std::uint64_t seed) : seed_(seed) {}
  /// Sets what the next start of this attempt leads to; otherwise it is drawn from seed and key.
  void plan(const JobKey& key, FakeCourse course) { planned_[key] = std::move(course); }
  [[nodiscard]] FakeCourse course_of(const JobKey& key) const;
  /// What the folder of this attempt takes, as long as it is there; else 1000 bytes.
  void weighs(const JobKey& key, std::int64_t bytes) { weights_[key] = bytes; }
  /// Every start fails with this error number from now on; 0: as planned.
  void run_short_of(int code) { short_of_ = code; }
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
  /// Attempts of this job that were started and not forgotten.
  [[nodiscard]] std::size_t folders(std::int64_t job) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        attempts_, [job](const auto& each) { return each.first.job == job; }));
  }
  /// Whether a program of this job has ended well by itself, with all its work done.
  [[nodiscard]] bool completed(std::int64_t job) const { return completed_.contains(job); }
  /// Whether a checkpoint command of this job has succeeded.
  [[nodiscard]] bool checkpointed(std::int64_t job) const { return checkpointed_.contains(job); }
  /// Whether one of this attempt has not.
  [[nodiscard]] bool told_not_checkpointed(const JobKey& key) const {
    const auto found = attempts_.find(key);
    return found != attempts_.end() &&
           std::ranges::any_of(found->second.happened, [](const RunnerEvent& each) {
             return std::holds_alternative<NotCheckpointed>(each.what);
           });
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
    bool cut_short = false;
    [[nodiscard]] bool is_over() const { return to_come.empty(); }
  };
  void schedule(const JobKey& key, Attempt& attempt) const;
  void note(const JobKey& key, const Attempt& attempt, const RunnerEvent& event);

  [[nodiscard]] int host_is_short_of(const FakeCourse& course) const {
    return short_of_ != 0 ? short_of_ : course.short_of;
  }

  std::uint64_t seed_;
  int short_of_ = 0;
  std::map<JobKey, std::int64_t> weights_;
  Instant now_{};
  std::map<JobKey, FakeCourse> planned_;
  std::map<std::int64_t, std::int64_t> begun_;
  std::set<std::int64_t> completed_, checkpointed_;
  std::map<JobKey, Attempt> attempts_;
};

/// The runner of FakeJobs.
class FakeRunner final : public Runner {
 public:
  /// `jobs` must outlive it. found() of a new runner tells everything again.
  explicit FakeRunner(FakeJobs& jobs);

  using Runner::found;
  Result<std::vector<FoundJob>> found(const IsSettled& is_settled) override;
  Started start(const Launch& launch) override;
  Result<void> signal(const JobKey& key, int number) override;
  Result<void> checkpoint(const JobKey& key, Duration longest) override;
  using Runner::stop;
  Result<void> stop(const JobKey& key, std::optional<Duration> grace) override;
  bool fences() const override { return false; }
  int free_port(int wanted) override { return wanted; }
  std::vector<RunnerEvent> poll() override;
  int wake_fd() const override { return -1; }
  std::int64_t kept_bytes(const JobKey& key) override;  // as told
  Result<void> forget(const JobKey& key) override;

 private:
  static ProcessOutcome* end_at(FakeJobs::Attempt& attempt, Instant ends, ProcessOutcome::End how,
                                int code);
  FakeJobs* jobs_;
};

namespace fake_runner {

inline bool is_refusal(const RunnerEvent& event) {
  return std::holds_alternative<AttemptNotStarted>(event.what);
}

inline bool is_end(const RunnerEvent& event) {
  return std::holds_alternative<JobEnded>(event.what) ||
         std::holds_alternative<SupervisorLost>(event.what) || is_refusal(event);
}

inline bool is_report(const RunnerEvent& event) {
  return std::holds_alternative<JobReported>(event.what);
}

/// Of an attempt of FakeJobs.
template <class Attempt>
bool will_report(const Attempt& attempt) {
  return std::ranges::any_of(attempt.to_come,
                             [](const auto& each) { return is_report(each.second); });
}

/// Whether its latest report was of its last iteration.
template <class Attempt>
bool has_reported_its_last(const Attempt& attempt) {
  const auto latest = std::find_if(attempt.happened.rbegin(), attempt.happened.rend(), is_report);
  if (latest == attempt.happened.rend()) return false;
  const MemoryReport& report = std::get<JobReported>(latest->what).report.report;
  return report.iterations && report.iteration >= *report.iterations;
}

/// How many of its reports it has sent, or will.
template <class Attempt>
std::size_t reports_of(const Attempt& attempt) {
  const auto to_come = std::ranges::count_if(
      attempt.to_come, [](const auto& each) { return is_report(each.second); });
  return static_cast<std::size_t>(std::ranges::count_if(attempt.happened, is_report) + to_come);
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
      if (const double which = random.uniform(); which < 0.4)
        course.starts = false;
      else if (which < 0.6)
        course.short_of = ENOSPC;
      else
        course.refused = which < 0.8 ? ETIMEDOUT : 0;
      break;
    default:
      break;
  }
  if (random.uniform() < 0.5) course.saves = fake_runner::drawn(random, 1);
  course.saved_code = random.uniform() < 0.5 ? 0 : 1;
  return course;
}

inline void FakeJobs::schedule(const JobKey& key, Attempt& attempt) const {
  const FakeCourse& course = attempt.course;
  const Instant began = attempt.started + course.begins, ends = began + course.runs;
  const auto add = [&](Instant when, decltype(RunnerEvent::what) what) {
    attempt.to_come.emplace_back(when, RunnerEvent{key, std::move(what)});
  };
  if (course.refused)
    return add(began,
               AttemptNotStarted{
                   {{ErrorKind::infeasible, directory_name(key), "refused", {}}, *course.refused}});
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

inline void FakeJobs::note(const JobKey& key, const Attempt& attempt, const RunnerEvent& event) {
  if (std::holds_alternative<JobBegan>(event.what)) ++begun_[key.job];
  const auto* ended = std::get_if<JobEnded>(&event.what);
  if (ended != nullptr && ended->outcome.checkpointed) checkpointed_.insert(key.job);
  if (ended == nullptr || attempt.cut_short) return;
  if (ended->outcome.end == ProcessOutcome::End::exited && ended->outcome.code == 0)
    completed_.insert(key.job);
}

inline void FakeJobs::advance_to(Instant now) {
  now_ = std::max(now_, now);
  for (auto& [key, attempt] : attempts_) {
    std::size_t count = 0;
    while (count < attempt.to_come.size() && attempt.to_come[count].first <= now_) {
      note(key, attempt, attempt.to_come[count].second);
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

inline Result<std::vector<FoundJob>> FakeRunner::found(const IsSettled& is_settled) {
  std::vector<FoundJob> all;
  for (auto& [key, attempt] : jobs_->attempts_) {
    if (is_settled(key)) continue;
    FoundJob found;
    found.key = key;
    found.began = !attempt.happened.empty() && !fake_runner::is_refusal(attempt.happened.front());
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

inline Started FakeRunner::start(const Launch& launch) {
  const std::string name = directory_name(launch.key);
  if (const auto fine = check_launch(launch, name); !fine) return std::unexpected(fine.error());
  if (jobs_->attempts_.contains(launch.key))
    return fail(ErrorKind::infeasible, name, "it is there already");
  FakeJobs::Attempt attempt;
  attempt.course = jobs_->course_of(launch.key);
  const int short_of = jobs_->host_is_short_of(attempt.course);
  if (short_of != 0)
    return std::unexpected(NotStarted({ErrorKind::infeasible, name, "refused", {}}, short_of));
  if (!attempt.course.starts)
    return fail(ErrorKind::infeasible, name, "the supervisor does not start");
  attempt.launch = launch;
  attempt.started = jobs_->now_;
  jobs_->schedule(launch.key, attempt);
  jobs_->attempts_.emplace(launch.key, std::move(attempt));
  return {};
}

/// It ends then and so, unless it ends before; null where it does. One that ends by itself reports
/// no more.
inline ProcessOutcome* FakeRunner::end_at(FakeJobs::Attempt& attempt, Instant ends,
                                          ProcessOutcome::End how, int code) {
  const auto end = std::ranges::find_if(
      attempt.to_come, [](const auto& each) { return fake_runner::is_end(each.second); });
  auto* ended = std::get_if<JobEnded>(&end->second.what);
  if (ended == nullptr || end->first <= ends) return nullptr;
  attempt.cut_short = true;
  ProcessOutcome& outcome = ended->outcome;
  outcome.end = how;
  outcome.code = code;
  outcome.out_of_memory.reset();
  outcome.ended_at = ends;
  outcome.lasted = ends - outcome.began_at;
  end->first = ends;
  auto last = std::move(*end);
  const bool silent = how == ProcessOutcome::End::exited;
  std::erase_if(attempt.to_come, [&](const auto& each) {
    return each.first >= ends || fake_runner::is_end(each.second) ||
           (silent && fake_runner::is_report(each.second));
  });
  auto& moved = std::get<JobEnded>(last.second.what).outcome;
  moved.reports.resize(fake_runner::reports_of(attempt));
  attempt.to_come.push_back(std::move(last));
  return &std::get<JobEnded>(attempt.to_come.back().second.what).outcome;
}

inline Result<void> FakeRunner::signal(const JobKey& key, int number) {
  const auto found = jobs_->attempts_.find(key);
  if (found == jobs_->attempts_.end() || found->second.is_over())
    return fail(ErrorKind::infeasible, directory_name(key), "it does not run");
  FakeJobs::Attempt& attempt = found->second;
  const bool fatal = number == SIGKILL || number == SIGTERM;
  const bool reported_all =
      !attempt.course.reports.empty() &&
      (!fake_runner::will_report(attempt) || fake_runner::has_reported_its_last(attempt));
  if (!fatal && (!attempt.course.saves || reported_all)) return {};
  const Duration takes = number == SIGKILL ? Duration{}
                         : fatal           ? attempt.course.stops
                                           : *attempt.course.saves;
  end_at(attempt, jobs_->now_ + takes,
         fatal ? ProcessOutcome::End::signalled : ProcessOutcome::End::exited,
         fatal ? number : attempt.course.saved_code);
  return {};
}

/// Of a course that saves its work; else it fails, and the job goes on.
inline Result<void> FakeRunner::checkpoint(const JobKey& key, Duration longest) {
  const auto found = jobs_->attempts_.find(key);
  if (found == jobs_->attempts_.end() || found->second.is_over())
    return fail(ErrorKind::infeasible, directory_name(key), "it does not run");
  FakeJobs::Attempt& attempt = found->second;
  const Duration takes = std::min(longest, attempt.course.saves.value_or(longest));
  if (attempt.course.saves && *attempt.course.saves <= longest && attempt.course.saved_code == 0) {
    if (const auto ended =
            end_at(attempt, jobs_->now_ + takes, ProcessOutcome::End::signalled, SIGTERM);
        ended != nullptr) {
      ended->stopped = true;
      ended->checkpointed = true;
    }
    return {};
  }
  const auto at = std::ranges::find_if(attempt.to_come, [&](const auto& each) {
    return each.first > jobs_->now_ + takes || fake_runner::is_end(each.second);
  });
  if (at->first > jobs_->now_ + takes)
    attempt.to_come.emplace(at, jobs_->now_ + takes,
                            RunnerEvent{key, NotCheckpointed{"as planned"}});
  return {};
}

inline Result<void> FakeRunner::stop(const JobKey& key, std::optional<Duration> grace) {
  const auto stopped = jobs_->attempts_.find(key);
  const bool at_once =
      grace && stopped != jobs_->attempts_.end() && *grace < stopped->second.course.stops;
  if (const auto sent = signal(key, at_once ? SIGKILL : SIGTERM); !sent) return sent;
  for (auto& [when, event] : jobs_->attempts_.at(key).to_come)
    if (auto* ended = std::get_if<JobEnded>(&event.what)) ended->outcome.stopped = true;
  return {};
}

inline std::vector<RunnerEvent> FakeRunner::poll() {
  std::vector<RunnerEvent> events;
  for (auto& [key, attempt] : jobs_->attempts_)
    while (attempt.told < attempt.happened.size())
      events.push_back(attempt.happened[attempt.told++]);
  for (const RunnerEvent& event : events)
    if (fake_runner::is_refusal(event)) jobs_->attempts_.erase(event.key);
  return events;
}

inline std::int64_t FakeRunner::kept_bytes(const JobKey& key) {
  if (!jobs_->attempts_.contains(key)) return 0;
  const auto told = jobs_->weights_.find(key);
  return told == jobs_->weights_.end() ? 1000 : told->second;
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
