#pragma once
// The rows of the table of forecasters, for forecaster.cpp alone, and their shared parts.

#include <unordered_map>

#include "forecast/memory/forecaster.hpp"

namespace cleave {

extern const ForecasterRow last_value_row, running_max_row, trend_row, laws_row;

/// A value for each job that reports.
template <class State>
class PerJob {
 public:
  template <class... Arguments>
  State& of(JobId job, const Arguments&... begin_with) {
    return states_.try_emplace(index(job), begin_with...).first->second;
  }
  void forget(JobId job) { states_.erase(index(job)); }

 private:
  std::unordered_map<std::size_t, State> states_;
};

}  // namespace cleave
