#include "runner/process_tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include "base/format.hpp"
#include "base/text.hpp"
#include "runner/descriptor.hpp"

namespace cleave {

namespace {

std::string read_proc(pid_t pid, const char* file) {
  const Descriptor opened(
      ::open(fmt::format("/proc/{}/{}", pid, file).c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened) return {};
  std::string text;
  char piece[4096];
  ssize_t got = 0;
  while ((got = ::read(opened.number(), piece, sizeof piece)) > 0)
    text.append(piece, static_cast<std::size_t>(got));
  return text;
}

/// The fields after the name, which is in parentheses and may contain any character.
std::optional<ProcessFacts> parse_stat(pid_t pid, std::string_view text) {
  const std::size_t name_ends = text.rfind(')');
  if (name_ends == std::string_view::npos || name_ends + 2 >= text.size()) return std::nullopt;
  const auto fields = split(text.substr(name_ends + 2), ' ');
  constexpr std::size_t state = 0, parent = 1, group = 2, session = 3, started = 19;
  if (fields.size() <= started) return std::nullopt;
  const auto number = [&](std::size_t field) { return parse_integer(fields[field]).value_or(0); };
  return ProcessFacts{.pid = pid,
                      .parent = static_cast<pid_t>(number(parent)),
                      .group = static_cast<pid_t>(number(group)),
                      .session = static_cast<pid_t>(number(session)),
                      .started = static_cast<std::uint64_t>(number(started)),
                      .zombie = fields[state] == "Z" || fields[state] == "X"};
}

/// The real user, not the owner of the folder in /proc, which is root for a process that is not
/// dumpable.
std::optional<uid_t> user_of(pid_t pid) {
  const std::string status = read_proc(pid, "status");
  const std::size_t at = status.find("\nUid:\t");
  if (at == std::string::npos) return std::nullopt;
  const std::string_view rest = std::string_view(status).substr(at + 6);
  const auto uid = parse_integer(rest.substr(0, rest.find('\t')));
  if (!uid) return std::nullopt;
  return static_cast<uid_t>(*uid);
}

bool has_variable(std::string_view environment, std::string_view variable) {
  for (const std::string_view each : split(environment, '\0'))
    if (each == variable) return true;
  return false;
}

/// Whether the process belongs to the session of the job's first process. A later process with the
/// same pid leads a session of its own.
bool in_session(const ProcessFacts& process, const JobMark& mark,
                const std::map<pid_t, ProcessFacts>& all) {
  if (mark.session == 0 || process.session != mark.session ||
      process.started < mark.session_started)
    return false;
  const auto leader = all.find(mark.session);
  return leader == all.end() || leader->second.started == mark.session_started;
}

bool is_of(const ProcessFacts& process, std::span<const JobMark> marks,
           const std::map<pid_t, ProcessFacts>& all) {
  const auto uid = user_of(process.pid);
  if (!uid || std::ranges::none_of(marks, [&](const JobMark& mark) { return mark.uid == *uid; }))
    return false;
  const std::string environment = read_proc(process.pid, "environ");
  return std::ranges::any_of(marks, [&](const JobMark& mark) {
    return mark.uid == *uid &&
           (in_session(process, mark, all) ||
            has_variable(environment, fmt::format("{}={}", mark_variable, mark.text)));
  });
}

}  // namespace

std::optional<ProcessFacts> facts_of(pid_t pid) {
  return parse_stat(pid, read_proc(pid, "stat"));
}

std::vector<ProcessFacts> all_processes() {
  std::vector<ProcessFacts> found;
  DIR* proc = ::opendir("/proc");
  if (proc == nullptr) return found;
  while (const dirent* entry = ::readdir(proc)) {
    const auto pid = parse_integer(entry->d_name);
    if (!pid) continue;
    if (const auto facts = facts_of(static_cast<pid_t>(*pid))) found.push_back(*facts);
  }
  ::closedir(proc);
  return found;
}

bool send_signal(const ProcessFacts& process, int signal) {
  const Descriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  if (!handle) return false;
  const auto now = facts_of(process.pid);
  if (!now || now->started != process.started) return false;
  return ::syscall(SYS_pidfd_send_signal, handle.number(), signal, nullptr, 0) == 0;
}

std::vector<ProcessFacts> descendants_of(pid_t root, std::span<const ProcessFacts> processes) {
  std::multimap<pid_t, const ProcessFacts*> children;
  for (const ProcessFacts& each : processes) children.emplace(each.parent, &each);
  std::vector<ProcessFacts> found;
  std::vector<pid_t> to_look_at{root};
  std::set<pid_t> seen{root};
  while (!to_look_at.empty()) {
    const pid_t parent = to_look_at.back();
    to_look_at.pop_back();
    for (auto [at, end] = children.equal_range(parent); at != end; ++at) {
      if (!seen.insert(at->second->pid).second) continue;
      to_look_at.push_back(at->second->pid);
      if (!at->second->zombie) found.push_back(*at->second);
    }
  }
  return found;
}

namespace {

/// Fails where the processes cannot be read, as without descriptors: that is not that there are
/// none.
Result<std::vector<ProcessFacts>> leftovers_of(std::span<const JobMark> marks) {
  const auto processes = all_processes();
  std::map<pid_t, ProcessFacts> all;
  for (const ProcessFacts& each : processes) all.emplace(each.pid, each);
  if (!all.contains(::getpid()))
    return fail(ErrorKind::infeasible, "/proc", "the processes cannot be read");
  std::set<pid_t> found;
  for (const ProcessFacts& each : processes) {
    if (each.zombie || found.contains(each.pid) || !is_of(each, marks, all)) continue;
    found.insert(each.pid);
    for (const ProcessFacts& below : descendants_of(each.pid, processes)) found.insert(below.pid);
  }
  std::vector<ProcessFacts> leftovers;
  for (const pid_t pid : found)
    if (pid != ::getpid()) leftovers.push_back(all.at(pid));
  return leftovers;
}

}  // namespace

std::vector<ProcessFacts> find_leftovers(std::span<const JobMark> marks) {
  return leftovers_of(marks).value_or(std::vector<ProcessFacts>{});
}

Result<std::int64_t> end_leftovers(std::span<const JobMark> marks,
                                   std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  std::set<std::pair<pid_t, std::uint64_t>> ended;
  // None twice in a row: a process may start another one behind the scan.
  for (int quiet = 0; quiet < 2;) {
    const auto found = leftovers_of(marks);
    quiet = found && found->empty() ? quiet + 1 : 0;
    for (const ProcessFacts& each : found ? *found : std::vector<ProcessFacts>{}) {
      send_signal(each, SIGKILL);
      ended.emplace(each.pid, each.started);
    }
    if (quiet > 0) continue;
    if (std::chrono::steady_clock::now() > until) {
      if (!found) return std::unexpected(found.error());
      return fail(ErrorKind::infeasible, fmt::format("process {}", found->front().pid),
                  fmt::format("{} of a job whose supervisor is gone do not end",
                              counted(found->size(), "process")));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return static_cast<std::int64_t>(ended.size());
}

}  // namespace cleave
