#include "runner/control_groups.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "base/format.hpp"
#include "base/text.hpp"
#include "runner/descriptor.hpp"
#include "runner/device_fence.hpp"
#include "runner/system_file.hpp"

namespace cleave {

namespace {

constexpr const char* procs_file = "cgroup.procs";
constexpr const char* jobs_folder = "cleave-jobs";
constexpr const char* daemon_folder = "cleave-daemon";
/// A unit of the service manager that keeps a group for jobs (packaging/cleave-jobs.service.in).
constexpr const char* jobs_unit = "cleave-jobs.service";
constexpr std::uint32_t memory_devices = 1;  // major of /dev/null and others

std::string below(const std::string& folder, std::string_view name) {
  return folder.empty() ? std::string() : fmt::format("{}/{}", folder, name);
}

/// A mounted hierarchy: "36 31 0:33 /ROOT /WHERE rw - cgroup cgroup rw,pids".
struct Hierarchy {
  std::string root, where;
  bool unified = false;
  std::vector<std::string> controllers;
};

std::optional<Hierarchy> parse_mount(std::string_view line) {
  const auto fields = split(line, ' ');
  const auto dash = std::ranges::find(fields, "-");
  if (fields.size() < 5 || fields.end() - dash < 4) return std::nullopt;
  Hierarchy found;
  found.root = fields[3];
  found.where = fields[4];
  found.unified = dash[1] == "cgroup2";
  if (!found.unified && dash[1] != "cgroup") return std::nullopt;
  for (const std::string_view option : split(dash[3], ',')) found.controllers.emplace_back(option);
  return found;
}

/// "5:cpu,cpuacct:/system.slice"; version 2 has no names: "0::/system.slice".
std::map<std::string, std::string, std::less<>> paths_by_controller(std::string_view groups) {
  std::map<std::string, std::string, std::less<>> paths;
  for (const std::string_view line : split(groups, '\n')) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    for (const std::string_view name : split(line.substr(first + 1, second - first - 1), ','))
      paths.emplace(name, line.substr(second + 1));
  }
  return paths;
}

/// The group's folder below the mount, which may show a part of the hierarchy only.
std::string folder_of(const Hierarchy& hierarchy, std::string_view path) {
  if (hierarchy.root != "/" && path.starts_with(hierarchy.root))
    path.remove_prefix(hierarchy.root.size());
  while (path.ends_with('/')) path.remove_suffix(1);
  return fmt::format("{}{}", hierarchy.where, path);
}

bool has_word(std::string_view text, std::string_view wanted) {
  for (const std::string_view line : split(text, '\n'))
    for (const std::string_view word : split(line, ' '))
      if (word == wanted) return true;
  return false;
}

/// "oom_kill 3" among lines.
std::int64_t count_in(const std::string& text, std::string_view name) {
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with(name) || line.substr(name.size()).find(' ') != 0) continue;
    return parse_integer(line.substr(name.size() + 1)).value_or(0);
  }
  return 0;
}

std::vector<pid_t> processes_in(const std::string& group) {
  std::vector<pid_t> found;
  const std::string text = read_system_file(below(group, procs_file));
  for (const std::string_view line : split(text, '\n'))
    if (const auto pid = parse_integer(line); pid && *pid > 0)
      found.push_back(static_cast<pid_t>(*pid));
  return found;
}

/// The folder for jobs in this group; empty if it cannot be made, or is another user's.
std::string make_jobs_folder(const std::string& own) {
  const std::string folder = below(own, jobs_folder);
  if (own.empty() || (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST)) return {};
  struct stat facts {};
  const bool ours = ::stat(folder.c_str(), &facts) == 0 && facts.st_uid == ::geteuid();
  return ours ? folder : std::string();
}

