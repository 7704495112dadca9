#pragma once
// For tests: batches with something of all that a store keeps, and all that it answers.

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/format.hpp"
#include "control/records_test.hpp"
#include "control/store.hpp"

namespace cleave {

/// Where a sync costs nothing, and other programs' syncs are not waited for.
inline std::filesystem::path quick_folder() {
  const std::filesystem::path memory = "/dev/shm";
  return ::access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
}

/// Nothing where there is no such file.
inline mode_t mode_of(const std::filesystem::path& path) {
  struct stat facts = {};
  return ::lstat(path.c_str(), &facts) == 0 ? facts.st_mode & 07777 : 0;
}

/// All that the daemon acts upon or returns.
struct Everything {
  std::vector<JobRecord> open, listed, ended;
  std::vector<std::optional<JobRecord>> jobs;
  std::vector<std::optional<JobCommand>> commands;
  std::vector<AttemptRecord> attempts, open_attempts;
  std::vector<InstanceRecord> instances;
  std::vector<EventRecord> events;
  std::map<std::string, std::string> settings;
  JobNumber last_job = 0;
  friend bool operator==(const Everything&, const Everything&) = default;
};

/// Moves the value out; false: it is said that something is wrong.
template <class Value>
bool take(Result<Value> read, Value& to) {
  if (read) to = std::move(*read);
  return read.has_value();
}

inline std::optional<Everything> read_everything(Store& store, JobNumber most) {
  Everything all;
  StoreContents contents;
  if (!take(store.load(), contents)) return std::nullopt;
  all.open = contents.jobs;
  all.open_attempts = contents.attempts;
  all.instances = contents.instances;
  all.settings = contents.settings;
  all.last_job = contents.last_job;
  JobQuery every;
  every.final_too = every.processes = true;
  every.most = SIZE_MAX;
  if (!take(store.jobs(every), all.listed)) return std::nullopt;
  if (!take(store.ended_before(Instant::max(), SIZE_MAX), all.ended)) return std::nullopt;
  if (!take(store.events(0, {}, SIZE_MAX), all.events)) return std::nullopt;
  for (JobNumber number = 1; number <= most; ++number) {
    std::vector<AttemptRecord> attempts;
    if (!take(store.job(number), all.jobs.emplace_back()) ||
        !take(store.command(number), all.commands.emplace_back()) ||
        !take(store.attempts(number), attempts))
      return std::nullopt;
    all.attempts.insert(all.attempts.end(), attempts.begin(), attempts.end());
  }
  return all;
}

/// A job with its command, attempts, an event, an instance and a setting, in all ways.
inline StoreBatch batch_of(JobNumber number, RandomRecords& any) {
  StoreBatch batch;
  JobRecord job = any.any_job(number);
  job.leader = 0;
  if (number % 3 == 0) job.state = JobState::queued;
  if (is_final(job.state) != job.ended.has_value())
    job.ended = is_final(job.state) ? std::optional(any.any_instant()) : std::nullopt;
  batch.jobs.push_back(job);
  JobCommand command = any.any_command();
  if (number % 4 == 0) command.environment.push_back("A=" + std::string(9000, 'x'));
  batch.commands.emplace_back(number, std::move(command));
  for (std::int64_t attempt = 1; attempt <= 3; ++attempt)
    batch.attempts.push_back(any.any_attempt({number, attempt}));
  EventRecord event;
  event.number = number;
  event.kind = "turn";
  event.job = number;
  event.uid = job.owner.uid;
  event.text = std::string(100, 'e');
  batch.events.push_back(event);
  batch.instances.emplace_back().device = fmt::format("MIG-{}", number);
  batch.settings.emplace_back(fmt::format("key {}", number), "value");
  batch.usage.push_back(any.any_usage());
  return batch;
}

/// Runs it in a child and gives its exit code. The child leaves at once, without the parent's
/// clean-up.
inline int in_child(const std::function<int()>& run) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      ::_exit(run());
    } catch (...) {
      ::_exit(254);
    }
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

inline std::string large_text(std::size_t bytes) {
  return std::string(bytes, 'x');
}

/// Two new jobs, an attempt of each and an event: what belongs together in batch number `turn`,
/// from 1.
inline StoreBatch batch_of(std::int64_t turn) {
  StoreBatch batch;
  for (JobNumber number = 2 * turn - 1; number <= 2 * turn; ++number) {
    JobRecord job;
    job.number = number;
    job.spec.name = fmt::format("turn {}", turn);
    job.spec.request.wanted = Unknown{};
    job.request = job.spec.request;
    batch.jobs.push_back(job);
    batch.commands.emplace_back(number,
                                JobCommand{{"true"}, {fmt::format("A={}", large_text(3000))}, "/"});
    batch.attempts.emplace_back().key = {number, 1};
  }
  batch.events.push_back({.number = turn,
                          .kind = "turn",
                          .job = 2 * turn,
                          .uid = 0,
                          .gpu = {},
                          .text = fmt::format("{}", turn)});
  batch.settings.emplace_back("turn", fmt::format("{}", turn));
  return batch;
}

/// How many batches of those are there; -1 where one is there in part.
inline std::int64_t whole_batches(Store& store) {
  const auto contents = store.load();
  if (!contents) return -1;
  const std::int64_t turns = contents->last_event;
  const auto count = static_cast<std::size_t>(turns);
  if (contents->jobs.size() != 2 * count || contents->attempts.size() != 2 * count) return -1;
  if (contents->last_job != 2 * turns) return -1;
  if (turns > 0 && contents->settings.at("turn") != fmt::format("{}", turns)) return -1;
  for (JobNumber number = 1; number <= 2 * turns; ++number) {
    const auto command = store.command(number);
    if (!command || !*command || (*command)->argv != std::vector<std::string>{"true"}) return -1;
  }
  const auto events = store.events(0, {}, SIZE_MAX);
  return events && events->size() == count ? turns : -1;
}

}  // namespace cleave
