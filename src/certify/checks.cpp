#include "certify/checks.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"

namespace cleave::certify {

namespace {

constexpr std::string_view of_table =
    "plans and simulations of this model use other numbers than the GPU has (on the GPU itself "
    "Cleave asks the driver): mend the profile's row in src/model/gpu_model.cpp";
constexpr std::string_view of_board =
    "programs see another board on simulated GPUs of this model: mend its row in "
    "src/nvmlsim/board.cpp";
constexpr std::string_view of_answer = "programs get another answer on simulated GPUs";
constexpr std::string_view of_limits =
    "energy and power limits of simulated GPUs are another board's: mend the model's row in "
    "src/physics/power.cpp";

constexpr auto rows = std::to_array<CheckRow>({
    {Topic::geometry, "", Rule::same, "", of_table},
    {Topic::placements, "nvmlGpuInstance", Rule::same, "",
     "compute instances lie elsewhere than on simulated GPUs: mend compute_starts in "
     "src/nvmlsim/board.cpp"},
    {Topic::placements, "", Rule::same, "",
     "layouts planned for this model may be impossible on the GPU, or possible ones are not "
     "planned: mend the profile's starts in src/model/gpu_model.cpp"},
    {Topic::capacity, "", Rule::same, "",
     "programs that ask how many instances still fit decide otherwise on simulated GPUs: mend "
     "room_for in src/nvmlsim/gpu_rules.cpp, or the profile's starts"},
    {Topic::instances, "nvmlDeviceGetGpuInstances", Rule::same, "id",
     "instances are listed otherwise than on simulated GPUs"},
    {Topic::instances, "", Rule::same, "", of_answer},
    {Topic::lifecycle, "time", Rule::in_time, "",
     "simulations of changing layouts take another time than the GPU: mend src/physics"},
    {Topic::lifecycle, "hold", Rule::same, "",
     "an instance that is held can be destroyed here and not there, or the reverse: the daemon "
     "waits for holders by the simulated rule"},
    {Topic::lifecycle, "memory", Rule::same, "free used", of_table},
    {Topic::lifecycle, "counting", Rule::alike, "", of_answer},
    {Topic::lifecycle, "what is left", Rule::same, "",
     "the driver would not destroy these instances of Cleave's: try `cleave destroy`, which "
     "names what holds them"},
    {Topic::lifecycle, "", Rule::same, "", "making or destroying instances goes otherwise"},
    {Topic::errors, "", Rule::same, "",
     "programs that try one function after another take another way on simulated GPUs"},
    {Topic::memory, "nvmlDeviceGetBAR1MemoryInfo", Rule::same, "free used", of_board},
    {Topic::memory, "", Rule::same, "free used reserved",
     "memory of whole GPUs is another: mend the model's memory in src/model/gpu_model.cpp"},
    {Topic::counting, "nvmlGpmMetricsGet", Rule::same, "values",
     "performance monitoring counts other things than on simulated GPUs: mend "
     "src/nvmlsim/gpm_samples.cpp"},
    {Topic::counting, "", Rule::same, "", of_answer},
    {Topic::identity, "nvmlDeviceGetUUID", Rule::alike, "", of_answer},
    {Topic::identity, "nvmlDeviceGetSerial", Rule::alike, "", of_answer},
    {Topic::identity, "nvmlDeviceGetBoardPartNumber", Rule::alike, "", of_answer},
    {Topic::identity, "nvmlDeviceGetVbiosVersion", Rule::alike, "", of_answer},
    {Topic::identity, "nvmlDeviceGetMinorNumber", Rule::alike, "", of_answer},
    {Topic::identity, "nvmlDeviceGetBoardId", Rule::alike, "", of_answer},
    {Topic::identity, "nvmlDeviceGetModuleId", Rule::alike, "", of_answer},
    // The machine and its administrator decide these.
    {Topic::identity, "nvmlDeviceGetVirtualizationMode", Rule::alike, "", of_answer},
    {Topic::identity, "nvmlDeviceGetPersistenceMode", Rule::alike, "", of_answer},
    {Topic::identity, "nvmlDeviceGetComputeMode", Rule::alike, "", of_answer},
    {Topic::identity, "nvmlDeviceGetMigMode", Rule::same, "pending", of_answer},
    {Topic::identity, "nvmlDeviceGetMaxPcieLink", Rule::alike, "", of_answer},
    {Topic::identity, "nvmlDeviceGetCurrPcieLink", Rule::alike, "", of_answer},
    {Topic::identity, "nvmlDeviceGetPcieSpeed", Rule::alike, "", of_answer},
    {Topic::identity, "nvmlDeviceGetPcieReplayCounter", Rule::alike, "", of_answer},
    {Topic::identity, "nvmlDeviceGetPciInfo", Rule::same,
     "domain bus device bus_id bus_id_legacy pci_subsystem", of_board},
    {Topic::identity, "", Rule::same, "", of_board},
    {Topic::power, "nvmlDeviceGetPowerManagementDefaultLimit", Rule::same, "", of_limits},
    {Topic::power, "nvmlDeviceGetPowerManagementLimitConstraints", Rule::same, "", of_limits},
    {Topic::power, "nvmlDeviceGetPowerManagementMode", Rule::same, "", of_answer},
    {Topic::power, "nvmlDeviceGetTemperatureThreshold", Rule::same, "",
     "simulated GPUs are hot at another temperature"},
    {Topic::power, "", Rule::alike, "", of_answer},
    {Topic::clocks, "nvmlDeviceGetClockInfo", Rule::alike, "", of_answer},
    {Topic::clocks, "nvmlDeviceGetClock", Rule::alike, "", of_answer},
    {Topic::clocks, "nvmlDeviceGetApplicationsClock", Rule::alike, "", of_answer},
    {Topic::clocks, "nvmlDeviceGetCurrentClocks", Rule::alike, "", of_answer},
    {Topic::clocks, "nvmlDeviceGetPerformanceState", Rule::alike, "", of_answer},
    {Topic::clocks, "nvmlDeviceGetPowerState", Rule::alike, "", of_answer},
    {Topic::clocks, "", Rule::same, "", of_board},
    {Topic::health, "nvmlDeviceGetRemappedRows", Rule::alike, "", of_answer},
    {Topic::health, "nvmlDeviceGetRowRemapperHistogram", Rule::same, "high partial low none",
     of_answer},
    {Topic::health, "nvmlDeviceGetTotalEccErrors", Rule::alike, "", of_answer},
    {Topic::health, "nvmlDeviceGetDetailedEccErrors", Rule::alike, "", of_answer},
    {Topic::health, "nvmlDeviceGetMemoryErrorCounter", Rule::alike, "", of_answer},
    {Topic::health, "", Rule::same, "", of_answer},
    {Topic::monitoring, "nvmlDeviceGetFieldValues", Rule::same, "value",
     "monitors that read this field see something else on simulated GPUs"},
    {Topic::monitoring, "nvmlDeviceGetSamples", Rule::same, "count", of_answer},
    {Topic::monitoring, "", Rule::alike, "", of_answer},
    {Topic::functions, "", Rule::same, "",
     "programs that look for this function find it in one library only"},
    {Topic::unsupported, "", Rule::same, "",
     "the simulated library has this function by name only; programs that need it see less there"},
    {Topic::driver, "nvmlSystemGet", Rule::alike, "", of_answer},
    {Topic::driver, "", Rule::same, "", of_answer},
});

constexpr bool has_every_topic() {
  for (std::size_t topic = 0; topic < topics; ++topic)
    if (std::ranges::none_of(rows, [&](const CheckRow& row) {
          return static_cast<std::size_t>(row.topic) == topic && row.function.empty();
        }))
      return false;
  return true;
}
static_assert(has_every_topic());

}  // namespace

const CheckRow& row_of(Topic topic, std::string_view function) {
  return *std::ranges::find_if(rows, [&](const CheckRow& row) {
    return row.topic == topic && function.starts_with(row.function);
  });
}

bool varies(const CheckRow& row, std::string_view member) {
  return std::ranges::any_of(split(row.varying, ' '),
                             [&](std::string_view each) { return each == member; });
}

}  // namespace cleave::certify
