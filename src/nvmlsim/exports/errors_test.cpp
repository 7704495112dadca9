// The order of errors of every exported function: that NVML is not open comes before a wrong
// argument, a wrong argument before NOT_SUPPORTED.

#include <bit>
#include <cstring>

#include "nvmlsim/function_rows.hpp"
#include "nvmlsim/library_test.hpp"

namespace cleave::sim {
namespace {

using enum nvml::Return;
using nvml::FunctionRow;
using nvml::FunctionState;

using Arguments = std::array<std::uint64_t, nvml::most_arguments>;

/// Calls an exported function with numbers and pointers as they would be in registers.
nvml::Return call(const FunctionRow& row, const Arguments& a) {
  using Function = nvml::Return (*)(std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t,
                                    std::uint64_t, std::uint64_t);
  const auto function = reinterpret_cast<Function>(::dlsym(library_handle(), row.name.c_str()));
  if (function == nullptr) {
    ADD_FAILURE() << row.name << " is not exported";
    return function_not_found;
  }
  return function(a[0], a[1], a[2], a[3], a[4], a[5]);
}

bool opens(const FunctionRow& row) {
  return row.name.starts_with("nvmlInit");
}

/// By its documentation, and drivers, this knows no UNINITIALIZED.
bool works_closed(const FunctionRow& row) {
  return row.name == "nvmlSystemGetNVMLVersion";
}

std::vector<FunctionRow> exported_rows() {
  std::vector<FunctionRow> rows = nvml::function_rows();
  std::erase_if(rows, [](const FunctionRow& row) {
    return row.state == FunctionState::absent || opens(row);
  });
  return rows;
}

;

/// A node with valid handles of every kind.
class EveryHandle {
 public:
  EveryHandle() {
    EXPECT_EQ(library().nvmlEventSetCreate(&set_), success);
    EXPECT_EQ(library().nvmlGpmSampleAlloc(&sample_), success);
  }
  ~EveryHandle() {
    library().nvmlEventSetFree(set_);
    library().nvmlGpmSampleFree(sample_);
  }
  EveryHandle(const EveryHandle&) = delete;
  EveryHandle& operator=(const EveryHandle&) = delete;

  /// Arguments that are all as they should be; devices are the GPU or its MIG device.
  [[nodiscard]] Arguments right(const FunctionRow& row, bool mig) {
    Arguments arguments{};
    for (std::size_t i = 0; i < row.shape.size(); ++i) arguments[i] = right(row.shape[i], i, mig);
    return arguments;
  }

 private:
  std::uint64_t right(char letter, std::size_t argument, bool mig) {
    switch (letter) {
      case 'D':
      case 'd':
        return std::bit_cast<std::uint64_t>(mig ? made_.mig : node_.gpu());
      case 'G':
        return std::bit_cast<std::uint64_t>(made_.gpu_instance);
      case 'C':
        return std::bit_cast<std::uint64_t>(made_.compute);
      case 'E':
        return std::bit_cast<std::uint64_t>(set_);
      case 'S':
        return std::bit_cast<std::uint64_t>(sample_);
      case 'P':
      case 'o':
        return rooms_.at(argument);
      default:
        return 0;
    }
  }

