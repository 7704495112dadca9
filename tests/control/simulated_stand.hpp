#pragma once
// A simulated node with a state folder, and what the tests of executors ask of both.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/format.hpp"
#include "base/places_test.hpp"
#include "base/temporary_folder_test.hpp"
#include "base/text.hpp"
#include "control/gpu_executor.hpp"
#include "device/nvml_door.hpp"
#include "nvmlsim/sim_node.hpp"

namespace cleave::trial {

inline std::string simulated_library() {
  return fmt::format("{}/lib/cleave-nvmlsim/{}", binary_dir(), nvml::library_name);
}

/// Named to the library by the environment while this lives; doors are opened after it and closed
/// before.
class SimulatedStand {
 public:
  explicit SimulatedStand(std::string_view gpus, bool instant = true, bool mig = true) {
    SimNodeSpec spec;
    spec.gpus = parse_sim_gpus(gpus).value();
    spec.instant = instant;
    spec.mig_enabled = mig;
    const auto made = create_sim_node(node(), spec);
    EXPECT_TRUE(made) << (made ? "" : made.error().text());
    ::setenv(sim_node_variable, node().c_str(), 1);
  }
  ~SimulatedStand() {
    (void)destroy_sim_node(node());
    ::unsetenv(sim_node_variable);
  }
  SimulatedStand(const SimulatedStand&) = delete;
  SimulatedStand& operator=(const SimulatedStand&) = delete;

  [[nodiscard]] std::filesystem::path node() const { return folder_.path() / "node"; }
  [[nodiscard]] std::filesystem::path state() const { return folder_.path() / "state"; }
  [[nodiscard]] std::unique_ptr<NvmlDoor> door() const {
    auto opened = NvmlDoor::open(simulated_library());
    EXPECT_TRUE(opened) << (opened ? "" : opened.error().text());
    return opened ? std::move(*opened) : nullptr;
  }
  void fault(int gpu, std::string_view kind, std::optional<std::uint32_t> times = {}) const {
    EXPECT_TRUE(set_sim_fault(node(), gpu, kind, times)) << kind;
  }
  [[nodiscard]] SimGpuView look(std::size_t gpu = 0) const {
    return look_at_sim_node(node()).value().gpus.at(gpu);
  }
  [[nodiscard]] std::string flaw() const { return sim_node_flaw(node()).value_or("unreadable"); }
  /// As if the program had been stopped before it wrote the last line.
  void forget_last_line() const {
    std::ifstream file(state() / "ledger.jsonl");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto end = text.rfind('\n', text.size() - 2);
    std::filesystem::resize_file(state() / "ledger.jsonl", end == std::string::npos ? 0 : end + 1);
  }

 private:
  TemporaryFolder folder_;
};

/// "3g.20gb" at its start in this GPU's geometry.
inline PlacementId placement(const GpuIdentity& gpu, std::string_view profile, int start) {
  return gpu.geometry->geometry().find(profile, start).value();
}

}  // namespace cleave::trial
