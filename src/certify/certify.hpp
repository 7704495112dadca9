#pragma once
// A certification: asks a GPU, then a simulated GPU of its model in the same state, and puts both
// into a bundle.

#include "certify/bundle.hpp"
#include "certify/interview.hpp"
#include "model/gpu_model.hpp"

namespace cleave::certify {

/// What is certified.
struct Subjects {
  Source source;
  GpuIndex gpu{};
  std::filesystem::path simulated;    // the simulated library
  const GpuModel* model = nullptr;    // to be compared with; null: that of the driver's name
  bool everybody_may_change = false;  // the GPU is simulated, and does not check for root
};

/// Asks both and changes nothing. Fails with `infeasible` if there is no such GPU, with `bad_input`
/// if no simulated GPU is of its model.
[[nodiscard]] Result<Bundle> certify(const Subjects& subjects);

/// The answers of a simulated GPU of the bundle's model in the state of the GPU: MIG mode,
/// instances, and whether root asks.
[[nodiscard]] Result<Answers> ask_simulated(const Bundle& bundle,
                                            const std::filesystem::path& library,
                                            bool everybody_may_change);

}  // namespace cleave::certify
