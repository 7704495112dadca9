#pragma once
// Control groups of jobs. Each attempt gets one in every hierarchy that is of use and in which this
// user may make groups: no process of the job's user can leave it, so that all of them are found
// and killed as a whole, however they forked, and together keep to limits. Version 2 (the unified
// hierarchy, cgroups(7)), version 1, or both side by side.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.hpp"
#include "base/result.hpp"
#include "runner/device_rules.hpp"

namespace cleave {

/// Folders of mounted hierarchies, one for each use; empty: there is none.
struct GroupPlaces {
  std::string unified;           // version 2: groups that can be killed as a whole
  std::string pids, memory;      // for limits: the same as `unified`, or of version 1
  std::string freezer;           // version 1: groups that can be stopped while they are killed
  std::string devices = {};      // version 1: groups that fence device nodes
  bool device_programs = false;  // groups of `unified` fence them
  std::string cpu = {};          // for a limit: the same as `unified`, or of version 1
  friend bool operator==(const GroupPlaces&, const GroupPlaces&) = default;
  [[nodiscard]] bool none() const { return folders().empty(); }
  [[nodiscard]] bool fence() const { return device_programs || !devices.empty(); }
  /// Each once.
  [[nodiscard]] std::vector<std::string> folders() const;
};

/// Where the groups of a process are, by /proc/PID/mountinfo and /proc/PID/cgroup. Of pids and
/// memory that no hierarchy of version 1 has, version 2 is taken to have them.
[[nodiscard]] GroupPlaces groups_of_process(std::string_view mounts, std::string_view groups);
/// Under version 2, with the group that a unit of the service manager beside this process's own
/// keeps for jobs, if there is one and it has been delegated: a group that has handed controllers
/// on takes no process, so that a daemon with jobs below its own group could not be started again.
[[nodiscard]] GroupPlaces with_jobs_unit(GroupPlaces own);
/// "kill, pids and memory (version 2)": what these places are good for; empty where there is none.
[[nodiscard]] std::string in_words(const GroupPlaces& places);

/// Makes a folder for the groups of jobs below this process's own groups, where it may; none where
/// a trial shows that jobs could not run in them. Under version 2 this process may move into a
/// group beside it, if its own has been delegated to it.
[[nodiscard]] GroupPlaces make_group_places();

/// What the processes of an attempt may use together.
struct GroupLimits {
  std::int64_t most_processes = 0;  // and threads; 0: no limit
  MiB memory{};                     // of the host; 0: no limit
  std::int64_t millicpus = 0;       // thousandths of a CPU; 0: no limit
  friend bool operator==(const GroupLimits&, const GroupLimits&) = default;
};

/// The groups of one attempt.
class JobGroups {
 public:
  JobGroups() = default;
  /// `name` is that of no other attempt on this machine.
  JobGroups(const GroupPlaces& places, const std::string& name);

  /// Makes them, with a fence where there are rules for it. Fails, leaving none, where one of them
  /// cannot be made, take its limit or fence; errno says why.
  [[nodiscard]] Result<void> make(const GroupLimits& limits, const DeviceRules* devices) const;
  /// Moves this process into them.
  [[nodiscard]] Result<void> enter() const;
  /// Processes that are in one of them.
  [[nodiscard]] std::vector<pid_t> members() const;
  /// Kills all processes that are in them; another call may be needed.
  void kill() const;
  /// Removes them; false if a process is still there.
  [[nodiscard]] bool remove() const;
  /// How many processes the kernel killed because the memory was used up.
  [[nodiscard]] std::int64_t killed_for_memory() const;
  [[nodiscard]] bool none() const { return groups_.none(); }

 private:
  [[nodiscard]] bool limit_cpus(std::int64_t millicpus) const;
  [[nodiscard]] Result<void> fence(const DeviceRules& devices) const;

  GroupPlaces groups_;  // the folders of the groups themselves
};

/// Kills and removes the groups; returns the number of processes that were in them. Fails if some
/// are left when the patience is over.
[[nodiscard]] Result<std::int64_t> end_groups(std::span<const JobGroups> groups,
                                              std::chrono::milliseconds patience);

}  // namespace cleave
