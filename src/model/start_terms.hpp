#pragma once
// What a job of a workload waits for beside its place: other jobs, and its turn in an array.

#include <cstdint>
#include <string>
#include <vector>

namespace cleave {

/// Of a job; the engine hears of it when the others have ended so, and heeds the array.
struct StartTerms {
  std::vector<std::string> after;  // "ok:ID": a job, or an array, of which all tasks are meant
  std::string task_of;             // the array that it is a task of; empty: none
  std::int64_t at_once = 0;        // how many of its tasks may run at a time; 0: all
  friend bool operator==(const StartTerms&, const StartTerms&) = default;
};

}  // namespace cleave
