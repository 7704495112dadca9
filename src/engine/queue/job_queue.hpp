#pragma once
// Jobs that wait: those of higher priority first, of these services, then leases, then batches
// where kinds are told apart, equal ones in the order in which they were submitted, or by deadline
// and then in that order. One that returns - out of memory, stopped, its GPU lost - takes its old
// place again.

#include <algorithm>
#include <compare>
#include <deque>
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
  /// `facts`, which say what priority, kind and deadline jobs have, may be null and must outlive
  /// the queue.
  explicit JobQueue(const JobFacts* facts, bool by_deadline = false, bool by_kind = false)
      : facts_(facts),
        by_deadline_(by_deadline && facts != nullptr),
        by_kind_(by_kind && facts != nullptr) {}

  /// What comes first: priority, and then the kind, services before leases before batches.
  struct Rank {
    std::int64_t priority = 0;
    std::uint8_t kind = 0;  // 0 for all where kinds are not told apart

    friend bool operator==(const Rank&, const Rank&) = default;
    friend std::strong_ordering operator<=>(const Rank& a, const Rank& b) {
      return std::tie(b.priority, a.kind) <=> std::tie(a.priority, b.kind);
    }
  };
  /// What jobs of one queue, and the first jobs of several, are ordered by.
  struct Turn {
    Rank rank;
    Instant deadline = Instant::max();  // where the queue goes by it
    JobId job{};

    friend bool operator==(const Turn&, const Turn&) = default;
    friend std::strong_ordering operator<=>(const Turn& a, const Turn& b) {
      return std::tie(a.rank, a.deadline, a.job) <=> std::tie(b.rank, b.deadline, b.job);
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
    const auto level = level_of(turn.rank);
    if (level == levels_.end() || level->rank != turn.rank) return;
    const auto found = place_of(*level, turn);
    if (found == level->jobs.end() || found->waiting.job != job) return;
    level->jobs.erase(found);
    --size_;
  }
  void insert(Waiting waiting) {
    const Turn turn = turn_of(waiting.job);
    auto level = level_of(turn.rank);
    if (level == levels_.end() || level->rank != turn.rank) {
      std::erase_if(levels_, [](const Level& each) { return !has_jobs(each); });
      level = levels_.insert(level_of(turn.rank), Level{turn.rank, {}});
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
  /// The jobs of one rank: those that come go to its end, however many wait behind.
  struct Level {
    Rank rank;
    std::deque<Entry> jobs;
  };

  [[nodiscard]] static bool has_jobs(const Level& level) { return !level.jobs.empty(); }
  [[nodiscard]] static Turn turn(const Level& level, const Entry& entry) {
    return {level.rank, entry.deadline, entry.waiting.job};
  }
  [[nodiscard]] Turn turn_of(JobId job) const {
    return {rank_of(job),
            by_deadline_ ? facts_->deadline(job).value_or(Instant::max()) : Instant::max(), job};
  }
  [[nodiscard]] Rank rank_of(JobId job) const {
    const std::int64_t priority = facts_ == nullptr ? 0 : facts_->priority(job);
    return {priority, by_kind_ ? place_of(facts_->kind(job)) : std::uint8_t{0}};
  }
  [[nodiscard]] static std::uint8_t place_of(JobKind kind) {
    return kind == JobKind::service ? 0 : kind == JobKind::lease ? 1 : 2;
  }
  /// The first that has jobs.
  [[nodiscard]] const Level& first_level() const {
    return *std::ranges::find_if(levels_, has_jobs);
  }
  /// Where the level of this rank is or would be.
  [[nodiscard]] std::vector<Level>::iterator level_of(const Rank& rank) {
    return std::ranges::lower_bound(levels_, rank, {}, &Level::rank);
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
  bool by_deadline_, by_kind_;
  std::vector<Level> levels_ = {Level{}};  // by rank, the first first; some may be empty
  std::size_t size_ = 0;
};

}  // namespace cleave
