#include "cli/daemon/job_choice.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/tell.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "cli/daemon/daemon_client.hpp"

namespace cleave::cli {

using std::chrono::seconds;

namespace {

Result<std::vector<ApiJob>> read_list(const Result<Json>& found) {
  if (!found) return std::unexpected(found.error());
  return read_jobs(Json{{"jobs", *found}}, "the daemon's answer");
}

constexpr std::size_t page_size = 1000;

/// The newest of the user's jobs below this number, also those that have ended.
Result<std::vector<ApiJob>> page_below(ApiClient& daemon, std::int64_t before) {
  const auto page =
      daemon.ask_json("GET", fmt::format("/v1/jobs?all=1&limit={}&before={}", page_size, before));
  if (!page) return std::unexpected(page.error());
  return read_jobs(*page, "the daemon's answer");
}

/// The jobs of an array, by index.
Result<std::map<std::int64_t, std::int64_t>> jobs_of_array(ApiClient& daemon, std::int64_t array) {
  const auto jobs = read_list(ask_jobs(daemon, fmt::format("all=1&array={}", array),
                                       std::numeric_limits<std::size_t>::max()));
  if (!jobs) return std::unexpected(jobs.error());
  std::map<std::int64_t, std::int64_t> numbers;
  for (const ApiJob& each : *jobs)
    if (each.array && each.array->job == array) numbers.emplace(each.array->index, each.id);
  return numbers;
}

Result<std::vector<std::int64_t>> find_tasks(ApiClient& daemon, const NamedTasks& tasks) {
  const auto there = jobs_of_array(daemon, tasks.job);
  if (!there) return std::unexpected(there.error());
  std::vector<std::int64_t> numbers;
  for (const std::int64_t index : tasks.indices) {
    const auto found = there->find(index);
    if (found == there->end())
      return fail(ErrorKind::bad_input, "JOB",
                  fmt::format("array {} has no job with index {}", tasks.job, index),
                  fmt::format("`cleave ps --all --array {}` lists its jobs", tasks.job));
    numbers.push_back(found->second);
  }
  return numbers;
}

/// The jobs of this name, newest first: those that are unfinished, or where none is, of those that
/// have ended the ones in the first page that has any.
Result<std::vector<ApiJob>> jobs_called(ApiClient& daemon, const std::string& name) {
  const auto other = [&](const ApiJob& each) { return each.name != name; };
  auto jobs = read_list(ask_jobs(daemon, "", std::numeric_limits<std::size_t>::max()));
  if (!jobs) return jobs;
  std::erase_if(*jobs, other);
  std::int64_t before = std::numeric_limits<std::int64_t>::max();
  while (jobs->empty()) {
    jobs = page_below(daemon, before);
    if (!jobs || jobs->empty()) return jobs;
    const bool last = jobs->size() < page_size;
    before = jobs->back().id;
    std::erase_if(*jobs, other);
    if (last) break;
  }
  return jobs;
}

std::vector<std::int64_t> numbers_of(const std::vector<ApiJob>& jobs) {
  std::vector<std::int64_t> numbers;
  for (const ApiJob& each : jobs) numbers.push_back(each.id);
  return numbers;
}

bool is_of(const ApiJob& job, const std::optional<ArrayTask>& array) {
  return array && job.array && job.array->job == array->job;
}

/// How many of these jobs there are beside the newest, and its array.
std::size_t others_than_newest(const std::vector<ApiJob>& jobs) {
  return static_cast<std::size_t>(
      std::ranges::count_if(jobs.begin() + 1, jobs.end(),
                            [&](const ApiJob& each) { return !is_of(each, jobs.front().array); }));
}

std::string kind_of(const std::vector<ApiJob>& jobs) {
  return jobs.front().is_over() ? "jobs that have ended" : "unfinished jobs";
}

/// The newest job of the name, which may be one of an array.
Result<ApiJob> newest_called(ApiClient& daemon, const std::string& name) {
  const auto jobs = jobs_called(daemon, name);
  if (!jobs) return std::unexpected(jobs.error());
  if (jobs->empty())
    return fail(ErrorKind::bad_input, "JOB",
                fmt::format("no job is called '{}'", visible(shown(name))),
                "`cleave ps --all` lists your jobs, also those that have ended");
  const ApiJob& newest = jobs->front();
  if (others_than_newest(*jobs) > 0)
    tell("cleave: several {} are called '{}'; this is the newest, {}\n", kind_of(*jobs),
         visible(shown(name)),
         newest.array ? fmt::format("array {}", newest.array->job)
                      : fmt::format("job {}", newest.id));
  return newest;
}

Result<std::vector<std::int64_t>> all_of_array(ApiClient& daemon, std::int64_t array) {
  const auto jobs = jobs_of_array(daemon, array);
  if (!jobs) return std::unexpected(jobs.error());
  std::vector<std::int64_t> numbers;
  for (const auto& [index, job] : *jobs) numbers.push_back(job);
  return numbers;
}

/// The user's jobs with these numbers, also those that have ended.
Result<std::vector<std::int64_t>> jobs_between(ApiClient& daemon, const JobRange& range) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t before = range.last + 1;;) {
    const auto jobs = page_below(daemon, before);
    if (!jobs) return std::unexpected(jobs.error());
    for (const ApiJob& each : *jobs)
      if (each.id >= range.first) numbers.push_back(each.id);
    if (jobs->size() < page_size || jobs->back().id <= range.first) break;
    before = jobs->back().id;
  }
  std::ranges::sort(numbers);
  if (numbers.empty())
    return fail(ErrorKind::bad_input, "JOB",
                fmt::format("none of your jobs is in {}-{}", range.first, range.last),
                "`cleave ps --all` lists them");
  return numbers;
}

