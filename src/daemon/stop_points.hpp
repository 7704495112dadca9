#pragma once
// Points at which the daemon kills itself with SIGKILL, so that tests can crash it right before and
// after each of its effects: CLEAVE_STOP_AT=POINT:N, the N-th time that it reaches the point. Only
// with simulated GPUs. Points, each with "before-" or "after-" in front:
//
//   write                                    a batch of the store
//   start, stop, signal, checkpoint, forget  requests to the runner
//   create-gpu-instance, create-compute-instance, destroy-compute-instance, destroy-gpu-instance
//                                            requests to the driver

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

/// The points, without "before-" and "after-".
[[nodiscard]] std::vector<std::string> stop_points();
/// What CLEAVE_STOP_AT asks for; empty if it is not set. Fails if it does not name a point.
[[nodiscard]] Result<AtPoint> stop_of_environment();

[[nodiscard]] std::unique_ptr<Store> stopping_store(std::unique_ptr<Store> store, AtPoint at);
[[nodiscard]] std::unique_ptr<Runner> stopping_runner(std::unique_ptr<Runner> runner, AtPoint at);
/// Opens doors to this NVML library.
[[nodiscard]] OpenDoor stopping_doors(std::string library, AtPoint at);

}  // namespace cleave
