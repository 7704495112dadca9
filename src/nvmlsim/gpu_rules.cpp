#include "nvmlsim/gpu_rules.hpp"

#include <algorithm>
#include <cmath>

#include "base/format.hpp"

namespace cleave::sim {

using enum nvml::Return;

namespace {

std::uint32_t process_count(const GpuRecord& record) {
  return std::min(record.process_count, most_processes);
}

/// One bit for each compute slice of a GPU instance.
std::uint32_t slice_bits(std::uint32_t start, std::uint32_t slices) {
  return start > 16 || slices > 16 ? 0 : ((1U << slices) - 1U) << start;
}

struct ComputeUse {
  std::uint32_t slices = 0, sms = 0;
  std::uint32_t of_profile = 0;  // instances of the profile in question
};

/// What the compute instances of a GPU instance take.
ComputeUse compute_use(const Board& board, const GpuRecord& record, std::size_t slot,
                       const ComputeProfile& asked) {
  ComputeUse use;
  for (const ComputeInstanceRecord& compute : record.compute_instances) {
    if (compute.serial == 0 || compute.gpu_instance != slot) continue;
    use.slices |= slice_bits(compute.start, compute.slices);
    const ComputeProfile* profile = compute_profile(board, record, slot, compute.profile);
    use.sms += profile == nullptr ? 0 : profile->sms;
    use.of_profile += compute.profile == asked.number ? 1 : 0;
  }
  return use;
}

bool fits(const ComputeUse& use, const ComputeProfile& profile, std::uint32_t start,
          std::uint32_t sms) {
  return (use.slices & slice_bits(start, profile.slices)) == 0 && use.sms + profile.sms <= sms &&
         use.of_profile < profile.most;
}

bool sound_compute(const Board& board, const GpuRecord& record,
                   const ComputeInstanceRecord& compute) {
  if (compute.gpu_instance >= instance_slots) return false;
  const GpuInstanceRecord& parent = record.gpu_instances[compute.gpu_instance];
  if (parent.serial == 0 || parent.placement >= board.geometry.size()) return false;
  const ComputeProfile* profile =
      compute_profile(board, record, compute.gpu_instance, compute.profile);
  return profile != nullptr && compute.slices == profile->slices &&
         compute.start + compute.slices <=
             static_cast<std::uint32_t>(
                 placement_of(board, record, compute.gpu_instance).profile->compute.value);
}

std::string compute_flaw(const Board& board, const GpuRecord& record) {
  for (std::size_t slot = 0; slot < instance_slots; ++slot) {
    std::uint32_t slices = 0, sms = 0, ids = 0;
    for (const ComputeInstanceRecord& compute : record.compute_instances) {
      if (compute.serial == 0 || compute.gpu_instance != slot) continue;
      const std::uint32_t mine = slice_bits(compute.start, compute.slices);
      if ((slices & mine) != 0)
        return fmt::format("a compute slice of GPU instance {} is used twice", slot);
      if (compute.id >= 32 || (ids >> compute.id & 1U) != 0)
        return "two compute instances have one number";
      slices |= mine;
      ids |= 1U << compute.id;
      sms += compute_profile(board, record, slot, compute.profile)->sms;
    }
    if (slices != 0 && sms > board.profiles[profile_of(board, record, slot)].sms)
      return "compute instances have more SMs than their GPU instance";
  }
  return {};
}

std::string process_flaw(const Board& board, const GpuRecord& record) {
  for (std::uint32_t i = 0; i < process_count(record); ++i) {
    const ProcessRecord& process = record.processes[i];
    if ((process.compute == 0) == (record.mig_enabled != 0))
      return fmt::format(
          "process {} is on the whole of a GPU with MIG on, or on an instance with MIG off",
          pid_of(process.identity));
    if (process.compute != 0 && !find_compute_instance(record, process.compute))
      return fmt::format("process {} is on no instance", pid_of(process.identity));
  }
  for (std::size_t slot = 0; slot < instance_slots; ++slot)
    if (record.gpu_instances[slot].serial != 0 &&
        used_bytes(record, slot) > capacity_bytes(board, record, slot))
      return fmt::format("processes hold more memory than GPU instance {} has", slot);
  if (record.mig_enabled == 0 && used_bytes(record) > capacity_bytes(board, record, {}))
    return "processes hold more memory than the GPU has";
  return {};
}

}  // namespace

bool sound(const Board& board, const GpuRecord& record) {
  if (record.process_count > most_processes) return false;
  for (const GpuInstanceRecord& instance : record.gpu_instances)
    if (instance.serial != 0 && instance.placement >= board.geometry.size()) return false;
  for (const ComputeInstanceRecord& compute : record.compute_instances)
    if (compute.serial != 0 && !sound_compute(board, record, compute)) return false;
  return true;
}

std::string flaw_of(const Board& board, const GpuRecord& record) {
  if (!sound(board, record)) return "its record is damaged";
  PlacementSet state;
  int instances = 0;
  for (const GpuInstanceRecord& instance : record.gpu_instances) {
    if (instance.serial == 0) continue;
    ++instances;
    state.insert(instance.placement);
  }
  if (state.size() != instances) return "two GPU instances are at one place";
  if (!board.geometry.legal(state))
    return fmt::format("its instances cannot be: {}", layout_text(board.geometry, state));
  if (instances > 0 && record.mig_enabled == 0) return "it has instances with MIG off";
  if (!std::isfinite(record.energy_j) || record.energy_j < 0 || !std::isfinite(record.power_w))
    return "its energy or power is not a number";
  const auto is_time = [](double seconds) { return std::isfinite(seconds) && seconds >= 0; };
  if (!is_time(record.busy_s) ||
      !std::ranges::all_of(record.gpu_instances, is_time, &GpuInstanceRecord::busy_s))
    return "its busy time is not a number";
  if (std::string flaw = compute_flaw(board, record); !flaw.empty()) return flaw;
  return process_flaw(board, record);
}

PlacementSet placed(const Board& board, const GpuRecord& record) {
  PlacementSet set;
  for (const GpuInstanceRecord& instance : record.gpu_instances)
    if (instance.serial != 0 && instance.placement < board.geometry.size())
      set.insert(instance.placement);
  return set;
}

const Placement& placement_of(const Board& board, const GpuRecord& record, std::size_t slot) {
  const int last = board.geometry.size() - 1;
  const int number = record.gpu_instances[slot % instance_slots].placement;
  return board.geometry[static_cast<PlacementId>(std::min(number, last))];
}

std::size_t profile_of(const Board& board, const GpuRecord& record, std::size_t slot) {
  return static_cast<std::size_t>(placement_of(board, record, slot).profile_index);
}

std::optional<std::size_t> find_gpu_instance(const GpuRecord& record, std::uint64_t serial) {
  for (std::size_t slot = 0; slot < instance_slots; ++slot)
    if (serial != 0 && record.gpu_instances[slot].serial == serial) return slot;
  return std::nullopt;
}

std::optional<std::size_t> find_compute_instance(const GpuRecord& record, std::uint64_t serial) {
  for (std::size_t slot = 0; slot < instance_slots; ++slot)
    if (serial != 0 && record.compute_instances[slot].serial == serial) return slot;
  return std::nullopt;
}

bool has_gpu_instances(const GpuRecord& record) {
  return std::ranges::any_of(record.gpu_instances,
                             [](const auto& each) { return each.serial != 0; });
}

bool has_compute_instances(const GpuRecord& record, std::size_t gpu_instance) {
  return std::ranges::any_of(record.compute_instances, [&](const ComputeInstanceRecord& each) {
    return each.serial != 0 && each.gpu_instance == gpu_instance;
  });
}

nvml::Return choose_placement(const Board& board, const GpuRecord& record, std::size_t profile,
                              const nvml::GpuInstancePlacement* wanted, PlacementId& chosen) {
  const PlacementSet state = placed(board, record);
  const auto has_room = [&](PlacementId id) {
    return !board.geometry.blocked(state).contains(id) &&
           board.geometry.within_limits(state | PlacementSet::of(id));
  };
  const Profile& asked = *board.profiles[profile].profile;
  for (const PlacementId id : board.preferred[profile]) {
    if (wanted != nullptr && static_cast<std::uint32_t>(board.geometry[id].start) != wanted->start)
      continue;
    if (wanted != nullptr && static_cast<std::uint32_t>(asked.memory.value) != wanted->size) break;
    chosen = id;
    if (has_room(id)) return success;
    if (wanted != nullptr) return insufficient_resources;
  }
  return wanted != nullptr ? invalid_argument : insufficient_resources;
}

std::uint32_t room_for(const Board& board, const GpuRecord& record, std::size_t profile) {
  PlacementSet state = placed(board, record);
  std::uint32_t count = 0;
  for (const PlacementId id : board.preferred[profile]) {
    if (board.geometry.blocked(state).contains(id)) continue;
    if (!board.geometry.within_limits(state | PlacementSet::of(id))) continue;
    state.insert(id);
    ++count;
  }
  return count;
}

const ComputeProfile* compute_profile(const Board& board, const GpuRecord& record, std::size_t slot,
                                      std::uint32_t number) {
  const auto& list = board.compute_profiles[profile_of(board, record, slot)];
  const auto found = std::ranges::find(list, number, &ComputeProfile::number);
  return found == list.end() ? nullptr : &*found;
}

nvml::Return choose_compute_start(const Board& board, const GpuRecord& record, std::size_t slot,
                                  const ComputeProfile& profile,
                                  const nvml::ComputeInstancePlacement* wanted,
                                  std::uint32_t& start) {
  const ComputeUse use = compute_use(board, record, slot, profile);
  const std::uint32_t sms = board.profiles[profile_of(board, record, slot)].sms;
  for (const std::uint32_t each : profile.starts) {
    if (wanted != nullptr && (wanted->start != each || wanted->size != profile.slices)) continue;
    start = each;
    if (fits(use, profile, each, sms)) return success;
    if (wanted != nullptr) return insufficient_resources;
  }
  return wanted != nullptr ? invalid_argument : insufficient_resources;
}

std::uint32_t compute_room_for(const Board& board, const GpuRecord& record, std::size_t slot,
                               const ComputeProfile& profile) {
  ComputeUse use = compute_use(board, record, slot, profile);
  const std::uint32_t sms = board.profiles[profile_of(board, record, slot)].sms;
  std::uint32_t count = 0;
  for (const std::uint32_t start : profile.starts) {
    if (!fits(use, profile, start, sms)) continue;
    use.slices |= slice_bits(start, profile.slices);
    use.sms += profile.sms;
    ++use.of_profile;
    ++count;
  }
  return count;
}

std::uint8_t free_compute_id(const GpuRecord& record, std::size_t slot) {
  std::uint32_t taken = 0;
  for (const ComputeInstanceRecord& compute : record.compute_instances)
    if (compute.serial != 0 && compute.gpu_instance == slot && compute.id < 32)
      taken |= 1U << compute.id;
  return static_cast<std::uint8_t>(std::countr_one(taken));
}

std::uint64_t used_bytes(const GpuRecord& record) {
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < process_count(record); ++i) bytes += record.processes[i].bytes;
  return bytes;
}

