// Jobs in containers through the programs that people use: the daemon on simulated GPUs, podman,
// and a root file system of Debian's packages. Where these are missing, they are skipped.

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "../runner/container_image.hpp"
#include "base/format.hpp"
#include "base/places_test.hpp"
#include "daemon_stand.hpp"

namespace cleave::whole {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class DaemonContainers : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = contained::what_is_missing(::geteuid()); !missing.empty())
      GTEST_SKIP() << missing;
  }
  static constexpr const char* no_sanitizer = "the image lacks the sanitizer's libraries";
  /// The options of a job that has these programs of the build besides.
  static std::string with(const std::string& programs) {
    return fmt::format("--image {} --bind {}/bin/{}:/opt/{}:ro", contained::image_folder().string(),
                       binary_dir(), programs, programs);
  }
  static std::string out(const DaemonStand& stand, std::int64_t job) {
    return stand.run(fmt::format("logs {}", job)).out;
  }
};

TEST_F(DaemonContainers, AJobSeesItsInstanceByNvml) {
  if (sanitized) GTEST_SKIP() << no_sanitizer;
  DaemonStand stand;
  const std::int64_t job = stand.submit(
      fmt::format("--profile 2g.10gb {} -- /opt/container_probe nvml", with("container_probe")));
  const Json over = stand.over(job);
  EXPECT_EQ(over["state"], "finished") << over.dump(1) << out(stand, job);
  EXPECT_EQ(over["image"], contained::image_folder().string());
  const std::string seen = out(stand, job);
  EXPECT_TRUE(has(seen, "MIG 2g.10gb MIG-")) << seen;
  EXPECT_TRUE(has(seen, over["history"][0]["instance"]["device"].get<std::string>()))
      << over.dump(1);
  EXPECT_TRUE(has(stand.run(fmt::format("show {}", job)).out, "image"));
}

/// Neither the instance beside it on its GPU, nor the GPU that has none of its instances.
TEST_F(DaemonContainers, AJobSeesNothingElseByNvml) {
  if (sanitized) GTEST_SKIP() << no_sanitizer;
  DaemonStand stand;
  const std::string other = stand.foreign("1g.5gb", 6);
  const std::string on_other_gpu = stand.foreign("7g.40gb", 0, 1);
  const auto listed = [&](const std::string& image) {
    const std::int64_t job =
        stand.submit(fmt::format("--profile 2g.10gb {} list {}", image, other));
    const Json over = stand.over(job);
    EXPECT_EQ(over["state"].get<std::string>(), "finished") << over.dump(1) << out(stand, job);
    return std::pair(out(stand, job), over["history"][0]["instance"]["device"].get<std::string>());
  };
  const auto lines = [](const std::string& text) { return std::ranges::count(text, '\n'); };
  const auto [inside, own] = listed(with("container_probe") + " -- /opt/container_probe");
  EXPECT_TRUE(has(inside, "mig " + own)) << inside;
  EXPECT_EQ(lines(inside), 2) << "its GPU, its instance: " << inside;
  const auto [outside, own_outside] = listed(fmt::format(
      "--env LD_LIBRARY_PATH={0}/lib/cleave-nvmlsim -- {0}/bin/container_probe", binary_dir()));
  EXPECT_TRUE(has(outside, "mig " + other) && has(outside, "mig " + on_other_gpu) &&
              has(outside, "named " + other))
      << "without a container, what the simulated driver has: " << outside;
}

/// It registers with the simulated driver, holds memory there and reports, as it does without.
TEST_F(DaemonContainers, AJobHoldsItsMemoryAndReports) {
  if (sanitized) GTEST_SKIP() << no_sanitizer;
  DaemonStand stand;
  const std::int64_t job = stand.submit(
      fmt::format("{} -- /opt/cleave-job --memory 3GiB --phases cpu=0.5 --iterations 5 --quiet",
                  with("cleave-job")));
  const Json over = stand.over(job);
  EXPECT_EQ(over["state"], "finished") << over.dump(1) << out(stand, job);
  EXPECT_GE(over["memory_mib"].get<int>(), 3072) << "as it reported";
  const std::int64_t starves = stand.submit(
      fmt::format("--profile 1g.5gb {} -- /opt/cleave-job --memory 9GiB --phases cpu=1 --quiet",
                  with("cleave-job")));
  EXPECT_TRUE(has(stand.over(starves)["reason"], "out of memory"));
}

TEST_F(DaemonContainers, OneThatCannotBeSetUpSaysSo) {
  DaemonStand stand;
  const std::int64_t job = stand.submit("--image localhost/no-such-image:1 -- true");
  const Json over = stand.over(job);
  EXPECT_EQ(over["state"], "failed");
  EXPECT_TRUE(has(over["reason"], "the container was not set up: podman: localhost/no-such-image"))
      << over["reason"];
}

TEST_F(DaemonContainers, ACancelReachesIt) {
  DaemonStand stand;
  const std::int64_t job = stand.submit(fmt::format(
      "{} -- sh -c 'trap \"echo got; exit 0\" TERM; echo ready; while :; do sleep 0.05; done'",
      with("cleave-job")));
  ASSERT_TRUE(stand.wait_until([&] { return has(out(stand, job), "ready"); }));
  EXPECT_EQ(stand.run(fmt::format("cancel {}", job)).exit_code, 0);
  EXPECT_EQ(stand.over(job)["state"], "cancelled");
  EXPECT_TRUE(has(out(stand, job), "got"));
}

TEST(DaemonContainersNone, AreRefusedWithTheReason) {
  StandOptions options;
  options.config = "container_runtime = \"none\"\n";
  DaemonStand stand(options);
  const auto refused = stand.run("submit --image / -- true");
  EXPECT_EQ(refused.exit_code, 1) << refused.err;
  EXPECT_TRUE(has(refused.err, "this daemon runs no containers: container_runtime is none"))
      << refused.err;
  const auto nowhere = stand.run("submit --image ./nowhere -- true");
  EXPECT_EQ(nowhere.exit_code, 2) << nowhere.err;
  EXPECT_TRUE(has(nowhere.err, "nowhere' is neither a folder nor a .sif file")) << nowhere.err;
  const auto bind = stand.run("submit --image / --bind /nowhere-at-all -- true");
  EXPECT_EQ(bind.exit_code, 2) << bind.err;
  const auto alone = stand.run("submit --bind / -- true");
  EXPECT_EQ(alone.exit_code, 2) << alone.err;
  EXPECT_TRUE(has(stand.get("/v1/status")["notices"].dump(), "jobs cannot run in containers"));
}

}  // namespace
}  // namespace cleave::whole
