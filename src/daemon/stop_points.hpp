#pragma once
// Where the daemon ends itself with SIGKILL on purpose, so that tests can have it die right before
// and after everything that it does: CLEAVE_STOP_AT=POINT:N, the N-th time that it comes there.
// Heard with simulated GPUs only. Points, each with "before-" and "after-" in front:
//
//   write                                    a batch of the store
//   start, stop, signal, forget              what the runner is asked for
//   create-gpu-instance, create-compute-instance, destroy-compute-instance, destroy-gpu-instance
//                                            what the driver is asked for

#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "control/store.hpp"
#include "daemon/threaded_executor.hpp"
#include "runner/runner.hpp"

namespace cleave {

inline constexpr const char* stop_variable = "CLEAVE_STOP_AT";

/// Called with the name of each point, by any thread.
using AtPoint = std::function<void(std::string_view)>;

/// Without the "before-" and "after-".
[[nodiscard]] std::vector<std::string> stop_points();
/// What the environment asks for; empty where it asks for nothing. Fails where it names no point.
[[nodiscard]] Result<AtPoint> stop_of_environment();

[[nodiscard]] std::unique_ptr<Store> stopping_store(std::unique_ptr<Store> store, AtPoint at);
[[nodiscard]] std::unique_ptr<Runner> stopping_runner(std::unique_ptr<Runner> runner, AtPoint at);
/// Doors of this NVML library.
[[nodiscard]] OpenDoor stopping_doors(std::string library, AtPoint at);

}  // namespace cleave
