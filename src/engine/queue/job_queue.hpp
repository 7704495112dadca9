#pragma once
// Jobs that wait: those of higher priority first, equal ones in the order in which they were
// submitted, or by deadline and then in that order. One that returns - out of memory, stopped, its
// GPU lost - takes its old place again.

#include <algorithm>
#include <compare>
#include <deque>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/job_facts.hpp"

namespace cleave {

/// A job that waits, and what it asks for.
struct Waiting {
  JobId job;
  RequestId request;
};

/// The queue of a scheduler that looks at its jobs one after the other.
class JobQueue {
 public:
  /// `facts`, which say what priority and deadline jobs have, may be null and must outlive the
  /// queue.
  explicit JobQueue(const JobFacts* facts, bool by_deadline = false)
      : facts_(facts), by_deadline_(by_deadline && facts != nullptr) {}

  /// What jobs of one queue, and the first jobs of several, are ordered by.
  struct Turn {
    std::int64_t priority = 0;
    Instant deadline = Instant::max();  // where the queue goes by it
    JobId job{};

    friend bool operator==(const Turn&, const Turn&) = default;
    friend std::strong_ordering operator<=>(const Turn& a, const Turn& b) {
      return std::tie(b.priority, a.deadline, a.job) <=> std::tie(a.priority, b.deadline, b.job);
    }
  };

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const Waiting& front() const { return first_level().jobs.front().waiting; }
  /// In their order, from 0.
  [[nodiscard]] const Waiting& operator[](std::size_t place) const {
    const auto [level, at] = find(place);
    return level->jobs[at].waiting;
  }
  [[nodiscard]] Turn turn(std::size_t place) const {
    const auto [level, at] = find(place);
    return turn(*level, level->jobs[at]);
  }
  /// Whether the job, which does not wait here, would be the first.
  [[nodiscard]] bool would_lead(JobId job) const {
    return empty() || turn_of(job) < turn(first_level(), first_level().jobs.front());
  }

  void pop_front() {
    const auto first = std::ranges::find_if(levels_, has_jobs);
    first->jobs.pop_front();
    --size_;
  }
  void erase_at(std::size_t place) {
    Level* level = levels_.data();
    for (; place >= level->jobs.size(); ++level) place -= level->jobs.size();
    level->jobs.erase(level->jobs.begin() + static_cast<std::ptrdiff_t>(place));
    --size_;
  }
  /// Nothing where it does not wait.
  void erase(JobId job) {
    const Turn turn = turn_of(job);
    const auto level = level_of(turn.priority);
    if (level == levels_.end() || level->priority != turn.priority) return;
    const auto found = place_of(*level, turn);
    if (found == level->jobs.end() || found->waiting.job != job) return;
    level->jobs.erase(found);
    --size_;
  }
  void insert(Waiting waiting) {
    const Turn turn = turn_of(waiting.job);
    auto level = level_of(turn.priority);
    if (level == levels_.end() || level->priority != turn.priority) {
      std::erase_if(levels_, [](const Level& each) { return !has_jobs(each); });
      level = levels_.insert(level_of(turn.priority), Level{turn.priority, {}});
    }
    const Entry entry{waiting, turn.deadline};
    auto& jobs = level->jobs;
    if (jobs.empty() || this->turn(*level, jobs.back()) < turn) {
      jobs.push_back(entry);
    } else {
      jobs.insert(place_of(*level, turn), entry);
    }
    ++size_;
  }

 private:
  /// A waiting job with its deadline, which is asked for once.
  struct Entry {
    Waiting waiting;
    Instant deadline;
  };
  /// The jobs of one priority: those that come go to its end, however many wait behind.
  struct Level {
    std::int64_t priority = 0;
    std::deque<Entry> jobs;
  };

  [[nodiscard]] static bool has_jobs(const Level& level) { return !level.jobs.empty(); }
  [[nodiscard]] static Turn turn(const Level& level, const Entry& entry) {
    return {level.priority, entry.deadline, entry.waiting.job};
  }
  [[nodiscard]] Turn turn_of(JobId job) const {
    return {facts_ == nullptr ? 0 : facts_->priority(job),
            by_deadline_ ? facts_->deadline(job).value_or(Instant::max()) : Instant::max(), job};
  }
  /// The first that has jobs.
  [[nodiscard]] const Level& first_level() const {
    return *std::ranges::find_if(levels_, has_jobs);
  }
  /// Where the level of this priority is or would be.
  [[nodiscard]] std::vector<Level>::iterator level_of(std::int64_t priority) {
    return std::ranges::lower_bound(levels_, priority, std::greater{}, &Level::priority);
  }
  /// Where the job with this turn is or would be.
  [[nodiscard]] static std::deque<Entry>::iterator place_of(Level& level, const Turn& turn) {
    return std::ranges::lower_bound(
        level.jobs, turn, {}, [&](const Entry& entry) { return JobQueue::turn(level, entry); });
  }
  [[nodiscard]] std::pair<const Level*, std::size_t> find(std::size_t place) const {
    const Level* level = levels_.data();
    for (; place >= level->jobs.size(); ++level) place -= level->jobs.size();
    return {level, place};
  }

  const JobFacts* facts_;
  bool by_deadline_;
  std::vector<Level> levels_ = {Level{}};  // by priority, the highest first; some may be empty
  std::size_t size_ = 0;
};

}  // namespace cleave
