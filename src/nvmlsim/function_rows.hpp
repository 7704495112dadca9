#pragma once
// Every function of NVML as a row, with its state in the simulated library and the kinds of its
// arguments. The docs' list of functions is made of these rows; the tests of errors, and `cleave
// certify`, walk them.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "nvmlsim/exports/unsupported.hpp"
#include "nvmlsim/monitors_abi.hpp"

namespace cleave::nvml {

/// What the simulated library does with a function.
enum class FunctionState : std::uint8_t { real, unsupported, absent };

/// A function of NVML. Its shape has one letter for each argument: D a GPU or MIG device, d one
/// that is not looked at, G a GPU instance, C a compute instance, E an event set, S a GPM sample, P
/// a pointer that must be given, o one that need not be, # anything else.
struct FunctionRow {
  std::string name;
  FunctionState state;
  std::string shape;
  /// Bytes that the arguments point to; 0 where there is no pointer or that is not known.
  std::vector<std::size_t> sizes = {};
};

/// Whether an argument of this letter is a GPU or a MIG device.
constexpr bool is_gpu(char letter) {
  return letter == 'D' || letter == 'd';
}

/// No function has more arguments.
inline constexpr std::size_t most_arguments = 6;

/// Room for whatever the pointers of a row's arguments point to; zero before each call.
class ArgumentRooms {
 public:
  [[nodiscard]] std::uint64_t at(std::size_t argument) {
    rooms_[argument].fill(std::byte{0});
    return std::bit_cast<std::uint64_t>(rooms_[argument].data());
  }

 private:
  std::array<std::array<std::byte, 64 << 10>, most_arguments> rooms_{};
};

template <class T>
constexpr char letter_of() {
  if constexpr (std::is_same_v<T, Device>) return 'D';
  if constexpr (std::is_same_v<T, GpuInstance>) return 'G';
  if constexpr (std::is_same_v<T, ComputeInstance>) return 'C';
  if constexpr (std::is_same_v<T, EventSet>) return 'E';
  if constexpr (std::is_same_v<T, GpmSample>) return 'S';
  return std::is_pointer_v<T> ? 'P' : '#';
}

template <class T>
constexpr std::size_t size_behind() {
  using Target = std::remove_cv_t<std::remove_pointer_t<T>>;
  if constexpr (letter_of<T>() != 'P' || std::is_void_v<Target> || std::is_same_v<Target, char>)
    return 0;
  else
    return sizeof(Target);
}

/// The shape and the sizes that follow from a function's type.
template <class F>
struct ShapeOf;
template <class... T>
struct ShapeOf<Return(T...)> {
  static std::string text() { return {letter_of<T>()...}; }
  static std::vector<std::size_t> sizes() { return {size_behind<T>()...}; }
};

/// Pointers that need not be given, most of them to lists whose length alone is asked for: the
/// argument's number in all functions whose names begin so.
struct OptionalList {
  std::string_view functions;
  std::size_t argument;
};
inline constexpr auto optional_lists = std::to_array<OptionalList>({
    {"nvmlSystemGetHicVersion", 1},
    {"nvmlSystemGetTopologyGpuSet", 2},
    {"nvmlDeviceGetTopologyNearestGpus", 3},
    {"nvmlDeviceGetComputeRunningProcesses", 2},
    {"nvmlDeviceGetGraphicsRunningProcesses", 2},
    {"nvmlDeviceGetMPSComputeRunningProcesses", 2},
    {"nvmlDeviceGetProcessUtilization", 1},
    {"nvmlDeviceGetSamples", 5},
    {"nvmlDeviceGetMinMaxClockOfPState", 3},
    {"nvmlDeviceGetMinMaxClockOfPState", 4},
    {"nvmlDeviceGetSupportedMemoryClocks", 2},
    {"nvmlDeviceGetSupportedGraphicsClocks", 3},
    {"nvmlDeviceGetGpuInstancePossiblePlacements", 2},
    {"nvmlGpuInstanceGetComputeInstancePossiblePlacements", 2},
});

/// By name.
inline std::vector<FunctionRow> function_rows() {
  std::vector<FunctionRow> rows;
#define CLEAVE_FUNCTION_ROW(name, parameters)                                     \
  rows.push_back({#name, FunctionState::real, ShapeOf<Return parameters>::text(), \
                  ShapeOf<Return parameters>::sizes()});
  CLEAVE_NVML_NEEDED(CLEAVE_FUNCTION_ROW)
  CLEAVE_NVML_OPTIONAL(CLEAVE_FUNCTION_ROW)
  CLEAVE_NVML_OTHERS(CLEAVE_FUNCTION_ROW)
  CLEAVE_NVML_MONITORS(CLEAVE_FUNCTION_ROW)
#undef CLEAVE_FUNCTION_ROW
  for (FunctionRow& row : rows)
    for (const OptionalList& list : optional_lists)
      if (row.name.starts_with(list.functions)) row.shape[list.argument] = 'o';
#define CLEAVE_FUNCTION_ROW(name, shape) rows.push_back({#name, FunctionState::unsupported, shape});
  CLEAVE_NVML_UNSUPPORTED(CLEAVE_FUNCTION_ROW)
#undef CLEAVE_FUNCTION_ROW
#define CLEAVE_FUNCTION_ROW(name) rows.push_back({#name, FunctionState::absent, ""});
  CLEAVE_NVML_ABSENT(CLEAVE_FUNCTION_ROW)
#undef CLEAVE_FUNCTION_ROW
  std::ranges::sort(rows, {}, &FunctionRow::name);
  return rows;
}

}  // namespace cleave::nvml
