// Memory of the host with the programs themselves: a job that uses up its own dies alone, and is
// told what helps; the others go on.

#include "base/format.hpp"
#include "daemon_stand.hpp"
#include "runner/control_groups.hpp"

namespace cleave::whole {
namespace {

StandOptions limited(const std::string& config) {
  StandOptions options;
  options.config = config;
  return options;
}

TEST(LimitedHost, KillsAJobThatUsesUpItsMemoryAndNoOther) {
  if (make_group_places().memory.empty()) GTEST_SKIP() << "memory cannot be limited here";
  DaemonStand stand(limited("host_cpus = 2\nhost_memory_mib = 512\n"));
  const std::int64_t lives = stand.submit("--host-memory 256 --cpus 1 -- sh -c 'sleep 2; exit 3'"),
                     hungry = stand.submit(
                         "--host-memory 64MiB --cpus 1 -- "
                         "sh -c 'sleep 60 & exec python3 -c \"x = bytearray(400 << 20)\"'");
  const Json died = stand.over(hungry), lived = stand.over(lives);
  EXPECT_EQ(died["state"], "failed");
  EXPECT_EQ(died["reason"],
            "it used up its 64 MiB of the host's memory; it may have more if it is submitted with "
            "a larger --host-memory");
  EXPECT_EQ(lived["exit_code"], 3) << lived.dump();
}

TEST(LimitedHost, MakesAJobWaitForItsPart) {
  DaemonStand stand(limited("host_cpus = 2\nhost_memory_mib = 512\n"));
  const std::int64_t first = stand.submit("--cpus 1.5 -- sleep 2"),
                     second = stand.submit("--cpus 1 -- true");
  EXPECT_TRUE(stand.wait_until([&] {
    return stand.reason_of(second).contains("running jobs leave 0.5 of 2 CPUs");
  })) << stand.reason_of(second);
  EXPECT_EQ(stand.over(first)["state"], "finished");
  EXPECT_EQ(stand.over(second)["state"], "finished");
  EXPECT_EQ(stand.job(first)["cpus"], 1.5);
  EXPECT_NE(stand.run(fmt::format("show {}", first)).out.find("1.5 CPUs"), std::string::npos);
  const auto refused = stand.run("submit --cpus 3 -- true");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_TRUE(refused.err.contains("jobs may have 2 CPUs of this host together")) << refused.err;
}

}  // namespace
}  // namespace cleave::whole
