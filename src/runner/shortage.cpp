#include "runner/shortage.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

namespace cleave {

namespace {

constexpr std::array shortages = {
    Shortage{EAGAIN, "no process can be begun",
             "end processes, or raise their limit (TasksMax of the unit, ulimit -u)"},
    Shortage{ENOMEM, "the host's memory is used up",
             "end processes that hold memory, or raise the limit of the daemon's cgroup"},
    Shortage{ENOSPC, "a disk is full, or has no inodes left",
             "free space and inodes under the state directory (see df -h and df -i)"},
    Shortage{EDQUOT, "a disk quota is used up", "free space, or raise the quota"},
    Shortage{EMFILE, "the daemon has no descriptor left", "raise LimitNOFILE of the unit"},
    Shortage{ENFILE, "the system has no descriptor left", "raise fs.file-max"},
    Shortage{ENOBUFS, "the system has no room for sockets", "end processes that hold sockets"},
    Shortage{ETIMEDOUT, "supervisors are not ready in time",
             "see what loads the machine, and whether cleave-supervise runs at all"},
    Shortage{ENODEV, "a job's device nodes are not known, so that it cannot be fenced",
             "see /proc/driver/nvidia/capabilities; device_fences = false runs jobs without a "
             "fence"},
    Shortage{ESTALE, "what the daemon starts jobs with cannot be used",
             "see that the folder of jobs, in the state directory, and cleave-supervise are there"},
    Shortage{EIO, "a disk cannot be read or written", "see the system's log for its errors"},
};

}  // namespace

const Shortage* shortage_of(int code) {
  const auto found = std::ranges::find(shortages, code, &Shortage::code);
  return found == shortages.end() ? nullptr : &*found;
}

}  // namespace cleave
