#pragma once
// NVML as one program has it open: counted by nvmlInit and nvmlShutdown, for all its threads. The
// node is the one that CLEAVE_SIM_NODE named when the first nvmlInit was called; without the
// variable there are no GPUs.
//
// The child of a fork goes on with NVML open but holds no MIG device handles of its parent's.

#include "nvmlsim/node.hpp"

namespace cleave::sim {

nvml::Return open_session();
nvml::Return close_session();
/// In the child there is one thread, and it is in no call.
void forget_calls_after_fork();

/// One call of NVML: while it lives, the node stays mapped.
class Call {
 public:
  Call();
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// uninitialized, gpu_is_lost where the node was destroyed, or success.
  [[nodiscard]] nvml::Return status() const;
  [[nodiscard]] Node& node() const { return *node_; }
  /// Notes that this program now has the handle of the MIG device in this slot; under the GPU's
  /// state lock.
  void hold(std::uint32_t gpu, std::size_t slot) const;

 private:
  Node* node_;
};

}  // namespace cleave::sim
