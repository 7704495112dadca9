#include "device/nvml_door.hpp"

#include "device/nvml_call.hpp"

namespace cleave {

namespace {

using enum nvml::Return;

/// Profile numbers are tried from 0 until the driver knows no more, or up to this one.
constexpr std::uint32_t profile_numbers_most = 256;

/// Some drivers put this before the names of profiles.
constexpr std::string_view nvidia_smi_prefix = "MIG ";

std::optional<std::string> profile_name_in(std::span<const char> buffer) {
  std::string name = nvml_text(buffer);
  if (name.starts_with(nvidia_smi_prefix)) name.erase(0, nvidia_smi_prefix.size());
  return fit_for_a_name(name) ? std::optional(name) : std::nullopt;
}

/// Works for both versions of the record, whose members have the same names.
template <class Info>
DriverProfile profile_from(std::uint32_t number, const Info& info) {
  const auto whole = [](std::uint32_t count) {
    return static_cast<int>(std::min(count, 1U << 30));
  };
  DriverProfile profile;
  profile.number = ProfileNumber{number};
  profile.id = ProfileId{info.id};
  profile.slices = info.slice_count;
  profile.most = info.instance_count;
  profile.sms = Sms{whole(info.multiprocessor_count)};
  profile.engines = {whole(info.copy_engine_count), whole(info.decoder_count),
                     whole(info.encoder_count), whole(info.jpeg_count), whole(info.ofa_count)};
  profile.memory =
      MiB{static_cast<std::int64_t>(std::min<std::uint64_t>(info.memory_size_mb, 1ULL << 40))};
  return profile;
}

}  // namespace

Result<std::unique_ptr<NvmlDoor>> NvmlDoor::open(const std::string& file) {
  auto library = NvmlLibrary::open(file);
  if (!library) return std::unexpected(library.error());
  return std::make_unique<NvmlDoor>(std::move(*library));
}

NvmlDoor::NvmlDoor(std::unique_ptr<NvmlLibrary> library)
    : library_(std::move(library)), nvml_(&library_->functions()) {}

NvmlDoor::NvmlDoor(const nvml::Functions& functions) : nvml_(&functions) {}

NvmlDoor::~NvmlDoor() {
  stop_listening();
  stop_all_counting();
}

std::unexpected<Refusal> NvmlDoor::gave_up(GpuIndex gpu, Refusal refusal) {
  if (refused_with(refusal, {invalid_argument, not_found, gpu_is_lost, uninitialized})) forget(gpu);
  return std::unexpected(std::move(refusal));
}

DriverAnswer<nvml::Device> NvmlDoor::device(GpuIndex gpu) {
  const auto known = devices_.find(gpu);
  if (known != devices_.end()) return known->second;
  nvml::Device device = nullptr;
  const auto done =
      CLEAVE_NVML(nvmlDeviceGetHandleByIndex_v2)(static_cast<std::uint32_t>(gpu), &device);
  if (!done) return std::unexpected(done.error());
  devices_.emplace(gpu, device);
  return device;
}

DriverFacts NvmlDoor::driver() {
  DriverFacts facts;
  if (library_) {
    facts.library = library_->file();
    facts.missing = library_->missing();
  }
  std::array<char, nvml::version_size> buffer{};
  if (CLEAVE_NVML(nvmlSystemGetDriverVersion)(buffer.data(), nvml::version_size))
    facts.driver_version = nvml_text(buffer);
  buffer.fill('\0');
  if (CLEAVE_NVML(nvmlSystemGetNVMLVersion)(buffer.data(), nvml::version_size))
    facts.nvml_version = nvml_text(buffer);
  int cuda = 0;
  if (CLEAVE_NVML(nvmlSystemGetCudaDriverVersion_v2)(&cuda)) facts.cuda_version = cuda;
  return facts;
}

DriverAnswer<std::uint32_t> NvmlDoor::gpu_count() {
  std::uint32_t count = 0;
  if (const auto done = CLEAVE_NVML(nvmlDeviceGetCount_v2)(&count); !done)
    return std::unexpected(done.error());
  return count;
}

DriverAnswer<std::string> NvmlDoor::uuid(nvml::Device device) {
  std::array<char, nvml::uuid_size> buffer{};
  if (const auto done = CLEAVE_NVML(nvmlDeviceGetUUID)(device, buffer.data(), nvml::uuid_size);
      !done)
    return std::unexpected(done.error());
  return nvml_text(buffer);
}

DriverAnswer<GpuFacts> NvmlDoor::gpu(GpuIndex gpu) {
  const auto handle = device(gpu);
  if (!handle) return std::unexpected(handle.error());
  GpuFacts facts;
  facts.index = gpu;
  auto id = uuid(*handle);
  if (!id) return gave_up(gpu, id.error());
  facts.uuid = std::move(*id);
  std::array<char, nvml::name_size> name{};
  if (const auto done = CLEAVE_NVML(nvmlDeviceGetName)(*handle, name.data(), nvml::name_size);
      !done)
    return gave_up(gpu, done.error());
  facts.name = nvml_text(name);
  std::uint32_t number = 0;
  if (CLEAVE_NVML(nvmlDeviceGetMinorNumber)(*handle, &number)) facts.minor = number;
  if (CLEAVE_NVML(nvmlDeviceGetArchitecture)(*handle, &number)) facts.architecture = number;
  nvml::PciInfo pci{};
  if (CLEAVE_NVML(nvmlDeviceGetPciInfo_v3)(*handle, &pci)) facts.pci_bus_id = nvml_text(pci.bus_id);
  return facts;
}

DriverAnswer<MigMode> NvmlDoor::mig_mode(GpuIndex gpu) {
  const auto handle = device(gpu);
  if (!handle) return std::unexpected(handle.error());
  std::uint32_t current = 0, pending = 0;
  if (const auto done = CLEAVE_NVML(nvmlDeviceGetMigMode)(*handle, &current, &pending); !done)
    return gave_up(gpu, done.error());
  return MigMode{current == nvml::mig_enabled, pending == nvml::mig_enabled};
}

DriverAnswer<nvml::Return> NvmlDoor::set_mig_mode(GpuIndex gpu, bool enabled) {
  const auto handle = device(gpu);
  if (!handle) return std::unexpected(handle.error());
  nvml::Return activation = success;
  const auto done = CLEAVE_NVML(nvmlDeviceSetMigMode)(
      *handle, enabled ? nvml::mig_enabled : nvml::mig_disabled, &activation);
  // The change may have reset the GPU, which invalidates all handles.
  stop_listening();
  stop_all_counting();
  devices_.clear();
  if (!done) return gave_up(gpu, done.error());
  return activation;
}

DriverAnswer<DriverProfile> NvmlDoor::profile(nvml::Device device, std::uint32_t number) {
  nvml::GpuInstanceProfileInfo2 named{};
  named.version = nvml::version_word<nvml::GpuInstanceProfileInfo2>(2);
  const auto done = CLEAVE_NVML(nvmlDeviceGetGpuInstanceProfileInfoV)(device, number, &named);
  if (done) {
    DriverProfile profile = profile_from(number, named);
    profile.name = profile_name_in(named.name);
    return profile;
  }
  // A driver that does not know this version of the record may call that an invalid argument.
  const bool too_old =
      refused_with(done.error(), {function_not_found, argument_version_mismatch, invalid_argument});
  if (!too_old) return std::unexpected(done.error());
  nvml::GpuInstanceProfileInfo info{};
  const auto old = CLEAVE_NVML(nvmlDeviceGetGpuInstanceProfileInfo)(device, number, &info);
  // If there is no older function either, the newer one's answer counts.
  if (!old && old.error().code == function_not_found) return std::unexpected(done.error());
  if (!old) return std::unexpected(old.error());
  return profile_from(number, info);
}

DriverAnswer<std::vector<DriverProfile>> NvmlDoor::profiles(GpuIndex gpu) {
  const auto handle = device(gpu);
  if (!handle) return std::unexpected(handle.error());
  std::vector<DriverProfile> profiles;
  for (std::uint32_t number = 0; number < profile_numbers_most; ++number) {
    auto found = profile(*handle, number);
    if (found) {
      profiles.push_back(std::move(*found));
    } else if (found.error().code == invalid_argument) {
      break;
    } else if (found.error().code != not_supported) {
      return gave_up(gpu, found.error());
    }
  }
  return profiles;
}

DriverAnswer<std::vector<Span>> NvmlDoor::placements(GpuIndex gpu, ProfileId profile) {
  const auto handle = device(gpu);
  if (!handle) return std::unexpected(handle.error());
  const auto ask = [&](nvml::GpuInstancePlacement* placements, std::uint32_t* count) {
    const auto id = static_cast<std::uint32_t>(profile);
    return nvml_->nvmlDeviceGetGpuInstancePossiblePlacements_v2 != nullptr
               ? CLEAVE_NVML(nvmlDeviceGetGpuInstancePossiblePlacements_v2)(*handle, id, placements,
                                                                            count)
               : CLEAVE_NVML(nvmlDeviceGetGpuInstancePossiblePlacements)(*handle, id, placements,
                                                                         count);
  };
  // The length first: drivers need not check the size of the buffer.
  std::uint32_t count = 0;
  if (const auto counted = ask(nullptr, &count);
      !counted && counted.error().code != insufficient_size)
    return gave_up(gpu, counted.error());
  const auto room = std::min(count + 16, nvml_list_most);
  const auto list = nvml_list<nvml::GpuInstancePlacement>(room, ask);
  if (!list) return gave_up(gpu, list.error());
  std::vector<Span> spans;
  for (const auto& [start, size] : *list) spans.push_back({start, size});
  return spans;
}

DriverAnswer<std::uint32_t> NvmlDoor::remaining(GpuIndex gpu, ProfileId profile) {
  const auto handle = device(gpu);
  if (!handle) return std::unexpected(handle.error());
  std::uint32_t count = 0;
  const auto done = CLEAVE_NVML(nvmlDeviceGetGpuInstanceRemainingCapacity)(
      *handle, static_cast<std::uint32_t>(profile), &count);
  if (!done) return gave_up(gpu, done.error());
  return count;
}

}  // namespace cleave
