// nvmlInit to nvmlShutdown, versions of library and driver, and finding GPUs.

#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "base/format.hpp"
#include "nvmlsim/exports/exported.hpp"
#include "nvmlsim/uuid.hpp"

namespace cleave::nvml {

using namespace cleave::sim;
using enum Return;

namespace {

// The version of a driver that has all of this interface.
constexpr std::string_view driver_version = "580.65.06";
constexpr std::string_view nvml_version = "13.580.65.06";
constexpr int cuda_version = 13000;

std::string bus_id(std::uint32_t gpu) {
  return fmt::format("00000000:{:02X}:00.0", gpu + 1);
}

std::string serial_number(const Uuid& uuid) {
  return fmt::format("{:013}", uuid.high % 10'000'000'000'000U);
}

template <class F>
Return find_gpu(Device* device, F&& is_it) {
  const Call call;
  if (call.status() != success) return call.status();
  if (device == nullptr) return invalid_argument;
  for (std::uint32_t gpu = 0; gpu < call.node().gpus(); ++gpu) {
    if (!is_it(call.node().cell(gpu), gpu)) continue;
    const GpuAccess access(call.node(), gpu);
    return access.status() == success ? put(device, gpu_handle(gpu)) : access.status();
  }
  return not_found;
}

Return find_mig_device(const Uuid& uuid, Device* device) {
  const Call call;
  if (call.status() != success) return call.status();
  for (std::uint32_t gpu = 0; gpu < call.node().gpus(); ++gpu) {
    const GpuAccess access(call.node(), gpu);
    if (access.status() != success) continue;
    for (std::size_t slot = 0; slot < instance_slots; ++slot) {
      const ComputeInstanceRecord& compute = access.record().compute_instances[slot];
      if (compute.serial == 0 || compute.uuid != uuid) continue;
      call.hold(gpu, slot);
      return put(device, make_handle<Device>(HandleKind::mig_device, gpu, compute.serial));
    }
  }
  return not_found;
}

struct CodeText {
  Return code;
  const char* text;
};
constexpr CodeText code_texts[] = {
    {success, "Success"},
    {uninitialized, "Uninitialized"},
    {invalid_argument, "Invalid Argument"},
    {not_supported, "Not Supported"},
    {no_permission, "Insufficient Permissions"},
    {already_initialized, "Already Initialized"},
    {not_found, "Not Found"},
    {insufficient_size, "Insufficient Size"},
    {insufficient_power, "Insufficient External Power"},
    {driver_not_loaded, "Driver Not Loaded"},
    {timeout, "Timeout"},
    {irq_issue, "Interrupt Request Issue"},
    {library_not_found, "NVML Shared Library Not Found"},
    {function_not_found, "Function Not Found"},
    {corrupted_inforom, "Corrupted infoROM"},
    {gpu_is_lost, "GPU is lost"},
    {reset_required, "GPU requires reset"},
    {operating_system, "The operating system has blocked the request"},
    {lib_rm_version_mismatch, "RM has detected an NVML/RM version mismatch"},
    {in_use, "In use by another client"},
    {memory, "Insufficient Memory"},
    {no_data, "No data"},
    {vgpu_ecc_not_supported, "vGPU ECC is not supported"},
    {insufficient_resources, "Insufficient Resources"},
    {freq_not_supported, "Frequency Not Supported"},
    {argument_version_mismatch, "Argument Version Mismatch"},
    {deprecated, "Deprecated"},
    {not_ready, "Not Ready"},
    {gpu_not_found, "GPU Not Found"},
    {invalid_state, "Invalid State"},
    {reset_type_not_supported, "Reset Type Not Supported"},
};

}  // namespace

Return nvmlInit_v2() {
  return open_session();
}
Return nvmlInit() {
  return open_session();
}
Return nvmlInitWithFlags(std::uint32_t) {
  return open_session();
}
Return nvmlShutdown() {
  return close_session();
}

const char* nvmlErrorString(Return code) {
  for (const CodeText& row : code_texts)
    if (row.code == code) return row.text;
  return "Unknown Error";
}

Return nvmlSystemGetDriverVersion(char* version, std::uint32_t size) {
  const Call call;
  return call.status() == uninitialized ? uninitialized : put_text(driver_version, version, size);
}
Return nvmlSystemGetNVMLVersion(char* version, std::uint32_t size) {
  return put_text(nvml_version, version, size);
}
Return nvmlSystemGetCudaDriverVersion(int* version) {
  return put(version, cuda_version);
}
Return nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return put(version, cuda_version);
}

