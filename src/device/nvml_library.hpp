#pragma once
// The library of NVIDIA's driver, opened at run time: Cleave is built and starts without it, and
// without GPUs. The functions are declared once in model/nvml_abi.hpp; here each becomes a pointer,
// null if the library of this machine lacks it.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/nvml_abi.hpp"

// Older functions that replace missing newer ones; their records are the same.
// clang-format off
#define CLEAVE_NVML_FALLBACKS(X) \
  X(nvmlDeviceGetComputeRunningProcesses_v2, \
    (Device device, std::uint32_t* count, ProcessInfo* processes)) \
  X(nvmlDeviceGetMPSComputeRunningProcesses_v2, \
    (Device device, std::uint32_t* count, ProcessInfo* processes)) \
  X(nvmlDeviceGetGpuInstancePossiblePlacements, \
    (Device device, std::uint32_t profile_id, GpuInstancePlacement* placements, \
     std::uint32_t* count))
// clang-format on

namespace cleave::nvml {

/// A pointer for each function that `device/` calls, by its exported name.
struct Functions {
#define CLEAVE_NVML_POINTER(name, parameters) Return(*name) parameters = nullptr;
  CLEAVE_NVML_NEEDED(CLEAVE_NVML_POINTER)
  CLEAVE_NVML_OPTIONAL(CLEAVE_NVML_POINTER)
  CLEAVE_NVML_FALLBACKS(CLEAVE_NVML_POINTER)
#undef CLEAVE_NVML_POINTER
};

/// Names of the functions of CLEAVE_NVML_OPTIONAL.
const std::vector<std::string_view>& optional_functions();

}  // namespace cleave::nvml

namespace cleave {

/// An opened and initialised library; shut down and closed with the object. A program needs one.
class NvmlLibrary {
 public:
  /// `file` is a path, or a name that the loader looks for. Fails with `infeasible` and a remedy if
  /// there is no such library, a needed function is missing, or the driver does not answer.
  [[nodiscard]] static Result<std::unique_ptr<NvmlLibrary>> open(
      const std::string& file = nvml::library_name);
  ~NvmlLibrary();
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

  [[nodiscard]] const nvml::Functions& functions() const { return functions_; }
  [[nodiscard]] const std::string& file() const { return file_; }
  /// The optional functions that it lacks.
  [[nodiscard]] const std::vector<std::string_view>& missing() const { return missing_; }

 private:
  struct Closing {
    void operator()(void* handle) const;
  };
  using Handle = std::unique_ptr<void, Closing>;
  NvmlLibrary(Handle handle, std::string file)
      : handle_(std::move(handle)), file_(std::move(file)) {}
  [[nodiscard]] Result<void> resolve();
  [[nodiscard]] Result<void> initialise();

  Handle handle_;
  std::string file_;
  nvml::Functions functions_;
  std::vector<std::string_view> missing_;
  bool initialised_ = false;
};

}  // namespace cleave
