// What a runner finds at its start: the folders of all attempts, and what earlier runners left half
// done.

#include <dirent.h>

#include <algorithm>
#include <cerrno>

#include "runner/process_runner.hpp"

namespace cleave {

namespace {

/// All of them, or an error: an attempt that is not found counts as one that never was.
Result<std::vector<std::string>> names_in(const std::string& path) {
  std::vector<std::string> names;
  DIR* folder = ::opendir(path.c_str());
  if (folder == nullptr) return system_error_at(path, "cannot be listed");
  errno = 0;
  while (const dirent* entry = ::readdir(folder)) {
    names.emplace_back(entry->d_name);
    errno = 0;
  }
  const int why = errno;
  ::closedir(folder);
  errno = why;
  if (why != 0) return system_error_at(path, "cannot be listed");
  std::ranges::sort(names);
  return names;
}

}  // namespace

Result<std::vector<FoundJob>> ProcessRunner::found(const IsSettled& is_settled) {
  std::vector<FoundJob> all;
  const auto names = names_in(places_.jobs);
  if (!names) return std::unexpected(names.error());
  for (const std::string& name : *names) {
    if (name.starts_with(".new-")) (void)removal_.remove(name);
    if (name.starts_with(".gone-")) removal_.go_on_with(name);
    const auto key = parse_directory_name(name);
    if (!key || attempts_.contains(*key) || is_settled(*key)) continue;
    const auto one = look_at(*key);
    if (!one) return std::unexpected(one.error());
    all.push_back(*one);
  }
  set_timer();
  end_what_dead_ones_left(all);
  std::ranges::sort(all, {}, &FoundJob::key);
  return all;
}

Result<FoundJob> ProcessRunner::look_at(const JobKey& key) {
  auto folder = open_folder_in(jobs_.number(), directory_name(key));
  if (!folder) return std::unexpected(folder.error());
  FoundJob found;
  found.key = key;
  if (job_lock_is_held(folder->number())) {
    const auto launch = read_launch(folder->number());
    watch(key, std::move(*folder), {}).fenced = launch && launch->fence;
    return found;
  }
  const auto outcome = read_outcome(folder->number());
  if (!can_judge(folder->number(), key, outcome)) {  // poll() will, when it can be read
    watch(key, std::move(*folder), {});
    return found;
  }
  found.began = may_have_begun(folder->number());
  found.state = FoundJob::State::dead;
  if (!outcome) found.trouble = outcome.error().text();
  if (outcome && *outcome) {
    found.state = FoundJob::State::ended;
    found.outcome = **outcome;
    forget_launch(folder->number());
  }
  return found;
}

/// Ends the leftovers of all dead attempts with one scan of all processes.
void ProcessRunner::end_what_dead_ones_left(std::vector<FoundJob>& found) {
  std::vector<JobMark> marks;
  std::vector<JobGroups> groups;
  std::vector<Descriptor> folders;
  for (const FoundJob& each : found) {
    if (each.state != FoundJob::State::dead) continue;
    auto folder = open_folder_in(jobs_.number(), directory_name(each.key));
    if (!folder) continue;
    const auto mark = job_mark(folder->number(), each.key);
    if (!mark) continue;
    marks.push_back(*mark);
    if (const auto launch = read_launch(folder->number()))
      groups.push_back(groups_of(*launch, *mark));
    folders.push_back(std::move(*folder));
  }
  if (marks.empty()) return;
  auto ended = end_groups(groups, std::chrono::seconds(5));
  if (ended) ended = end_leftovers(marks);
  if (ended) {
    for (const Descriptor& each : folders) forget_launch(each.number());
    return;
  }
  for (FoundJob& each : found)
    if (each.state == FoundJob::State::dead) each.trouble = ended.error().text();
}

}  // namespace cleave
