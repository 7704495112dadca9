#include "device/door.hpp"

#include <algorithm>
#include <array>

#include "base/format.hpp"

namespace cleave {

namespace {

struct CodeRow {
  nvml::Return code;
  std::string_view name;     // in words
  std::string_view message;  // what it means for a request of Cleave
  std::string_view remedy;
};

using enum nvml::Return;
constexpr auto codes = std::to_array<CodeRow>({
    {success, "success", "it was done", ""},
    {uninitialized, "uninitialized", "the library was not initialised", ""},
    {invalid_argument, "invalid argument",
     "the driver does not know this GPU, profile or placement",
     "look at `cleave gpus` and `cleave instances`: it may be gone"},
    {not_supported, "not supported", "the GPU cannot do this, or not with MIG off",
     "see `cleave doctor`; `cleave mig enable` switches MIG on"},
    {no_permission, "no permission", "the driver lets only privileged users do this",
     "run it as root, or let the daemon do it"},
    {not_found, "not found", "there is no such GPU or instance any more", ""},
    {insufficient_size, "insufficient size", "the driver returned more than there was room for",
     ""},
    {driver_not_loaded, "driver not loaded", "NVIDIA's kernel driver is not loaded",
     "load it: modprobe nvidia"},
    {timeout, "timeout", "the driver did not answer in time", ""},
    {library_not_found, "library not found", "a library that NVML needs is missing",
     "install NVIDIA's driver"},
    {function_not_found, "function not found", "this version of the library lacks the function",
     "`cleave doctor` says what does not work without it; a newer driver has it"},
    {gpu_is_lost, "GPU is lost", "the GPU has fallen off the bus or cannot be reached",
     "look into the kernel's log for an Xid; the GPU needs a reset or the machine a reboot"},
    {reset_required, "reset required", "the change waits until the GPU is reset",
     "stop what uses the GPU and reset it, or reboot"},
    {lib_rm_version_mismatch, "library and driver differ",
     "the library and the kernel driver are of different versions",
     "reboot after an update of the driver"},
    {in_use, "in use", "something still uses it",
     "end the processes on it, or wait until they are done"},
    {insufficient_resources, "insufficient resources",
     "there is no room for it at this place, or for its profile at all",
     "`cleave instances` shows what is in the way"},
    {argument_version_mismatch, "argument version mismatch",
     "the library does not know this version of a structure", ""},
    {not_ready, "not ready", "the driver is not ready", "try again in a moment"},
    {invalid_state, "invalid state", "the GPU is in a state in which this cannot be done", ""},
    {unknown, "unknown error", "the driver failed and does not say why",
     "look into the kernel's log"},
});

const CodeRow* row_of(nvml::Return code) {
  const auto* row = std::ranges::find(codes, code, &CodeRow::code);
  return row == codes.end() ? nullptr : row;
}

}  // namespace

std::string text(nvml::Return code) {
  const auto number = static_cast<std::int32_t>(code);
  const CodeRow* row = row_of(code);
  return row ? fmt::format("{} ({})", row->name, number) : fmt::format("error {}", number);
}

RefusalWords explain(const Refusal& refusal) {
  const CodeRow* row = row_of(refusal.code);
  if (!row)
    return {fmt::format("the driver answered {} to {}", text(refusal.code), refusal.call), {}};
  return {fmt::format("{} ({}: {})", row->message, refusal.call, text(refusal.code)),
          std::string(row->remedy)};
}

Error error_of(const Refusal& refusal, std::string place) {
  RefusalWords words = explain(refusal);
  const bool ours = refusal.code == uninitialized || refusal.code == insufficient_size;
  return {ours ? ErrorKind::internal : ErrorKind::infeasible, std::move(place),
          std::move(words.message), std::move(words.remedy)};
}

}  // namespace cleave