std::uint64_t used_bytes(const GpuRecord& record, std::size_t slot) {
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < process_count(record); ++i) {
    const auto compute = find_compute_instance(record, record.processes[i].compute);
    if (compute && record.compute_instances[*compute].gpu_instance == slot)
      bytes += record.processes[i].bytes;
  }
  return bytes;
}

std::uint64_t capacity_bytes(const Board& board, const GpuRecord& record,
                             std::optional<std::size_t> slot) {
  return (slot ? board.profiles[profile_of(board, record, *slot)].memory_mib : board.usable_mib) *
         bytes_per_mib;
}

namespace {

/// What the processes on the compute instance, or on the whole GPU (0), want together.
double busy_on(const GpuRecord& record, std::uint64_t compute) {
  double sum = 0;
  for (std::uint32_t i = 0; i < process_count(record); ++i)
    if (record.processes[i].compute == compute) sum += record.processes[i].busy;
  return std::isfinite(sum) ? std::clamp(sum, 0.0, 1.0) : 0;
}

/// Compute slices that are busy in the GPU instance.
double busy_slices(const GpuRecord& record, std::size_t slot) {
  double slices = 0;
  for (const ComputeInstanceRecord& compute : record.compute_instances)
    if (compute.serial != 0 && compute.gpu_instance == slot)
      slices += compute.slices * busy_on(record, compute.serial);
  return slices;
}

}  // namespace

double busy_share(const Board& board, const GpuRecord& record) {
  double slices = busy_on(record, 0) * board.model->compute.value;
  for (std::size_t slot = 0; slot < instance_slots; ++slot) slices += busy_slices(record, slot);
  return std::clamp(slices / board.model->compute.value, 0.0, 1.0);
}

double busy_share(const Board& board, const GpuRecord& record, std::size_t slot) {
  const int slices = placement_of(board, record, slot).profile->compute.value;
  return std::clamp(busy_slices(record, slot) / slices, 0.0, 1.0);
}

}  // namespace cleave::sim