/// Whether a service manager has left this group to its processes.
bool is_delegated(const std::string& own) {
  char value = 0;
  return ::getxattr(own.c_str(), "trusted.delegate", &value, 1) > 0 ||
         ::getxattr(own.c_str(), "user.delegate", &value, 1) > 0;
}

/// The root of a hierarchy may have both processes and groups with controllers.
bool is_root(const std::string& own) {
  return ::access(below(own, "cgroup.type").c_str(), F_OK) != 0;
}

/// Any other group of version 2 that has processes cannot hand controllers on: it refuses some of
/// them, and takes others (pids, cpu) as a threaded group, below which no process can be moved. So
/// its processes move aside first, if the group is theirs. False where some are left.
bool leave_own_group(const std::string& own) {
  if (is_root(own) || processes_in(own).empty()) return true;
  const std::string aside = below(own, daemon_folder);
  if (!is_delegated(own) || (::mkdir(aside.c_str(), 0755) != 0 && errno != EEXIST)) return false;
  for (const pid_t each : processes_in(own))
    (void)write_system_file(below(aside, procs_file), fmt::format("{}", each));
  return processes_in(own).empty();
}

/// A process that has moved aside still makes its groups below the one that it left.
GroupPlaces before_moving_aside(GroupPlaces places) {
  const std::filesystem::path group = places.unified;
  if (group.filename() != daemon_folder) return places;
  for (std::string* each : {&places.pids, &places.memory})
    if (*each == places.unified) *each = group.parent_path().string();
  places.unified = group.parent_path().string();
  return places;
}

/// Whether groups below `own` and below its folder for jobs can limit by this controller.
bool hand_on(const std::string& own, const std::string& jobs, std::string_view controller) {
  if (jobs.empty() || !has_word(read_system_file(below(own, "cgroup.controllers")), controller) ||
      !leave_own_group(own))
    return false;
  const std::string wanted = fmt::format("+{}", controller);
  for (const std::string& each : {own, jobs})
    if (!write_system_file(below(each, "cgroup.subtree_control"), wanted)) return false;
  return true;
}

/// Whether a group can be made there, takes limits, can be entered and fences where it should: some
/// systems let one do the first only, and then no job would start.
bool is_usable(const GroupPlaces& places) {
  const JobGroups trial(places, fmt::format("trial-{}", ::getpid()));
  const DeviceRules of_memory{{memory_devices}, {}};
  if (!trial.make({1000, MiB{64}, 1000}, places.fence() ? &of_memory : nullptr)) return false;
  const pid_t child = ::fork();
  if (child == 0) {
    if (!trial.enter()) ::_exit(1);
    ::_exit(places.fence() && (::open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0 || errno != EPERM));
  }
  int status = 1;
  const bool entered = child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
  constexpr auto patience = std::chrono::milliseconds(500);
  return end_groups({&trial, 1}, patience) && entered;
}

}  // namespace

std::vector<std::string> GroupPlaces::folders() const {
  std::vector<std::string> all;
  for (const std::string& each : {unified, pids, memory, freezer, devices, cpu})
    if (!each.empty() && std::ranges::find(all, each) == all.end()) all.push_back(each);
  return all;
}

GroupPlaces groups_of_process(std::string_view mounts, std::string_view groups) {
  GroupPlaces places;
  const auto paths = paths_by_controller(groups);
  const auto path_of = [&](std::string_view controller) {
    const auto found = paths.find(controller);
    return found == paths.end() ? std::string_view("/") : std::string_view(found->second);
  };
  for (const std::string_view line : split(mounts, '\n')) {
    const auto hierarchy = parse_mount(line);
    if (!hierarchy) continue;
    if (hierarchy->unified) places.unified = folder_of(*hierarchy, path_of(""));
    for (const auto& [controller, place] :
         {std::pair("pids", &places.pids), std::pair("memory", &places.memory),
          std::pair("freezer", &places.freezer), std::pair("devices", &places.devices),
          std::pair("cpu", &places.cpu)})
      if (std::ranges::find(hierarchy->controllers, controller) != hierarchy->controllers.end())
        *place = folder_of(*hierarchy, path_of(controller));
  }
  for (std::string* each : {&places.pids, &places.memory, &places.cpu})
    if (each->empty()) *each = places.unified;
  return places;
}

