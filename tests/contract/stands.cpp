#include "stands.hpp"
#include "base/places_test.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <sstream>

#include "base/format.hpp"
#include "device/faulty_door_test.hpp"
#include "device/nvml_door.hpp"
#include "device/recording.hpp"

namespace cleave::contract {

namespace fs = std::filesystem;

SimNode::SimNode(const SimNodeSpec& spec) {
  static std::atomic<int> made = 0;
  directory_ = fs::temp_directory_path() / fmt::format("cleave-contract-{}-{}", getpid(), ++made);
  const auto created = create_sim_node(directory_, spec);
  EXPECT_TRUE(created) << created.error().text();
  setenv(sim_node_variable, directory_.c_str(), 1);
}

SimNode::~SimNode() {
  const auto gone = destroy_sim_node(directory_);
  EXPECT_TRUE(gone) << gone.error().text();
  unsetenv(sim_node_variable);
}

std::string simulated_library() {
  return fmt::format("{}/lib/cleave-nvmlsim/{}", binary_dir(), nvml::library_name);
}

std::string name_of(const StandCase& stand) {
  constexpr const char* kinds[] = {"simulated", "faultless", "replayed", "real"};
  std::string name = kinds[static_cast<int>(stand.kind)];
  for (const char c : stand.model != nullptr ? stand.model->key : std::string_view("Gpu"))
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
  return name;
}

std::vector<StandCase> all_stands() {
  std::vector<StandCase> all;
  for (const GpuModel& model : gpu_models()) all.push_back({DoorKind::simulated, &model});
  for (const char* key : {"A30-24GB", "A100-40GB", "H100-80GB-SXM5", "RTX-PRO-6000-BW-96GB"}) {
    all.push_back({DoorKind::faultless, *find_gpu_model(key)});
    all.push_back({DoorKind::replayed, *find_gpu_model(key)});
  }
  all.push_back({DoorKind::real, nullptr});
  return all;
}

namespace {

void run_simulated(const StandCase& stand, const Check& check) {
  SimNodeSpec spec;
  spec.gpus = {stand.model};
  spec.instant = true;
  const SimNode node(spec);
  const auto door = NvmlDoor::open(simulated_library());
  ASSERT_TRUE(door) << door.error().text();
  if (stand.kind == DoorKind::simulated) {
    Stand ready{**door, GpuIndex{0}, stand.model, true, node.directory()};
    return check(ready);
  }
  if (stand.kind == DoorKind::faultless) {
    FaultyDoor wrapper(**door, {});
    Stand ready{wrapper, GpuIndex{0}, stand.model, true, node.directory()};
    return check(ready);
  }
  std::ostringstream text;
  {
    RecordingDoor recorder(**door, text);
    Stand ready{recorder, GpuIndex{0}, stand.model, true, node.directory()};
    check(ready);
  }
  if (testing::Test::HasFatalFailure()) return;
  const auto replay = ReplayDoor::parse(text.str(), "recording");
  ASSERT_TRUE(replay) << replay.error().text();
  Stand ready{**replay, GpuIndex{0}, stand.model, true, std::nullopt};
  check(ready);
  EXPECT_FALSE((*replay)->divergence()) << (*replay)->divergence()->text();
  EXPECT_TRUE((*replay)->at_end());
}

std::optional<std::string> run_real(const Check& check) {
  unsetenv(sim_node_variable);
  const auto door = NvmlDoor::open();
  if (!door) return fmt::format("no NVML on this machine: {}", door.error().text());
  if (fs::weakly_canonical((*door)->driver().library) == fs::weakly_canonical(simulated_library()))
    return "the loader's NVML is the simulated one";
  const auto count = (*door)->gpu_count();
  if (count.value_or(0) == 0) return "NVML shows no GPU on this machine";
  for (std::uint32_t i = 0; i < *count; ++i) {
    Stand ready{**door, GpuIndex{i}, nullptr, false, std::nullopt};
    check(ready);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> run_on(const StandCase& stand, const Check& check) {
  if (stand.kind == DoorKind::real) return run_real(check);
  run_simulated(stand, check);
  return std::nullopt;
}

}  // namespace cleave::contract
