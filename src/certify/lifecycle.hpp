#pragma once
// What only instances can tell: with consent, makes instances of its own, measures them, and
// destroys them. It never changes MIG mode, touches no instance that it did not make, and leaves a
// GPU alone on which anything runs. Every change goes through the ledger and the lock of the GPU.

#include "certify/interview.hpp"

namespace cleave::certify {

/// The answer that lists the instances that the driver would not destroy.
inline constexpr const char* what_is_left = "what is left";

/// What it may use.
struct Consent {
  std::filesystem::path state;    // with the ledger and the locks
  std::vector<std::string> busy;  // the command that keeps an instance busy; empty: none
  int rounds = 3;                 // that each profile is made
  std::function<bool()> enough;   // whether to stop, asked between two changes
  /// A line for each change before it is made, and for each answer.
  std::function<void(const std::string&)> log = {};
};

/// Runs in a process of its own. The answers are of Topic::lifecycle; where instances may not be
/// made they say why. Instances that the driver would not destroy are in the answer "what is left".
[[nodiscard]] Result<Found> make_and_destroy(const Source& source, GpuIndex gpu,
                                             const Consent& consent);

}  // namespace cleave::certify
