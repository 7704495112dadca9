#pragma once
// A simulated node for one test: made by the program, used by the program and by this process as
// another client of NVML, and removed at the end.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/places_test.hpp"
#include "device/nvml_door.hpp"
#include "foreign_instance.hpp"
#include "nvmlsim/sim_node.hpp"
#include "program.hpp"

namespace cleave::testing_program {

inline Json document(const Outcome& outcome) {
  const auto parsed = parse_json(outcome.out, "stdout");
  EXPECT_TRUE(parsed) << outcome.out << outcome.err;
  return parsed ? *parsed : Json::object();
}

class SimNode {
 public:
  explicit SimNode(const std::string& gpus = "2xA100-40GB",
                   const std::string& options = "--instant")
      : directory(scratch.path("node")) {
    const Outcome made =
        shell(fmt::format("cleave sim-node create {} --gpus {} {}", directory, gpus, options));
    EXPECT_EQ(made.exit_code, 0) << made.err;
  }

  /// `cleave` with the node as its GPUs.
  [[nodiscard]] Outcome run(const std::string& arguments) const {
    return shell(command(arguments));
  }
  [[nodiscard]] std::string command(const std::string& arguments) const {
    return fmt::format("{}={} cleave {}", sim_node_variable, directory, arguments);
  }
  [[nodiscard]] Json json(const std::string& arguments, int exit_code = 0) const {
    const Outcome outcome = run(arguments + " --json");
    EXPECT_EQ(outcome.exit_code, exit_code) << arguments << "\n" << outcome.err;
    return document(outcome);
  }

  /// This process as a client that Cleave does not know.
  [[nodiscard]] std::unique_ptr<NvmlDoor> client() const {
    ::setenv(sim_node_variable, directory.c_str(), 1);
    auto door = NvmlDoor::open(binary_dir() + "/lib/cleave-nvmlsim/libnvidia-ml.so.1");
    EXPECT_TRUE(door) << (door ? "" : door.error().text());
    return door ? std::move(*door) : nullptr;
  }
  /// An instance made by another program; its UUID.
  [[nodiscard]] std::string foreign(const std::string& profile, std::uint32_t start,
                                    std::uint32_t gpu = 0) const {
    return make_foreign_instance(*client(), profile, start, gpu);
  }

  Scratch scratch;
  std::string directory;
};

}  // namespace cleave::testing_program
