// nvmlInit to nvmlShutdown, versions of library and driver, and finding GPUs.

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "base/format.hpp"
#include "nvmlsim/driver_facts.hpp"
#include "nvmlsim/exports/exported.hpp"
#include "nvmlsim/fence.hpp"
#include "nvmlsim/uuid.hpp"

namespace cleave::nvml {

using namespace cleave::sim;
using enum Return;

namespace {

constexpr std::string_view driver_branch = "r580_00";
constexpr std::string_view nvml_version = "13.580.65.06";
constexpr int cuda_version = 13000;

std::string serial_number(const Uuid& uuid) {
  return fmt::format("{:013}", uuid.high % 10'000'000'000'000U);
}

Return find_mig_device(const Uuid& uuid, Device* device) {
  const Call call;
  if (call.status() != success) return call.status();
  if (!can_reach(uuid)) return not_found;
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
/// UNINITIALIZED is not among the documented answers; it was measured with driver 580.159.04.
Return nvmlSystemGetCudaDriverVersion(int* version) {
  const Call call;
  return call.status() == uninitialized ? uninitialized : put(version, cuda_version);
}
Return nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return nvmlSystemGetCudaDriverVersion(version);
}

Return nvmlSystemGetProcessName(std::uint32_t pid, char* name, std::uint32_t size) {
  const Call call;
  if (call.status() == uninitialized) return uninitialized;
  if (name == nullptr || size == 0) return invalid_argument;
  const int file = ::open(fmt::format("/proc/{}/cmdline", pid).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return not_found;
  std::array<char, 1024> bytes{};
  const auto length = ::read(file, bytes.data(), bytes.size() - 1);
  ::close(file);
  if (length <= 0) return not_found;
  const std::string_view program(bytes.data());  // up to the zero after the first word
  return put_text(program.substr(0, size - 1), name, size);
}

// Neither bridges of several GPUs, nor S-class units, nor GPUs that are kept from NVML.
Return nvmlSystemGetHicVersion(std::uint32_t* count, void*) {
  const Call call;
  return call.status() == uninitialized ? uninitialized : put(count, 0);
}
Return nvmlUnitGetCount(std::uint32_t* count) {
  return nvmlSystemGetHicVersion(count, nullptr);
}
Return nvmlGetExcludedDeviceCount(std::uint32_t* count) {
  return nvmlSystemGetHicVersion(count, nullptr);
}

Return nvmlSystemGetDriverBranch(DriverBranch* branch, std::uint32_t size) {
  const Call call;
  if (call.status() == uninitialized) return uninitialized;
  if (branch == nullptr) return invalid_argument;
  if (branch->version != version_word<DriverBranch>(1)) return argument_version_mismatch;
  return put_text(driver_branch, branch->branch.data(), std::min(size, version_size));
}

Return nvmlDeviceGetGspFirmwareVersion(Device device, char* version) {
  constexpr std::uint32_t room = 64;
  return on_whole_gpu(device, version != nullptr, [&](GpuAccess&, std::uint32_t) {
    return put_text(driver_version, version, room);
  });
}
Return nvmlDeviceGetGspFirmwareMode(Device device, std::uint32_t* enabled,
                                    std::uint32_t* by_default) {
  return on_whole_gpu(device, enabled != nullptr && by_default != nullptr,
                      [&](GpuAccess&, std::uint32_t) {
                        *enabled = *by_default = 1;
                        return success;
                      });
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
  if (access.status() != success) return access.status();
  return can_reach(access.cell().uuid, access.record()) ? put(device, gpu_handle(index))
                                                        : no_permission;
}
Return nvmlDeviceGetHandleByIndex(std::uint32_t index, Device* device) {
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}

Return nvmlDeviceGetHandleByUUID(const char* uuid, Device* device) {
  if (uuid == nullptr || device == nullptr) return wrong_argument();
  if (const auto mig = parse_uuid("MIG-", uuid)) return find_mig_device(*mig, device);
  const auto gpu = parse_uuid("GPU-", uuid);
  return find_gpu(device,
                  [&](const GpuCell& cell, std::uint32_t) { return gpu && cell.uuid == *gpu; });
}

Return nvmlDeviceGetHandleByUUIDV(const UuidQuery* uuid, Device* device) {
  if (uuid == nullptr || device == nullptr) return wrong_argument();
  const Call call;
  if (call.status() != success) return call.status();
  if (uuid->version != version_word<UuidQuery>(1)) return argument_version_mismatch;
  if (uuid->type == uuid_as_text) {
    const char* text = uuid->value.data();
    return nvmlDeviceGetHandleByUUID(std::string(text, ::strnlen(text, uuid->value.size())).c_str(),
                                     device);
  }
  if (uuid->type != uuid_as_bytes) return invalid_argument;
  const auto half = [&](std::size_t begin) {
    std::uint64_t bits = 0;
    for (std::size_t i = begin; i < begin + 8; ++i)
      bits = bits << 8 | static_cast<unsigned char>(uuid->value[i]);
    return bits;
  };
  const Uuid asked{half(0), half(8)};
  const Return gpu =
      find_gpu(device, [&](const GpuCell& cell, std::uint32_t) { return cell.uuid == asked; });
  return gpu == not_found ? find_mig_device(asked, device) : gpu;
}

Return nvmlDeviceGetHandleBySerial(const char* serial, Device* device) {
  if (serial == nullptr) return wrong_argument();
  return find_gpu(device, [&](const GpuCell& cell, std::uint32_t) {
    return serial_number(cell.uuid) == serial;
  });
}

Return nvmlDeviceGetSerial(Device device, char* serial, std::uint32_t size) {
  return on_gpu(device, [&](const Call&, GpuAccess& access, std::uint32_t) {
    return put_text(serial_number(access.cell().uuid), serial, size);
  });
}

}  // namespace cleave::nvml
