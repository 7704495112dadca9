#pragma once
// Jobs that wait: those of higher priority first, equal ones in the order in which they were
// submitted, or by deadline and then in that order. One that returns - out of memory, stopped, its
// GPU lost - takes its old place again.

#include <algorithm>
#include <compare>
#include <deque>
#include <tuple>

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

  [[nodiscard]] bool empty() const { return jobs_.empty(); }
  [[nodiscard]] std::size_t size() const { return jobs_.size(); }
  [[nodiscard]] const Waiting& front() const { return jobs_.front().waiting; }
  /// In their order, from 0.
  [[nodiscard]] const Waiting& operator[](std::size_t place) const { return jobs_[place].waiting; }
  [[nodiscard]] Turn turn(std::size_t place) const { return jobs_[place].turn(); }
  /// Whether the job, which does not wait here, would be the first.
  [[nodiscard]] bool would_lead(JobId job) const {
    return jobs_.empty() || turn_of(job) < jobs_.front().turn();
  }

  void pop_front() { jobs_.pop_front(); }
  void erase_at(std::size_t place) {
    jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(place));
  }
  /// Nothing where it does not wait.
  void erase(JobId job) {
    const auto found = std::ranges::lower_bound(jobs_, turn_of(job), {}, &Entry::turn);
    if (found != jobs_.end() && found->waiting.job == job) jobs_.erase(found);
  }
  void insert(Waiting waiting) {
    const Turn turn = turn_of(waiting.job);
    const Entry entry{waiting, turn.priority, turn.deadline};
    if (jobs_.empty() || jobs_.back().turn() < turn) {
      jobs_.push_back(entry);
    } else {
      jobs_.insert(std::ranges::lower_bound(jobs_, turn, {}, &Entry::turn), entry);
    }
  }

 private:
  /// A waiting job with its priority and deadline, which are asked for once.
  struct Entry {
    Waiting waiting;
    std::int64_t priority;
    Instant deadline;
    [[nodiscard]] Turn turn() const { return {priority, deadline, waiting.job}; }
  };

  [[nodiscard]] Turn turn_of(JobId job) const {
    return {facts_ == nullptr ? 0 : facts_->priority(job),
            by_deadline_ ? facts_->deadline(job).value_or(Instant::max()) : Instant::max(), job};
  }

  const JobFacts* facts_;
  bool by_deadline_;
  std::deque<Entry> jobs_;
};

}  // namespace cleave