std::string in_words(const GroupPlaces& places) {
  if (places.none()) return {};
  const auto version = [&](const std::string& place) {
    return place == places.unified ? "version 2" : "version 1";
  };
  std::vector<std::string> uses;
  if (!places.unified.empty())
    uses.emplace_back("killed as a whole (version 2)");
  else if (!places.freezer.empty())
    uses.emplace_back("stopped and killed (version 1)");
  if (!places.pids.empty())
    uses.push_back(fmt::format("number of processes ({})", version(places.pids)));
  if (!places.memory.empty()) uses.push_back(fmt::format("memory ({})", version(places.memory)));
  if (!places.cpu.empty()) uses.push_back(fmt::format("CPUs ({})", version(places.cpu)));
  return fmt::format("{}", fmt::join(uses, ", "));
}

GroupPlaces with_jobs_unit(GroupPlaces own) {
  const std::string kept =
      below(std::filesystem::path(own.unified).parent_path().string(), jobs_unit);
  if (own.unified.empty() || !is_delegated(kept)) return own;
  for (std::string* each : {&own.pids, &own.memory, &own.cpu})
    if (*each == own.unified) *each = kept;
  own.unified = kept;
  return own;
}

GroupPlaces make_group_places() {
  const GroupPlaces own = with_jobs_unit(before_moving_aside(groups_of_process(
      read_system_file("/proc/self/mountinfo"), read_system_file("/proc/self/cgroup"))));
  GroupPlaces made;
  made.unified = make_jobs_folder(own.unified);
  const auto limits = [&](const std::string& place, std::string_view controller) {
    if (place != own.unified) return make_jobs_folder(place);
    return hand_on(own.unified, made.unified, controller) ? made.unified : std::string();
  };
  made.pids = limits(own.pids, "pids");
  made.memory = limits(own.memory, "memory");
  made.cpu = limits(own.cpu, "cpu");
  made.freezer = make_jobs_folder(own.freezer);
  const GroupPlaces without = made;
  made.device_programs = !made.unified.empty();
  if (made.device_programs && is_usable(made)) return made;
  made.device_programs = false;
  made.devices = make_jobs_folder(own.devices);
  if (made.fence() && is_usable(made)) return made;
  return without.none() || is_usable(without) ? without : GroupPlaces{};
}

JobGroups::JobGroups(const GroupPlaces& places, const std::string& name)
    : groups_{below(places.unified, name), below(places.pids, name),    below(places.memory, name),
              below(places.freezer, name), below(places.devices, name), places.device_programs,
              below(places.cpu, name)} {}

Result<void> JobGroups::make(const GroupLimits& limits, const DeviceRules* devices) const {
  const auto refused = [&](const std::string& where, std::string_view what) {
    const int why = errno;
    (void)remove();
    errno = why;
    return system_error_at(where, what);
  };
  for (const std::string& group : groups_.folders())
    if (::mkdir(group.c_str(), 0755) != 0) return refused(group, "cannot be made");
  if (const auto fenced = devices == nullptr ? Result<void>() : fence(*devices); !fenced) {
    const int why = errno;
    (void)remove();
    errno = why;
    return fenced;
  }
  if (limits.most_processes > 0 && !groups_.pids.empty() &&
      !write_system_file(below(groups_.pids, "pids.max"), fmt::format("{}", limits.most_processes)))
    return refused(groups_.pids, "does not take a number of processes");
  if (limits.millicpus > 0 && !groups_.cpu.empty() && !limit_cpus(limits.millicpus))
    return refused(groups_.cpu, "does not take a limit of CPUs");
  if (limits.memory <= MiB{} || groups_.memory.empty()) return {};
  const std::string bytes = fmt::format("{}", limits.memory.value << 20);
  const bool second = groups_.memory == groups_.unified;
  if (!write_system_file(below(groups_.memory, second ? "memory.max" : "memory.limit_in_bytes"),
                         bytes))
    return refused(groups_.memory, "does not take a limit of memory");
  // Absent where the system has no swap, or does not count it.
  (void)write_system_file(
      below(groups_.memory, second ? "memory.swap.max" : "memory.memsw.limit_in_bytes"),
      second ? "0" : bytes);
  if (second) (void)write_system_file(below(groups_.memory, "memory.oom.group"), "1");
  return {};
}

