#pragma once
// Which jobs the words of a command line mean: numbers, names, ranges, arrays and their tasks.
//
// A name means the newest job of that name, an unfinished one before those that have ended, or all
// jobs of an array where that is one. Where several have it, it is said which one is meant.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/client.hpp"
#include "base/result.hpp"

namespace cleave::cli {

/// "12-40": numbers of jobs.
struct JobRange {
  std::int64_t first = 0, last = 0;
};
[[nodiscard]] std::optional<JobRange> job_range(const std::string& word);

/// The one job that a word means; of an array that is named, its first.
[[nodiscard]] Result<std::int64_t> find_job(ApiClient& daemon, const std::string& word);

/// All jobs that a word means: as find_job; or 12_7 and 12_1-5, jobs of array 12 by their indices;
/// all jobs of an array, by its number or their name; or 12-40, the user's jobs with these numbers.
/// `patience` is with a daemon that does not answer, of which a number is asked.
[[nodiscard]] Result<std::vector<std::int64_t>> find_jobs(ApiClient& daemon,
                                                          const std::string& word,
                                                          std::chrono::seconds patience = {});

/// What "ok:train" means in numbers: "ok:12", "ok:12-40". Of several unfinished jobs of one name
/// none is chosen.
[[nodiscard]] Result<std::vector<std::string>> find_dependency(ApiClient& daemon,
                                                               const std::string& word);

}  // namespace cleave::cli
