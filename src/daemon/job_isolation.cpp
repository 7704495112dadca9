#include "daemon/job_isolation.hpp"

#include <unistd.h>

#include "base/format.hpp"
#include "base/quantity.hpp"

namespace cleave {

namespace {

/// Empty: nothing.
std::string what_fences_lack(const DaemonSettings& settings, bool simulated,
                             const GroupPlaces& groups, const std::optional<DriverNodes>& nodes) {
  if (!settings.device_fences) return "device_fences is false";
  if (simulated && settings.driver_root == DaemonSettings().driver_root)
    return "simulated GPUs have none";
  if (::geteuid() != 0) return "only root can make fences";
  if (!nodes)
    return fmt::format("{} names no NVIDIA driver",
                       (std::filesystem::path(settings.driver_root) / "proc/devices").string());
  if (!settings.control_groups) return "control_groups is false";
  return groups.fence() ? std::string()
                        : std::string(
                              "no control groups that fence can be made: neither device programs "
                              "(version 2) nor the controller of devices (version 1)");
}

}  // namespace

JobIsolation isolation_of(const DaemonSettings& settings, bool simulated) {
  JobIsolation made;
  if (settings.control_groups) made.groups = make_group_places();
  if (!made.groups.none())
    made.holds.push_back(fmt::format("each job has control groups: {}", in_words(made.groups)));
  else
    made.lacks.push_back(
        fmt::format("jobs have no control groups, since {}: a process can escape "
                    "its job",
                    settings.control_groups ? "the system lets the daemon make none"
                                            : "control_groups is false"));
  // Jobs wait for their part of the host all the same.
  const bool cpus = settings.control.host_cpus.value_or(0) > 0,
             memory = settings.control.host_memory.value_or(MiB{0}) > MiB{0};
  if (cpus && made.groups.cpu.empty())
    made.lacks.push_back("no control groups limit CPUs: a job can use more than it was given");
  if (memory && made.groups.memory.empty())
    made.lacks.push_back(
        "no control groups limit the host's memory: a job can use more than it was given, and take "
        "others with it when the host has none left");
  auto nodes = DriverNodes::read(settings.driver_root);
  if (const std::string why = what_fences_lack(settings, simulated, made.groups, nodes);
      !why.empty()) {
    made.lacks.push_back(
        fmt::format("device nodes are not fenced, since {}: a job can use every "
                    "instance whose name it learns",
                    why));
  } else {
    made.holds.push_back(
        fmt::format("each job can open the device nodes of its own instance only ({})",
                    made.groups.device_programs ? "device programs" : "lists of devices"));
    made.fenced = std::move(nodes);
  }
  const ContainerRuntimes& containers = settings.control.containers;
  if (containers.lack.empty())
    made.holds.push_back(fmt::format("jobs with an image run by {}", in_words(containers)));
  else
    made.lacks.push_back(fmt::format("jobs cannot run in containers, since {}", containers.lack));
  return made;
}

}  // namespace cleave
