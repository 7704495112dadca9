#include "daemon/job_isolation.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace cleave {
namespace {

std::string lacking_fences(const DaemonSettings& settings, bool simulated) {
  const JobIsolation made = isolation_of(settings, simulated);
  EXPECT_FALSE(made.fenced);
  const auto at = std::ranges::find_if(
      made.lacks, [](const std::string& each) { return each.starts_with("device nodes"); });
  return at == made.lacks.end() ? std::string() : *at;
}

// On a machine with real GPUs too: their driver knows nothing of simulated instances, and jobs
// would wait for ever for what it says of them.
TEST(JobIsolation, SimulatedGpusAreNotFencedByTheDriverOfOthers) {
  DaemonSettings settings;
  settings.control_groups = false;
  EXPECT_NE(lacking_fences(settings, true).find("simulated GPUs have none"), std::string::npos);
  EXPECT_EQ(lacking_fences(settings, false).find("simulated"), std::string::npos);
}

TEST(JobIsolation, ADriverThatTheSettingsNameIsTakenForSimulatedGpusToo) {
  DaemonSettings settings;
  settings.control_groups = false;
  settings.driver_root = "/nowhere";
  EXPECT_EQ(lacking_fences(settings, true).find("simulated"), std::string::npos);
}

}  // namespace
}  // namespace cleave