Return nvmlSystemGetProcessName(std::uint32_t pid, char* name, std::uint32_t size) {
  if (name == nullptr || size == 0) return invalid_argument;
  const Call call;
  if (call.status() == uninitialized) return uninitialized;
  const int file = ::open(fmt::format("/proc/{}/cmdline", pid).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return not_found;
  std::array<char, 1024> bytes{};
  const auto length = ::read(file, bytes.data(), bytes.size() - 1);
  ::close(file);
  if (length <= 0) return not_found;
  const std::string_view program(bytes.data());  // up to the zero after the first word
  return put_text(program.substr(0, size - 1), name, size);
}

Return nvmlDeviceGetCount_v2(std::uint32_t* count) {
  const Call call;
  return call.status() == uninitialized ? uninitialized : put(count, call.node().gpus());
}
Return nvmlDeviceGetCount(std::uint32_t* count) {
  return nvmlDeviceGetCount_v2(count);
}

Return nvmlDeviceGetHandleByIndex_v2(std::uint32_t index, Device* device) {
  const Call call;
  if (call.status() != success) return call.status();
  if (index >= call.node().gpus()) return invalid_argument;
  const GpuAccess access(call.node(), index);
  return access.status() == success ? put(device, gpu_handle(index)) : access.status();
}
Return nvmlDeviceGetHandleByIndex(std::uint32_t index, Device* device) {
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}

Return nvmlDeviceGetHandleByUUID(const char* uuid, Device* device) {
  if (uuid == nullptr || device == nullptr) return invalid_argument;
  if (const auto mig = parse_uuid("MIG-", uuid)) return find_mig_device(*mig, device);
  const auto gpu = parse_uuid("GPU-", uuid);
  return find_gpu(device,
                  [&](const GpuCell& cell, std::uint32_t) { return gpu && cell.uuid == *gpu; });
}

Return nvmlDeviceGetHandleByPciBusId_v2(const char* wanted, Device* device) {
  if (wanted == nullptr) return invalid_argument;
  // With or without a domain of four or eight digits.
  const auto short_form = [](std::string_view text) {
    const auto domain = text.size() > 7 ? text.find(':') : std::string_view::npos;
    std::string lower(domain == std::string_view::npos ? text : text.substr(domain + 1));
    for (char& letter : lower)
      if (letter >= 'A' && letter <= 'F') letter = static_cast<char>(letter + 32);
    return lower;
  };
  const std::string asked = short_form(wanted);
  return find_gpu(
      device, [&](const GpuCell&, std::uint32_t gpu) { return short_form(bus_id(gpu)) == asked; });
}
Return nvmlDeviceGetHandleByPciBusId(const char* wanted, Device* device) {
  return nvmlDeviceGetHandleByPciBusId_v2(wanted, device);
}

Return nvmlDeviceGetHandleBySerial(const char* serial, Device* device) {
  if (serial == nullptr) return invalid_argument;
  return find_gpu(device, [&](const GpuCell& cell, std::uint32_t) {
    return serial_number(cell.uuid) == serial;
  });
}

Return nvmlDeviceGetSerial(Device device, char* serial, std::uint32_t size) {
  return on_gpu(device, [&](const Call&, GpuAccess& access, std::uint32_t) {
    return put_text(serial_number(access.cell().uuid), serial, size);
  });
}

Return nvmlDeviceGetPciInfo_v3(Device device, PciInfo* pci) {
  return on_gpu(device, [&](const Call&, GpuAccess& access, std::uint32_t gpu) {
    if (pci == nullptr) return invalid_argument;
    *pci = {};
    const std::string id = bus_id(gpu);
    put_name(id.substr(4), pci->bus_id_legacy);
    put_name(id, pci->bus_id);
    pci->bus = gpu + 1;
    pci->pci_device_id = access.board().row.pci_device;
    pci->pci_subsystem_id = 0x000010de;
    return success;
  });
}
// The older structures are the beginning of the newer one; the rest of them is reserved.
Return nvmlDeviceGetPciInfo_v2(Device device, void* pci) {
  if (pci == nullptr) return invalid_argument;
  PciInfo newer{};
  const Return answer = nvmlDeviceGetPciInfo_v3(device, &newer);
  if (answer == success) std::memcpy(pci, &newer, offsetof(PciInfo, bus_id));
  return answer;
}
Return nvmlDeviceGetPciInfo(Device device, void* pci) {
  return nvmlDeviceGetPciInfo_v2(device, pci);
}

}  // namespace cleave::nvml
