#pragma once
// What a GPU allows and what it refuses, decided on one record: which placements are free, how many
// more instances there is room for, what an instance's processes hold and draw. Nothing here
// changes shared state.
//
// Every function may be given a damaged record and then answers anything, but stays within bounds.

#include <optional>
#include <string>

#include "model/nvml_abi.hpp"
#include "nvmlsim/board.hpp"
#include "nvmlsim/state.hpp"

namespace cleave::sim {

/// Whether numbers in the record are in range; whether they keep the laws is asked of `flaw_of`.
bool sound(const Board& board, const GpuRecord& record);
/// The law that the record breaks, as a sentence without a full stop; empty: none.
std::string flaw_of(const Board& board, const GpuRecord& record);

/// The GPU instances' placements.
PlacementSet placed(const Board& board, const GpuRecord& record);
/// Of the GPU instance in this slot.
const Placement& placement_of(const Board& board, const GpuRecord& record, std::size_t slot);
/// Index of the model's profile.
std::size_t profile_of(const Board& board, const GpuRecord& record, std::size_t slot);

/// Slot of the instance of this serial.
std::optional<std::size_t> find_gpu_instance(const GpuRecord& record, std::uint64_t serial);
std::optional<std::size_t> find_compute_instance(const GpuRecord& record, std::uint64_t serial);
bool has_gpu_instances(const GpuRecord& record);
bool has_compute_instances(const GpuRecord& record, std::size_t gpu_instance);

/// Where a new GPU instance goes: at the wanted place, or the first that is free in the driver's
/// order. invalid_argument: never there; insufficient_resources: not now.
nvml::Return choose_placement(const Board& board, const GpuRecord& record, std::size_t profile,
                              const nvml::GpuInstancePlacement* wanted, PlacementId& chosen);
/// How many more GPU instances of the profile there is room for.
std::uint32_t room_for(const Board& board, const GpuRecord& record, std::size_t profile);

/// The profile under this number in the GPU instance of this slot.
const ComputeProfile* compute_profile(const Board& board, const GpuRecord& record, std::size_t slot,
                                      std::uint32_t number);
nvml::Return choose_compute_start(const Board& board, const GpuRecord& record, std::size_t slot,
                                  const ComputeProfile& profile,
                                  const nvml::ComputeInstancePlacement* wanted,
                                  std::uint32_t& start);
std::uint32_t compute_room_for(const Board& board, const GpuRecord& record, std::size_t slot,
                               const ComputeProfile& profile);
/// Lowest number that no compute instance of the GPU instance has.
std::uint8_t free_compute_id(const GpuRecord& record, std::size_t slot);

/// Bytes that processes hold: on the whole GPU, or in the GPU instance of this slot.
std::uint64_t used_bytes(const GpuRecord& record);
std::uint64_t used_bytes(const GpuRecord& record, std::size_t slot);
/// Bytes that programs in the GPU instance, or on the whole GPU, can use in all.
std::uint64_t capacity_bytes(const Board& board, const GpuRecord& record,
                             std::optional<std::size_t> slot);

/// Share of the time in which a whole GPU's processes keep it busy.
double busy_share(const GpuRecord& record);

}  // namespace cleave::sim
