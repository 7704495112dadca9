#pragma once
// The questions, by topic. All of them change nothing: they call functions that read, and the only
// objects that they make (event sets, samples of GPM) are in their own process.
//
// What a GPU with MIG off cannot be asked is left with its reason.

#include "certify/asking.hpp"

namespace cleave::certify {

/// The library and the GPU that are asked; the library is open.
struct Subject {
  const nvml::EveryFunction* nvml;
  nvml::Device device;
  bool mig;  // whether it is on
};

void ask_driver(Asking& asking, const Subject& subject);
void ask_identity(Asking& asking, const Subject& subject);
void ask_bus(Asking& asking, const Subject& subject);
void ask_memory(Asking& asking, const Subject& subject);
void ask_power(Asking& asking, const Subject& subject);
void ask_clocks(Asking& asking, const Subject& subject);
void ask_health(Asking& asking, const Subject& subject);
void ask_monitoring(Asking& asking, const Subject& subject);
void ask_counting(Asking& asking, const Subject& subject);

/// Profiles in every form, placements and room of each.
void ask_geometry(Asking& asking, const Subject& subject);
/// The instances that exist, and what is in them.
void ask_instances(Asking& asking, const Subject& subject);

/// Which functions the library has.
void ask_functions(Asking& asking, void* library);
/// Calls to functions that read, before nvmlInit.
void ask_closed(Asking& asking, void* library);
/// The same with arguments of which one is missing; then those that the simulated library has by
/// name only, with all arguments.
void ask_errors(Asking& asking, void* library, const Subject& subject);

}  // namespace cleave::certify
