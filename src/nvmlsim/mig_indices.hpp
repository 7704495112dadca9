#pragma once
// The indices of a GPU's MIG devices as one program sees them. To a program that asks for the first
// time they are 0, 1, 2 and so on, by the numbers of the GPU and compute instance (a capture in
// NVIDIA/libcudacxx issue 224). While the program runs, a MIG device keeps its index: one that is
// destroyed leaves a hole, and a new one gets the lowest that is free.

#include <optional>

#include "nvmlsim/gpu_rules.hpp"

namespace cleave::sim {

/// What a program has seen of the MIG devices of one GPU. Guarded by the GPU's state lock.
class MigIndices {
 public:
  /// Takes out what has been destroyed and adds what is new.
  void follow(const Board& board, const GpuRecord& record, InstanceNumbering numbering);

  /// The slot of the compute instance that has the index.
  [[nodiscard]] std::optional<std::size_t> slot_of(const GpuRecord& record,
                                                   std::size_t index) const;
  [[nodiscard]] std::optional<std::size_t> index_of(std::uint64_t serial) const;

 private:
  std::array<std::uint64_t, instance_slots> serials_{};  // by index; 0: a hole
};

}  // namespace cleave::sim
