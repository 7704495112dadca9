#include "engine/schedulers/job_window.hpp"

#include <cassert>
#include <utility>

namespace cleave {

JobWindow::JobWindow(int kinds, int widest, std::size_t most, Plan plan)
    : most_(most), plan_(std::move(plan)), queue_(kinds, widest) {
  assert(most > 0);
}

void JobWindow::enter(QueueRank rank, JobId job) {
  const auto [at, fresh] = inside_.emplace(rank, plan_(job));
  assert(fresh);
  queue_.insert(at->second);
}

void JobWindow::insert(QueueRank rank, JobId job) {
  if (inside_.size() == most_) {
    const auto last = std::prev(inside_.end());
    if (last->first < rank) {
      outside_.emplace(rank, job);
      return;
    }
    outside_.emplace(last->first, last->second.job);
    queue_.erase(last->second);
    inside_.erase(last);
  }
  enter(rank, job);
}

void JobWindow::erase(QueueRank rank) {
  const auto at = inside_.find(rank);
  if (at == inside_.end()) {
    outside_.erase(rank);
    return;
  }
  queue_.erase(at->second);
  inside_.erase(at);
  if (outside_.empty()) return;
  const auto next = outside_.extract(outside_.begin());
  enter(next.key(), next.mapped());
}

void JobWindow::replace(QueuedJob& job) {
  const QueuedJob fresh = plan_(job.job);
  if (fresh.kind == job.kind && fresh.relative == job.relative) return;
  queue_.erase(job);
  job = fresh;
  queue_.insert(job);
}

void JobWindow::plan_again(QueueRank rank) {
  if (const auto at = inside_.find(rank); at != inside_.end()) replace(at->second);
}

void JobWindow::plan_all_again() {
  for (auto& [rank, job] : inside_) replace(job);
}

}  // namespace cleave