/// So much time of each tenth of a second; the kernel takes no less than a millisecond.
bool JobGroups::limit_cpus(std::int64_t millicpus) const {
  constexpr std::int64_t period_us = 100'000, least_us = 1000;
  const std::int64_t quota_us = std::max(least_us, millicpus * (period_us / 1000));
  if (groups_.cpu == groups_.unified)
    return write_system_file(below(groups_.cpu, "cpu.max"),
                             fmt::format("{} {}", quota_us, period_us));
  return write_system_file(below(groups_.cpu, "cpu.cfs_period_us"), fmt::format("{}", period_us)) &&
         write_system_file(below(groups_.cpu, "cpu.cfs_quota_us"), fmt::format("{}", quota_us));
}

Result<void> JobGroups::fence(const DeviceRules& devices) const {
  if (groups_.device_programs) return attach_device_program(groups_.unified, devices);
  if (!groups_.devices.empty()) return set_device_list(groups_.devices, devices);
  errno = 0;
  return fail(ErrorKind::infeasible, "control groups", "none of them fences device nodes");
}

Result<void> JobGroups::enter() const {
  for (const std::string& group : groups_.folders())
    if (!write_system_file(below(group, procs_file), "0"))
      return system_error_at(group, "cannot be entered");
  return {};
}

std::vector<pid_t> JobGroups::members() const {
  std::set<pid_t> all;
  for (const std::string& group : groups_.folders())
    for (const pid_t each : processes_in(group)) all.insert(each);
  return {all.begin(), all.end()};
}

void JobGroups::kill() const {
  // Since Linux 5.14.
  if (!groups_.unified.empty() && write_system_file(below(groups_.unified, "cgroup.kill"), "1"))
    return;
  // What is frozen forks no more. Its numbers are no others' before it is thawed, and dies.
  const std::string state = below(groups_.freezer, "freezer.state");
  const bool frozen = !groups_.freezer.empty() && write_system_file(state, "FROZEN");
  for (const pid_t each : members()) (void)::kill(each, SIGKILL);
  if (frozen) (void)write_system_file(state, "THAWED");
}

bool JobGroups::remove() const {
  bool all = true;
  for (const std::string& group : groups_.folders())
    all = (::rmdir(group.c_str()) == 0 || errno == ENOENT) && all;
  return all;
}

std::int64_t JobGroups::killed_for_memory() const {
  if (groups_.memory.empty()) return 0;
  const bool second = groups_.memory == groups_.unified;
  return count_in(
      read_system_file(below(groups_.memory, second ? "memory.events" : "memory.oom_control")),
      "oom_kill");
}

Result<std::int64_t> end_groups(std::span<const JobGroups> groups,
                                std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  std::set<pid_t> seen;
  for (const JobGroups& each : groups) {
    while (true) {
      const auto members = each.members();
      seen.insert(members.begin(), members.end());
      each.kill();
      if (each.remove()) break;
      if (std::chrono::steady_clock::now() > until)
        return fail(ErrorKind::infeasible, "control groups",
                    fmt::format("{} of a job do not end", counted(members.size(), "process")));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  return static_cast<std::int64_t>(seen.size());
}

}  // namespace cleave
