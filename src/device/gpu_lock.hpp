#pragma once
// The lock of a GPU, which a program must hold to change the GPU: a file in the state directory,
// named after the GPU's UUID and locked with flock(2). The daemon holds the locks of the GPUs it
// manages as long as it runs; a command holds one while it changes the GPU. The lock ends with its
// holder, however that ends, and never needs cleaning up: the file's contents (program and pid) are
// only for people.
//
// Reading a GPU needs no lock. Locks bind programs of Cleave that share a state directory; they do
// not prevent what other programs do through NVML.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "device/file_handle.hpp"

namespace cleave {

/// The program that holds a lock.
struct LockHolder {
  std::string program;  // "cleaved"; empty if the file does not say
  std::uint32_t pid = 0;
};

/// A lock that this process holds; released with the object.
class GpuLock {
 public:
  /// Takes the lock for this process, whose name is `program`. If another command holds it, waits
  /// up to `patience`; if a daemon does, fails at once: "GPU 0 is managed by cleaved (pid 123)".
  /// `name` is the GPU's name in errors, "GPU 0". The state directory must exist.
  [[nodiscard]] static Result<GpuLock> take(
      const std::filesystem::path& state_directory, std::string_view gpu_uuid,
      const std::string& name, std::string_view program,
      std::chrono::milliseconds patience = std::chrono::seconds(10));

  /// The current holder, if any. Does not take the lock.
  [[nodiscard]] static std::optional<LockHolder> holder(
      const std::filesystem::path& state_directory, std::string_view gpu_uuid);

 private:
  explicit GpuLock(FileHandle file) : file_(std::move(file)) {}
  FileHandle file_;
};

/// The name of the lock file of a GPU.
std::string gpu_lock_name(std::string_view gpu_uuid);

}  // namespace cleave
