#pragma once
// What a GPU allows and refuses, decided on one record: which placements are free, how many more
// instances fit, what an instance's processes hold and draw. Nothing here changes shared state.
//
// Given a damaged record, every function may return anything but stays within bounds.

#include <optional>
#include <string>

#include "model/nvml_abi.hpp"
#include "nvmlsim/board.hpp"
#include "nvmlsim/state.hpp"

namespace cleave::sim {

/// Whether all numbers in the record are in range; `flaw_of` says whether they obey the rules.
bool sound(const Board& board, const GpuRecord& record);
/// The rule that the record breaks, as a sentence without a full stop; empty if it breaks none.
std::string flaw_of(const Board& board, const GpuRecord& record);

/// The GPU instances' placements.
PlacementSet placed(const Board& board, const GpuRecord& record);
/// The placement of the GPU instance in this slot.
const Placement& placement_of(const Board& board, const GpuRecord& record, std::size_t slot);
/// The index of its profile in the model.
std::size_t profile_of(const Board& board, const GpuRecord& record, std::size_t slot);

/// The slot of the instance with this serial.
std::optional<std::size_t> find_gpu_instance(const GpuRecord& record, std::uint64_t serial);
std::optional<std::size_t> find_compute_instance(const GpuRecord& record, std::uint64_t serial);
bool has_gpu_instances(const GpuRecord& record);
bool has_compute_instances(const GpuRecord& record, std::size_t gpu_instance);

/// Chooses the placement of a new GPU instance: the wanted one, or the first free one in the
/// driver's order. Returns invalid_argument if it can never be there, insufficient_resources if not
/// now.
nvml::Return choose_placement(const Board& board, const GpuRecord& record, std::size_t profile,
                              const nvml::GpuInstancePlacement* wanted, PlacementId& chosen);
/// How many more GPU instances of the profile fit.
std::uint32_t room_for(const Board& board, const GpuRecord& record, std::size_t profile);

/// The profile with this number in the GPU instance of this slot.
const ComputeProfile* compute_profile(const Board& board, const GpuRecord& record, std::size_t slot,
                                      std::uint32_t number);
nvml::Return choose_compute_start(const Board& board, const GpuRecord& record, std::size_t slot,
                                  const ComputeProfile& profile,
                                  const nvml::ComputeInstancePlacement* wanted,
                                  std::uint32_t& start);
std::uint32_t compute_room_for(const Board& board, const GpuRecord& record, std::size_t slot,
                               const ComputeProfile& profile);
/// The lowest number that is free among the compute instances of the GPU instance.
std::uint8_t free_compute_id(const GpuRecord& record, std::size_t slot);

/// Bytes that processes hold: on the whole GPU, or in the GPU instance of this slot.
std::uint64_t used_bytes(const GpuRecord& record);
std::uint64_t used_bytes(const GpuRecord& record, std::size_t slot);
/// Bytes that all programs in the GPU instance, or on the whole GPU, can use together.
std::uint64_t capacity_bytes(const Board& board, const GpuRecord& record,
                             std::optional<std::size_t> slot);

/// The share of its processors that its processes keep busy, from 0 to 1: of a whole GPU, or of the
/// GPU instance in this slot.
double busy_share(const Board& board, const GpuRecord& record);
double busy_share(const Board& board, const GpuRecord& record, std::size_t slot);

}  // namespace cleave::sim
