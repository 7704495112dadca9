#pragma once
// A program's use of NVML: nvmlInit and nvmlShutdown are counted for all its threads. The node is
// the one that CLEAVE_SIM_NODE named at the first nvmlInit; without the variable there are no GPUs.
//
// In the child of a fork NVML stays open, but the child holds none of its parent's MIG device
// handles.

#include "nvmlsim/node.hpp"

namespace cleave::sim {

nvml::Return open_session();
nvml::Return close_session();
/// Called in the child of a fork, whose only thread is not in a call.
void forget_calls_after_fork();

/// One call of NVML: the node stays mapped until it ends.
class Call {
 public:
  Call();
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// success, uninitialized, or gpu_is_lost if the node was destroyed.
  [[nodiscard]] nvml::Return status() const;
  [[nodiscard]] Node& node() const { return *node_; }
  /// Records that this program has the handle of the MIG device in this slot; needs the GPU's state
  /// lock.
  void hold(std::uint32_t gpu, std::size_t slot) const;

 private:
  Node* node_;
};

}  // namespace cleave::sim
