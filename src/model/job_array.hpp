#pragma once
// Arrays of jobs: one submission, "1-200%20", becomes a job for each index, of which no more than
// 20 run at a time. Each is a job with a number of its own, and knows its index.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.hpp"
#include "base/result.hpp"

namespace cleave {

/// Which job of which array. Numbers are those of jobs: the array is known by its first.
struct ArrayTask {
  std::int64_t job = 0, last = 0;
  std::int64_t index = 0, tasks = 0;
  std::int64_t at_once = 0;  // that may run at a time; 0: all
  friend bool operator==(const ArrayTask&, const ArrayTask&) = default;
};

/// Jobs of one request, by their numbers, of which no more than that run at a time.
struct JobsAtOnce {
  std::int64_t first = 0, last = 0;
  std::int64_t most = 0;
  friend bool operator==(const JobsAtOnce&, const JobsAtOnce&) = default;
};

/// What was asked for.
struct AskedArray {
  std::vector<std::int64_t> indices;  // ascending, each once
  std::int64_t at_once = 0;
  friend bool operator==(const AskedArray&, const AskedArray&) = default;
};

inline constexpr std::int64_t most_array_tasks = 10'000;
inline constexpr std::int64_t highest_array_index = 999'999'999;
inline constexpr std::int64_t longest_array = 4096;  // bytes of its text

/// "1-200", "0-30:10", "1,3,7-9", each with or without "%20". Errors have no place.
[[nodiscard]] Result<AskedArray> parse_array(std::string_view text);
/// The rule of a field; an empty text is none.
[[nodiscard]] std::optional<WrongValue> wrong_array(std::string_view text);

/// "{index}" in the words of a command is the index.
[[nodiscard]] std::vector<std::string> with_index(std::vector<std::string> words,
                                                  std::int64_t index);

/// "12_7"; several tasks of one array where indices are a list, as in "12_1-5,9".
struct NamedTasks {
  std::int64_t job = 0;
  std::vector<std::int64_t> indices;
};
/// Nothing where the word is not of this form.
[[nodiscard]] std::optional<NamedTasks> parse_tasks(std::string_view word);
/// "12_7"
[[nodiscard]] std::string in_short(const ArrayTask& task);
/// "1-5,9": the other way round, for indices that ascend.
[[nodiscard]] std::string index_list(std::span<const std::int64_t> indices);

template <>
inline constexpr auto fields_of<ArrayTask> = std::tuple{
    field("job", &ArrayTask::job,
          {.help = "Number of the array, which is that of its first job",
           .least = 1,
           .needed = true,
           .always_stored = true}),
    field("index", &ArrayTask::index,
          {.help = "Index of this job", .least = 0, .needed = true, .always_stored = true}),
    field("tasks", &ArrayTask::tasks,
          {.help = "How many jobs the array has", .least = 1, .always_stored = true}),
    field("at_once", &ArrayTask::at_once,
          {.help = "How many of them may run at a time; 0: all", .least = 0}),
    field("last", &ArrayTask::last,
          {.help = "Number of its last job", .least = 1, .always_stored = true}),
};
template <>
inline constexpr std::string_view schema_of<ArrayTask> = "ArrayTask";

template <>
inline constexpr auto fields_of<JobsAtOnce> = std::tuple{
    field("first", &JobsAtOnce::first,
          {.help = "Number of the first", .least = 1, .needed = true, .always_stored = true}),
    field("last", &JobsAtOnce::last,
          {.help = "Number of the last", .least = 1, .always_stored = true}),
    field("most", &JobsAtOnce::most,
          {.help = "How many of them may run at a time", .least = 1, .always_stored = true}),
};
template <>
inline constexpr std::string_view schema_of<JobsAtOnce> = "JobsAtOnce";

}  // namespace cleave
