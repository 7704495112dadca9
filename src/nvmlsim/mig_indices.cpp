#include "nvmlsim/mig_indices.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

namespace cleave::sim {

void MigIndices::follow(const Board& board, const GpuRecord& record, InstanceNumbering numbering) {
  for (std::uint64_t& serial : serials_)
    if (!find_compute_instance(record, serial)) serial = 0;
  using Numbered = std::tuple<std::uint32_t, std::uint8_t, std::uint64_t>;
  std::vector<Numbered> fresh;
  for (const ComputeInstanceRecord& compute : record.compute_instances) {
    if (compute.serial == 0 || index_of(compute.serial)) continue;
    const auto placement = record.gpu_instances[compute.gpu_instance % instance_slots].placement;
    if (placement >= board.geometry.size()) continue;
    fresh.emplace_back(gpu_instance_id(board, placement, numbering), compute.id, compute.serial);
  }
  std::ranges::sort(fresh);
  for (const Numbered& each : fresh)
    if (auto* const free = std::ranges::find(serials_, 0U); free != serials_.end())
      *free = std::get<std::uint64_t>(each);
}

std::optional<std::size_t> MigIndices::slot_of(const GpuRecord& record, std::size_t index) const {
  return index < serials_.size() ? find_compute_instance(record, serials_[index]) : std::nullopt;
}

std::optional<std::size_t> MigIndices::index_of(std::uint64_t serial) const {
  const auto* const found = std::ranges::find(serials_, serial);
  if (serial == 0 || found == serials_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - serials_.begin());
}

}  // namespace cleave::sim
