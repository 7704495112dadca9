#include "runner/fake_runner.hpp"

#include <signal.h>

#include <algorithm>

#include "base/random.hpp"
#include "runner/job_directory.hpp"

namespace cleave {

namespace {

bool is_end(const RunnerEvent& event) {
  return std::holds_alternative<JobEnded>(event.what) ||
         std::holds_alternative<SupervisorLost>(event.what);
}

Duration drawn(Random& random, double mean_seconds) {
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(random.exponential(mean_seconds)));
}

}  // namespace

/// A random course: most end well; some fail, run out of memory, are lost or never start.
FakeCourse FakeJobs::course_of(const JobKey& key) const {
  if (const auto planned = planned_.find(key); planned != planned_.end()) return planned->second;
  const auto mixed = static_cast<std::uint64_t>(key.job * 1'000'003 + key.attempt);
  Random random(seed_ * 0x9e3779b97f4a7c15ULL + mixed);
  FakeCourse course;
  course.begins = drawn(random, 0.003);
  course.runs = drawn(random, 20);
  course.stops = drawn(random, 0.5);
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
      course.lost = drawn(random, 10);
      break;
    case 4:
      course.starts = false;
      break;
    default:
      break;
  }
  return course;
}

void FakeJobs::schedule(const JobKey& key, Attempt& attempt) const {
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

void FakeJobs::advance_to(Instant now) {
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

std::optional<Instant> FakeJobs::next() const {
  std::optional<Instant> first;
  for (const auto& [key, attempt] : attempts_)
    if (!attempt.is_over() && (!first || attempt.to_come[0].first < *first))
      first = attempt.to_come[0].first;
  return first;
}

std::vector<JobKey> FakeJobs::running() const {
  std::vector<JobKey> keys;
  for (const auto& [key, attempt] : attempts_)
    if (!attempt.is_over()) keys.push_back(key);
  return keys;
}

void FakeJobs::lose_all(Duration young) {
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

FakeRunner::FakeRunner(FakeJobs& jobs) : jobs_(&jobs) {
  for (auto& [key, attempt] : jobs_->attempts_) attempt.told = 0;
}

Result<std::vector<FoundJob>> FakeRunner::found() {
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

Result<void> FakeRunner::start(const Launch& launch) {
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

Result<void> FakeRunner::signal(const JobKey& key, int number) {
  const auto found = jobs_->attempts_.find(key);
  if (found == jobs_->attempts_.end() || found->second.is_over())
    return fail(ErrorKind::infeasible, directory_name(key), "it does not run");
  if (number != SIGKILL && number != SIGTERM) return {};
  FakeJobs::Attempt& attempt = found->second;
  const Instant ends = jobs_->now_ + (number == SIGKILL ? Duration{} : attempt.course.stops);
  const auto end =
      std::ranges::find_if(attempt.to_come, [](const auto& each) { return is_end(each.second); });
  auto* ended = std::get_if<JobEnded>(&end->second.what);
  if (ended == nullptr || end->first <= ends) return {};
  ended->outcome.end = ProcessOutcome::End::signalled;
  ended->outcome.code = number;
  ended->outcome.out_of_memory.reset();
  ended->outcome.ended_at = ends;
  end->first = ends;
  auto last = std::move(*end);
  std::erase_if(attempt.to_come,
                [&](const auto& each) { return each.first >= ends || is_end(each.second); });
  attempt.to_come.push_back(std::move(last));
  return {};
}

Result<void> FakeRunner::stop(const JobKey& key) {
  if (const auto sent = signal(key, SIGTERM); !sent) return sent;
  for (auto& [when, event] : jobs_->attempts_.at(key).to_come)
    if (auto* ended = std::get_if<JobEnded>(&event.what)) ended->outcome.stopped = true;
  return {};
}

std::vector<RunnerEvent> FakeRunner::poll() {
  std::vector<RunnerEvent> events;
  for (auto& [key, attempt] : jobs_->attempts_)
    while (attempt.told < attempt.happened.size())
      events.push_back(attempt.happened[attempt.told++]);
  return events;
}

std::int64_t FakeRunner::kept_bytes(const JobKey& key) {
  return jobs_->attempts_.contains(key) ? 1000 : 0;
}

Result<void> FakeRunner::forget(const JobKey& key) {
  const auto found = jobs_->attempts_.find(key);
  if (found == jobs_->attempts_.end()) return {};
  if (!found->second.is_over())
    return fail(ErrorKind::infeasible, directory_name(key), "it has not ended yet");
  jobs_->attempts_.erase(found);
  return {};
}

}  // namespace cleave
