#pragma once
// Jobs that wait, in the order in which they were submitted. One that returns - out of memory,
// stopped, its GPU lost - takes its old place again.

#include <algorithm>
#include <deque>

#include "model/ids.hpp"

namespace cleave {

struct Waiting {
  JobId job;
  RequestId request;
};

class WaitingLine {
 public:
  [[nodiscard]] bool empty() const { return line_.empty(); }
  [[nodiscard]] std::size_t size() const { return line_.size(); }
  [[nodiscard]] const Waiting& front() const { return line_.front(); }
  [[nodiscard]] auto begin() const { return line_.begin(); }
  [[nodiscard]] auto end() const { return line_.end(); }

  void pop_front() { line_.pop_front(); }
  /// Nothing where it does not wait.
  void erase(JobId job) {
    const auto found = std::ranges::lower_bound(line_, job, {}, &Waiting::job);
    if (found != line_.end() && found->job == job) line_.erase(found);
  }
  void insert(Waiting waiting) {
    if (line_.empty() || line_.back().job < waiting.job) {
      line_.push_back(waiting);
    } else {
      line_.insert(std::ranges::lower_bound(line_, waiting.job, {}, &Waiting::job), waiting);
    }
  }

 private:
  std::deque<Waiting> line_;
};

}  // namespace cleave