/// Runs of numbers: "12-40" for those that follow one another.
std::vector<std::string> as_ranges(std::vector<std::int64_t> numbers) {
  std::ranges::sort(numbers);
  const std::string list = index_list(numbers);
  std::vector<std::string> ranges;
  for (const std::string_view each : split(list, ',')) ranges.emplace_back(each);
  return ranges;
}

/// The number itself, or all jobs of its array.
Result<std::vector<std::int64_t>> with_its_array(ApiClient& daemon, std::int64_t number,
                                                 seconds patience) {
  if (number < 1)
    return fail(ErrorKind::bad_input, "JOB", "job numbers begin at 1", "`cleave ps` shows them");
  const auto document = patiently<Json>(daemon, patience, [&] { return ask_job(daemon, number); });
  if (!document) return std::unexpected(document.error());
  const auto job = read_job(*document, "the daemon's answer");
  if (!job) return std::unexpected(job.error());
  if (!job->array || job->array->job != number) return std::vector{number};
  return all_of_array(daemon, number);
}

/// A name that only a person at the terminal could choose among is refused.
Result<void> check_one_is_called(ApiClient& daemon, const std::string& name) {
  const auto jobs = jobs_called(daemon, name);
  if (!jobs) return std::unexpected(jobs.error());
  if (jobs->empty() || jobs->front().is_over() || others_than_newest(*jobs) == 0) return {};
  return fail(ErrorKind::bad_input, "JOB",
              fmt::format("{} unfinished jobs are called '{}'", jobs->size(), visible(shown(name))),
              fmt::format("give a number: {}", fmt::join(numbers_of(*jobs), ", ")));
}

}  // namespace

std::optional<JobRange> job_range(const std::string& word) {
  const auto parts = split(word, '-');
  if (parts.size() != 2) return std::nullopt;
  const auto first = parse_integer(parts[0]), last = parse_integer(parts[1]);
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  if (!first || !last || *first < 1 || *last < *first || *last == most) return std::nullopt;
  return JobRange{*first, *last};
}

Result<std::int64_t> find_job(ApiClient& daemon, const std::string& word) {
  if (const auto number = parse_integer(word)) {
    if (*number >= 1) return *number;
    return fail(ErrorKind::bad_input, "JOB", "job numbers begin at 1", "`cleave ps` shows them");
  }
  if (const auto tasks = parse_tasks(word)) {
    const auto found = find_tasks(daemon, *tasks);
    if (!found) return std::unexpected(found.error());
    if (found->size() == 1) return found->front();
    return fail(ErrorKind::bad_input, "JOB", fmt::format("{} jobs are meant", found->size()),
                "name one of them");
  }
  const auto newest = newest_called(daemon, word);
  if (!newest) return std::unexpected(newest.error());
  return newest->array ? newest->array->job : newest->id;
}

Result<std::vector<std::int64_t>> find_jobs(ApiClient& daemon, const std::string& word,
                                            seconds patience) {
  if (const auto tasks = parse_tasks(word)) return find_tasks(daemon, *tasks);
  if (const auto number = parse_integer(word)) return with_its_array(daemon, *number, patience);
  if (const auto range = job_range(word)) {
    const auto called = jobs_called(daemon, word);
    if (!called) return std::unexpected(called.error());
    if (called->empty()) return jobs_between(daemon, *range);
  }
  const auto newest = newest_called(daemon, word);
  if (!newest) return std::unexpected(newest.error());
  if (newest->array) return all_of_array(daemon, newest->array->job);
  return std::vector{newest->id};
}

Result<std::vector<std::string>> find_dependency(ApiClient& daemon, const std::string& word) {
  const std::size_t colon = word.find(':');
  const std::string jobs = colon == word.npos ? std::string() : word.substr(colon + 1);
  // What is wrong with its form is said where that is checked.
  if (colon == word.npos || !parse_dependency(word.substr(0, colon) + ":1") ||
      (!parse_integer(jobs) && parse_dependency(word)))
    return std::vector{word};
  if (!parse_integer(jobs) && !parse_tasks(jobs))
    if (const auto one = check_one_is_called(daemon, jobs); !one)
      return std::unexpected(one.error());
  const auto numbers = find_jobs(daemon, jobs);
  if (!numbers) return std::unexpected(numbers.error());
  std::vector<std::string> all;
  for (const std::string& range : as_ranges(*numbers))
    all.push_back(fmt::format("{}:{}", word.substr(0, colon), range));
  return all;
}

}  // namespace cleave::cli
