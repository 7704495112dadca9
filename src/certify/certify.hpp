#pragma once
// A certification: asks a GPU, then a simulated GPU of its model in the same state, and puts both
// into a bundle.

#include "certify/bundle.hpp"
#include "certify/interview.hpp"
#include "certify/lifecycle.hpp"
#include "model/gpu_model.hpp"

namespace cleave::certify {

/// What is certified.
struct Subjects {
  Source source;
  GpuIndex gpu{};
  std::filesystem::path simulated;  // the simulated library
  const GpuModel* model = nullptr;  // to be compared with; null: that of the driver's name
  /// To make instances; empty: nothing is changed.
  std::optional<Consent> consent;
  std::function<void(const std::string&)> log;  // lines of the log of what the GPU is asked
  std::function<bool()> enough;                 // whether to stop
  std::vector<std::string> simulated_busy;      // keeps an instance of the simulated GPU busy
};

/// Asks both. Fails with `infeasible` if there is no such GPU, with `bad_input`
/// if no simulated GPU is of its model.
[[nodiscard]] Result<Bundle> certify(const Subjects& subjects);

/// The answers of a simulated GPU of the bundle's model in the state of the GPU: MIG mode,
/// instances, and whether root asked, by any user now. Instances are made on it if some were made
/// on the GPU.
[[nodiscard]] Result<Answers> ask_simulated(const Bundle& bundle,
                                            const std::filesystem::path& library,
                                            const std::vector<std::string>& busy,
                                            const std::function<bool()>& enough);

}  // namespace cleave::certify
