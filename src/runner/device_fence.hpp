#pragma once
// Device rules as the kernel takes them for a control group. Of version 2: a program, which it runs
// whenever a process of the group opens or makes a device node (BPF_PROG_TYPE_CGROUP_DEVICE). Of
// version 1: a list of what is admitted (Linux, admin-guide/cgroup-v1/devices).

#include <linux/bpf.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "runner/device_rules.hpp"

namespace cleave {

/// Leaves 1 in register 0 where the rules admit the device, else 0.
[[nodiscard]] std::vector<bpf_insn> device_program(const DeviceRules& rules);
/// Holds for all processes in the group, as long as there is the group. Groups above may forbid
/// more.
[[nodiscard]] Result<void> attach_device_program(const std::string& group,
                                                 const DeviceRules& rules);

/// What to admit, line by line, after everything has been forbidden: what the group above admits
/// (its devices.list) but for the fenced majors. A list has no exceptions, so that "all majors" are
/// those that there are now: later ones stay forbidden.
[[nodiscard]] std::vector<std::string> device_list(std::string_view above,
                                                   std::span<const std::uint32_t> majors,
                                                   const DeviceRules& rules);
/// Holds for all processes in the group, which has none yet.
[[nodiscard]] Result<void> set_device_list(const std::string& group, const DeviceRules& rules);

}  // namespace cleave
