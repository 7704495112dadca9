// A program that outgrows its forecast under a daemon on simulated GPUs: nothing in it reports
// anything.

#include <gtest/gtest.h>

#include "../daemon/daemon_stand.hpp"
#include "base/format.hpp"
#include "base/places_test.hpp"

namespace cleave::whole {
namespace {

/// Followed on the stub, with so much memory there.
std::string followed(int memory_mib, const std::string& arguments) {
  const std::string stub = binary_dir() + "/lib/cleave-cuda-stub";
  return fmt::format(
      "--env LD_LIBRARY_PATH={0} --env STUB_MEMORY_MIB={1} -- cleave forecast run --live "
      "--forecast 1GiB --expected 3 -- {0}/grows {2}",
      stub, memory_mib, arguments);
}

TEST(CudaProgramsUnderADaemon, OneThatOutgrowsItsForecastIsMovedBeforeItRunsOut) {
  DaemonStand stand;
  // 1 GiB was forecast; it grows to 9 GiB in 2.4 s.
  const std::int64_t job =
      stand.submit("--memory 1GiB --restartable " + followed(20000, "120 75 20"));
  const Json over = stand.over(job);
  EXPECT_EQ(over["state"], "finished") << over.dump(1);
  EXPECT_GE(over["early_restarts"], 1) << over.dump(1);
  ASSERT_GE(over["history"].size(), 2U);
  EXPECT_EQ(over["history"][0]["end"], "early-restart");
  EXPECT_LT(over["history"][0]["peak_mib"].get<int>(), 4864) << "of its 1g.5gb";
  EXPECT_EQ(over["history"].back()["peak_mib"], 9000 + 300) << "and the stub's context";
  const std::string said = stand.run(fmt::format("logs --stderr {}", job)).out;
  EXPECT_NE(said.find("more than the 1024 MiB of its forecast"), std::string::npos) << said;
}

TEST(CudaProgramsUnderADaemon, OneThatRunsOutInItsOwnWordsIsUnderstood) {
  DaemonStand stand;
  // It asks for more than there is at once, before anything can be forecast.
  const std::int64_t job =
      stand.submit("--memory 1GiB --restartable " + followed(4864, "2 4500 0"));
  const Json over = stand.over(job);
  ASSERT_GE(over["history"].size(), 2U) << over.dump(1);
  EXPECT_EQ(over["history"][0]["end"], "out-of-memory") << over.dump(1);
}

}  // namespace
}  // namespace cleave::whole
