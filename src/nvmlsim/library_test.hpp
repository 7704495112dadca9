#pragma once
// For the tests of this room: the built library, opened as any program opens it, and nodes that
// exist as long as a test.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/format.hpp"
#include "base/places_test.hpp"
#include "base/temporary_folder_test.hpp"
#include "base/text.hpp"
#include "model/nvml_abi.hpp"
#include "nvmlsim/monitors_abi.hpp"
#include "nvmlsim/sim_node.hpp"

namespace cleave::sim {

inline std::string library_file() {
  return binary_dir() + "/lib/cleave-nvmlsim/" + nvml::library_name;
}

/// Every function of the interface, by its name.
struct Functions {
  using Device = nvml::Device;
  using GpuInstance = nvml::GpuInstance;
  using ComputeInstance = nvml::ComputeInstance;
  using EventSet = nvml::EventSet;
  using Return = nvml::Return;
  using ClockType = nvml::ClockType;
  using Memory = nvml::Memory;
  using Memory2 = nvml::Memory2;
  using PciInfo = nvml::PciInfo;
  using ProcessInfo = nvml::ProcessInfo;
  using ProcessInfo1 = nvml::ProcessInfo1;
  using Utilization = nvml::Utilization;
  using EventData = nvml::EventData;
  using GpmSample = nvml::GpmSample;
  using FieldValue = nvml::FieldValue;
  using GpmSupport = nvml::GpmSupport;
  using DeviceAttributes = nvml::DeviceAttributes;
  using GpuInstancePlacement = nvml::GpuInstancePlacement;
  using ComputeInstancePlacement = nvml::ComputeInstancePlacement;
  using GpuInstanceInfo = nvml::GpuInstanceInfo;
  using ComputeInstanceInfo = nvml::ComputeInstanceInfo;
  using GpuInstanceProfileInfo = nvml::GpuInstanceProfileInfo;
  using GpuInstanceProfileInfo2 = nvml::GpuInstanceProfileInfo2;
  using ComputeInstanceProfileInfo = nvml::ComputeInstanceProfileInfo;
  using ComputeInstanceProfileInfo2 = nvml::ComputeInstanceProfileInfo2;
  using DriverBranch = nvml::DriverBranch;
  using UuidQuery = nvml::UuidQuery;
  using PciInfoExt = nvml::PciInfoExt;
  using AddressingMode = nvml::AddressingMode;
  using Bar1Memory = nvml::Bar1Memory;
  using TemperatureQuery = nvml::TemperatureQuery;
  using MarginTemperature = nvml::MarginTemperature;
  using ProcessDetailList = nvml::ProcessDetailList;
  using ProcessUtilization = nvml::ProcessUtilization;
  using ProcessesUtilization = nvml::ProcessesUtilization;
  using SampleKind = nvml::SampleKind;
  using Sample = nvml::Sample;
  using EccCounts = nvml::EccCounts;
  using RowRemapperHistogram = nvml::RowRemapperHistogram;
  using ClockId = nvml::ClockId;
  using PowerValue = nvml::PowerValue;
#define CLEAVE_TEST_MEMBER(name, parameters) Return(*name) parameters = nullptr;
  CLEAVE_NVML_NEEDED(CLEAVE_TEST_MEMBER)
  CLEAVE_NVML_OPTIONAL(CLEAVE_TEST_MEMBER)
  CLEAVE_NVML_OTHERS(CLEAVE_TEST_MEMBER)
  CLEAVE_NVML_MONITORS(CLEAVE_TEST_MEMBER)
#undef CLEAVE_TEST_MEMBER
  const char* (*nvmlErrorString)(Return) = nullptr;
};

inline void* library_handle() {
  static void* const handle = ::dlopen(library_file().c_str(), RTLD_NOW | RTLD_LOCAL);
  return handle;
}

inline const Functions& library() {
  static const Functions functions = [] {
    Functions all;
    if (library_handle() == nullptr) {
      ADD_FAILURE() << ::dlerror();
      ::abort();
    }
#define CLEAVE_TEST_FIND(name, parameters) \
  all.name = reinterpret_cast<decltype(all.name)>(::dlsym(library_handle(), #name));
    CLEAVE_NVML_NEEDED(CLEAVE_TEST_FIND)
    CLEAVE_NVML_OPTIONAL(CLEAVE_TEST_FIND)
    CLEAVE_NVML_OTHERS(CLEAVE_TEST_FIND)
    CLEAVE_NVML_MONITORS(CLEAVE_TEST_FIND)
#undef CLEAVE_TEST_FIND
    all.nvmlErrorString = reinterpret_cast<decltype(all.nvmlErrorString)>(
        ::dlsym(library_handle(), "nvmlErrorString"));
    return all;
  }();
  return functions;
}

/// An instant node of these models, one of each.
inline SimNodeSpec node_spec(std::string_view models) {
  SimNodeSpec spec;
  for (const std::string_view model : split(models, ','))
    spec.gpus.push_back(find_gpu_model(model).value());
  spec.instant = true;
  return spec;
}

/// A node that this process sees, with the library initialised on it.
class OpenNode {
 public:
  explicit OpenNode(const SimNodeSpec& spec) {
    const auto made = create_sim_node(directory_.path(), spec);
    EXPECT_TRUE(made) << (made ? "" : made.error().text());
    ::setenv(sim_node_variable, directory_.path().c_str(), 1);
    EXPECT_EQ(library().nvmlInit_v2(), nvml::Return::success);
  }
  explicit OpenNode(std::string_view gpus) : OpenNode(node_spec(gpus)) {}
  ~OpenNode() {
    library().nvmlShutdown();
    ::unsetenv(sim_node_variable);
  }
  OpenNode(const OpenNode&) = delete;
  OpenNode& operator=(const OpenNode&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return directory_.path(); }
  [[nodiscard]] nvml::Device gpu(std::uint32_t index = 0) const {
    nvml::Device device = nullptr;
    EXPECT_EQ(library().nvmlDeviceGetHandleByIndex_v2(index, &device), nvml::Return::success);
    return device;
  }
  [[nodiscard]] std::string flaw() const { return sim_node_flaw(path()).value(); }

 private:
  TemporaryFolder directory_;
};

/// The id of the profile with this number.
inline std::uint32_t profile_id(nvml::Device device, std::uint32_t number) {
  nvml::GpuInstanceProfileInfo info{};
  EXPECT_EQ(library().nvmlDeviceGetGpuInstanceProfileInfo(device, number, &info),
            nvml::Return::success);
  return info.id;
}

/// A GPU instance of the profile, where the driver prefers, with one compute instance of all of it.
struct MadeInstance {
  nvml::GpuInstance gpu_instance = nullptr;
  nvml::ComputeInstance compute = nullptr;
  nvml::Device mig = nullptr;
  std::string uuid;
};
inline MadeInstance make_instance(nvml::Device device, std::uint32_t number) {
  const Functions& nvml = library();
  MadeInstance made;
  EXPECT_EQ(
      nvml.nvmlDeviceCreateGpuInstance(device, profile_id(device, number), &made.gpu_instance),
      nvml::Return::success);
  nvml::GpuInstanceProfileInfo info{};
  EXPECT_EQ(nvml.nvmlDeviceGetGpuInstanceProfileInfo(device, number, &info), nvml::Return::success);
  for (std::uint32_t profile = 0; profile < nvml::compute_instance_profiles; ++profile) {
    nvml::ComputeInstanceProfileInfo compute{};
    const bool whole = nvml.nvmlGpuInstanceGetComputeInstanceProfileInfo(
                           made.gpu_instance, profile, 0, &compute) == nvml::Return::success &&
                       compute.slice_count == info.slice_count;
    if (!whole || made.compute != nullptr) continue;
    EXPECT_EQ(
        nvml.nvmlGpuInstanceCreateComputeInstance(made.gpu_instance, compute.id, &made.compute),
        nvml::Return::success);
  }
  nvml::ComputeInstanceInfo about{};
  EXPECT_EQ(nvml.nvmlComputeInstanceGetInfo_v2(made.compute, &about), nvml::Return::success);
  made.mig = about.device;
  std::array<char, nvml::uuid_size> uuid{};
  EXPECT_EQ(nvml.nvmlDeviceGetUUID(made.mig, uuid.data(), nvml::uuid_size), nvml::Return::success);
  made.uuid = uuid.data();
  return made;
}

}  // namespace cleave::sim