  OpenNode node_{"A100-40GB"};
  MadeInstance made_ = make_instance(node_.gpu(), 2);
  nvml::EventSet set_ = nullptr;
  nvml::GpmSample sample_ = nullptr;
  nvml::ArgumentRooms rooms_;
};

TEST(Errors, AClosedLibraryComesFirst) {
  nvml::ArgumentRooms rooms;
  for (const FunctionRow& row : exported_rows()) {
    if (works_closed(row)) continue;
    EXPECT_EQ(call(row, {}), uninitialized) << row.name << " without arguments";
    Arguments given{};
    for (std::size_t i = 0; i < row.shape.size(); ++i)
      if (row.shape[i] == 'P' || row.shape[i] == 'o') given[i] = rooms.at(i);
    EXPECT_EQ(call(row, given), uninitialized) << row.name;
  }
}

TEST(Errors, AWrongHandleIsAWrongArgument) {
  EveryHandle handles;
  constexpr std::uint64_t wrong[] = {0,
                                     1,
                                     0x00ff'0000'0000'0001,
                                     0x01ff'0000'0000'0001,
                                     0x0500'0000'0000'ffff,
                                     0xffff'ffff'ffff'ffff};
  std::size_t tried = 0;
  for (const FunctionRow& row : exported_rows())
    for (std::size_t i = 0; i < row.shape.size(); ++i) {
      if (!std::string_view("DGCES").contains(row.shape[i])) continue;
      for (const std::uint64_t bits : wrong) {
        Arguments arguments = handles.right(row, false);
        arguments[i] = bits;
        EXPECT_EQ(call(row, arguments), invalid_argument)
            << row.name << ", argument " << i << " is " << bits;
        ++tried;
      }
    }
  EXPECT_GT(tried, 1000U);
}

TEST(Errors, AMissingPointerIsAWrongArgument) {
  EveryHandle handles;
  std::size_t tried = 0;
  for (const FunctionRow& row : exported_rows())
    for (const bool mig : {false, true})
      for (std::size_t i = 0; i < row.shape.size(); ++i) {
        if (row.shape[i] != 'P') continue;
        Arguments arguments = handles.right(row, mig);
        arguments[i] = 0;
        EXPECT_EQ(call(row, arguments), invalid_argument)
            << row.name << ", argument " << i << (mig ? " of a MIG device" : "");
        ++tried;
      }
  EXPECT_GT(tried, 600U);
}

TEST(Errors, WhatIsNotSupportedSaysSoLast) {
  EveryHandle handles;
  std::size_t tried = 0;
  for (const FunctionRow& row : exported_rows()) {
    if (row.state != FunctionState::unsupported) continue;
    for (const bool mig : {false, true}) {
      EXPECT_EQ(call(row, handles.right(row, mig)), not_supported) << row.name;
      ++tried;
    }
  }
  EXPECT_GT(tried, 200U);
}

/// Functions with a structure that begins with its version, and what a wrong version gets: as the
/// function's documentation says, else ARGUMENT_VERSION_MISMATCH.
struct VersionRow {
  const char* name;
  nvml::Return wrong;
};
constexpr VersionRow versions[] = {
    {"nvmlSystemGetDriverBranch", argument_version_mismatch},
    {"nvmlDeviceGetHandleByUUIDV", argument_version_mismatch},
    {"nvmlDeviceGetPciInfoExt", argument_version_mismatch},
    {"nvmlDeviceGetAddressingMode", argument_version_mismatch},
    {"nvmlDeviceGetMemoryInfo_v2", argument_version_mismatch},
    {"nvmlDeviceGetTemperatureV", argument_version_mismatch},
    {"nvmlDeviceGetMarginTemperature", argument_version_mismatch},
    {"nvmlDeviceGetProcessesUtilizationInfo", argument_version_mismatch},
    {"nvmlDeviceSetPowerManagementLimit_v2", argument_version_mismatch},
    {"nvmlDeviceGetRunningProcessDetailList", invalid_argument},
    {"nvmlDeviceGetGpuInstanceProfileInfoV", invalid_argument},
    {"nvmlDeviceGetGpuInstanceProfileInfoByIdV", invalid_argument},
    {"nvmlGpuInstanceGetComputeInstanceProfileInfoV", invalid_argument},
    {"nvmlGpmQueryDeviceSupport", argument_version_mismatch},
    {"nvmlGpmMetricsGet", argument_version_mismatch},
};

TEST(Errors, AWrongVersionIsRefused) {
  EveryHandle handles;
  const std::vector<FunctionRow> rows = exported_rows();
  for (const VersionRow& version : versions) {
    const auto row = std::ranges::find(rows, version.name, &FunctionRow::name);
    ASSERT_NE(row, rows.end()) << version.name;
    const std::size_t at = row->shape.find('P');
    for (const std::uint32_t word : {0U, 1U, 0x01000001U, 0x7fffffffU, 0xffffffffU}) {
      if (word == nvml::gpm_version && version.name[4] == 'G') continue;  // plain numbers
      const Arguments arguments = handles.right(*row, false);
      std::memcpy(std::bit_cast<void*>(arguments[at]), &word, sizeof word);
      EXPECT_EQ(call(*row, arguments), version.wrong) << version.name << ", version " << word;
    }
  }
}

}  // namespace
}  // namespace cleave::sim
