#pragma once
// Who may change a GPU: whoever holds its lock, a file in the state directory named after the GPU's
// UUID and locked with flock(2). The daemon holds those of the GPUs it manages while it lives; a
// command holds one while it changes the GPU. The lock goes with its holder, however that ends, and
// never needs clearing up: what the file says (program and pid) is only for people.
//
// Reading a GPU takes no lock. Locks bind programs of Cleave that share a state directory; what
// others do through NVML they do not prevent.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "device/file_handle.hpp"

namespace cleave {

struct LockHolder {
  std::string program;  // "cleaved"; empty where the file does not say
  std::uint32_t pid = 0;
};

class GpuLock {
 public:
  /// Takes the lock for `program`, this process. Where another command holds it, waits so long for
  /// it to be done; where a daemon does, fails at once: "GPU 0 is managed by cleaved (pid 123)".
  /// `name` is the GPU's name in errors, "GPU 0". The state directory must be there.
  [[nodiscard]] static Result<GpuLock> take(
      const std::filesystem::path& state_directory, std::string_view gpu_uuid,
      const std::string& name, std::string_view program,
      std::chrono::milliseconds patience = std::chrono::seconds(10));

  /// Who holds it now; empty: nobody. Takes nothing.
  [[nodiscard]] static std::optional<LockHolder> holder(
      const std::filesystem::path& state_directory, std::string_view gpu_uuid);

 private:
  explicit GpuLock(FileHandle file) : file_(std::move(file)) {}
  FileHandle file_;
};

/// The name of the lock file of a GPU.
std::string gpu_lock_name(std::string_view gpu_uuid);

}  // namespace cleave
