#pragma once
// A `cleaved` of its own on simulated GPUs, for measuring: started as a process, with its state and
// socket in a folder of its own, and gone with all of that when the object goes. Jobs must be over
// by then: they outlive their daemon.

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "base/work_folder.hpp"

namespace cleave {

/// Which programs and GPUs the daemon is started with.
struct DaemonProcessOptions {
  std::filesystem::path programs;  // where `cleaved` is
  std::filesystem::path folder;    // in which the daemon's own is made
  std::string gpus = "4xA100-40GB";
  bool instant = true;
};

/// A process's memory according to the kernel.
struct ResidentMemory {
  double now_mib = 0, most_mib = 0;
};

/// The running daemon; its destructor ends it and removes its folder.
class DaemonProcess {
 public:
  /// Returns when it answers, within 10 seconds.
  [[nodiscard]] static Result<std::unique_ptr<DaemonProcess>> start(
      const DaemonProcessOptions& options);
  ~DaemonProcess();
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  [[nodiscard]] std::filesystem::path socket() const { return folder_.path() / "socket"; }
  [[nodiscard]] std::filesystem::path state() const { return folder_.path() / "state"; }
  [[nodiscard]] ResidentMemory memory() const;

 private:
  DaemonProcess(WorkFolder folder, pid_t pid) : folder_(std::move(folder)), pid_(pid) {}

  WorkFolder folder_;
  pid_t pid_;
};

}  // namespace cleave
