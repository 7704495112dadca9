#include "forecast/choice/warp_folding.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

constexpr std::int64_t kib = 1024;

// CUDA Programming Guide, "Compute Capabilities": resident blocks and warps of an SM, its shared
// memory, and the largest part of it that a block may have.
constexpr std::array<SmLimits, 4> capabilities = {{
    {"8.0", 32, 64, 164 * kib, 163 * kib},
    {"9.0", 32, 64, 228 * kib, 227 * kib},
    {"10.0", 32, 64, 228 * kib, 227 * kib},
    {"12.0", 24, 48, 100 * kib, 99 * kib},
}};

// The same for all of them.
constexpr int threads_of_warp = 32, most_threads = 1024;
constexpr int registers_of_sm = 65536, registers_of_block = 65536, most_registers = 255;
constexpr int register_unit = 256;  // a warp takes whole units
constexpr int quarters = 4;         // an SM's registers are in four banks, each warp's in one
constexpr std::int64_t shared_unit = 128, shared_of_system = kib;  // of a block

/// The grid of a kernel: 2^31 - 1 by 65535 by 65535.
constexpr std::int64_t most_blocks = std::int64_t{2147483647} * 65535 * 65535;

constexpr std::int64_t ceiling(std::int64_t a, std::int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

Result<void> check(const KernelLaunch& launch, const SmLimits& limits) {
  const auto wrong = [](std::string_view what, std::int64_t found, std::int64_t least,
                        std::int64_t most) {
    return fail(ErrorKind::bad_input, std::string(what),
                fmt::format("{} is not a number from {} to {}", found, least, most));
  };
  if (launch.blocks < 1 || launch.blocks > most_blocks)
    return wrong("blocks", launch.blocks, 1, most_blocks);
  if (launch.threads < 1 || launch.threads > most_threads)
    return wrong("threads of a block", launch.threads, 1, most_threads);
  if (launch.registers < 0 || launch.registers > most_registers)
    return wrong("registers of a thread", launch.registers, 0, most_registers);
  if (launch.shared_bytes < 0 || launch.shared_bytes > limits.shared_bytes_of_block)
    return wrong("shared bytes of a block", launch.shared_bytes, 0, limits.shared_bytes_of_block);
  return {};
}

/// Registers that a warp takes.
int registers_of_warp(const KernelLaunch& launch) {
  return static_cast<int>(
             ceiling(std::int64_t{launch.registers} * threads_of_warp, register_unit)) *
         register_unit;
}

}  // namespace

std::span<const SmLimits> sm_limits() {
  return capabilities;
}

Result<SmLimits> find_sm_limits(std::string_view capability) {
  const auto* const found = std::ranges::find(capabilities, capability, &SmLimits::capability);
  if (found != capabilities.end()) return *found;
  return fail(
      ErrorKind::bad_input, "",
      fmt::format("the limits of compute capability '{}' are not known", shown(capability)),
      fmt::format("known are {}", fmt::join(names_of(capabilities, &SmLimits::capability), ", ")));
}

SmLimits sm_limits_of(const GpuModel& model) {
  // Minor versions of the GPUs in the tables do not differ. Of an unknown GPU, the B200's.
  const int major = model.capability ? model.capability->major : 10;
  return *std::ranges::find(capabilities, fmt::format("{}.0", major), &SmLimits::capability);
}

std::string_view name(ResidencyLimit limit) {
  constexpr std::array<std::string_view, 4> names = {"blocks", "warps", "registers",
                                                     "shared memory"};
  return names[static_cast<std::size_t>(limit)];
}

Result<Residency> residency(const KernelLaunch& launch, const SmLimits& limits) {
  if (const auto fine = check(launch, limits); !fine) return std::unexpected(fine.error());
  const int warps = static_cast<int>(ceiling(launch.threads, threads_of_warp));
  Residency result{limits.blocks, ResidencyLimit::blocks};
  const auto bound = [&](std::int64_t blocks, ResidencyLimit limit) {
    if (blocks < result.blocks) result = {static_cast<int>(blocks), limit};
  };
  bound(limits.warps / warps, ResidencyLimit::warps);
  if (const int of_warp = registers_of_warp(launch); of_warp > 0) {
    const int held = registers_of_sm / quarters / of_warp * quarters;
    bound(of_warp * warps > registers_of_block ? 0 : held / warps, ResidencyLimit::registers);
  }
  const std::int64_t shared =
      ceiling(launch.shared_bytes + shared_of_system, shared_unit) * shared_unit;
  bound(limits.shared_bytes / shared, ResidencyLimit::shared_memory);
  if (result.blocks > 0) return result;
  return fail(ErrorKind::bad_input, "",
              fmt::format("no block fits on an SM of compute capability {}: its {} are too many",
                          limits.capability, name(result.limit)),
              "such a kernel cannot be launched");
}

Result<Folding> fold(const KernelLaunch& launch, const SmLimits& limits, std::int64_t sms,
                     const FoldingOptions& options) {
  if (sms < 1)
    return fail(ErrorKind::bad_input, "SMs", fmt::format("{} is not a number above zero", sms));
  const auto held = residency(launch, limits);
  if (!held) return std::unexpected(held.error());
  const int sharing = std::clamp(options.sharing.value_or(held->blocks), 1, held->blocks);
  Folding result;
  result.needed = ceiling(launch.blocks, sharing);
  result.waves = ceiling(result.needed, sms);
  // No kernel takes more waves than it has on one SM.
  const std::int64_t more =
      std::clamp<std::int64_t>(options.more_waves, 0, result.needed - result.waves);
  result.folded = ceiling(result.needed, result.waves + more);
  result.folded_waves = ceiling(result.needed, result.folded);
  result.freed = sms - result.folded;
  return result;
}

Result<const Profile*> fold_onto(const KernelLaunch& launch, const GpuModel& model,
                                 const FoldingOptions& options) {
  if (!model.largest().sms) return nullptr;
  const SmLimits limits = sm_limits_of(model);
  const auto folding = fold(launch, limits, model.largest().sms->value, options);
  if (!folding) return std::unexpected(folding.error());
  const Profile* best = nullptr;
  for (const Profile& profile : model.profiles) {
    if (profile.attribute != Attribute::none || !profile.sms ||
        profile.sms->value < folding->folded)
      continue;
    if (best == nullptr ||
        std::pair(*profile.sms, profile.memory) < std::pair(*best->sms, best->memory))
      best = &profile;
  }
  return best;
}

Result<ComputeSlices> slices_for(const KernelUse& kernel, std::span<const GpuModel* const> models) {
  const auto same = [&](const GpuModel* each) { return each->key == models.front()->key; };
  if (models.empty() || !std::ranges::all_of(models, same))
    return fail(ErrorKind::bad_input, "",
                "a kernel becomes compute slices of one GPU model, and this fleet has several",
                "give compute_slices in its place");
  const GpuModel& model = *models.front();
  constexpr std::int64_t too_many = 1 << 20;
  const KernelLaunch launch{kernel.blocks, static_cast<int>(std::min(kernel.threads, too_many)),
                            static_cast<int>(kernel.registers), kernel.shared_bytes};
  const auto profile = fold_onto(launch, model);
  if (!profile) return fail(ErrorKind::bad_input, "", profile.error().text());
  if (*profile == nullptr)
    return fail(ErrorKind::bad_input, "", fmt::format("the SMs of {} are not all known", model.key),
                "give compute_slices in its place");
  return (*profile)->compute;
}

}  // namespace cleave
