// The daemon has no descriptor left for a while: what ended meanwhile is not lost for that.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runner/shortage.hpp"
#include "stand.hpp"

namespace cleave::supervised {
namespace {

/// Nothing can be opened as long as it lives.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int next = ::dup(0);
    ::close(next);
    rlimit none = before_;
    none.rlim_cur = static_cast<rlim_t>(next);
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    EXPECT_LT(::dup(0), 0);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

class WithoutDescriptors : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the undefined-behaviour sanitizer looks at objects through descriptors";
#endif
  }
};

TEST_F(WithoutDescriptors, AJobThatEndsIsReadLater) {
  Stand stand;
  const JobKey key = stand.start_script("sleep 0.2; exit 7");
  ASSERT_TRUE(stand.wait_until([&] { return stand.pid(key) > 0; }));
  {
    const NoDescriptors none;
    // Its supervisor ends, the connection with it, and the outcome cannot be read.
    for (int i = 0; i < 600; ++i, ::usleep(1000)) stand.hear();
    EXPECT_EQ(stand.ends(key), 0);
    EXPECT_FALSE(stand.lost(key));
  }
  const ProcessOutcome* outcome = stand.wait_for_end(key);
  ASSERT_NE(outcome, nullptr);
  EXPECT_EQ(outcome->code, 7);
}

TEST_F(WithoutDescriptors, NothingIsStartedAndTheHostIsShortOfThem) {
  Stand stand;
  const Launch launch = stand.launch("exit 0");
  {
    const NoDescriptors none;
    const auto refused = stand.runner().start(launch);
    ASSERT_FALSE(refused);
    EXPECT_NE(shortage_of(refused.error().code), nullptr);
  }
  const ProcessOutcome* outcome = stand.wait_for_end(stand.start(launch));
  ASSERT_NE(outcome, nullptr);
  EXPECT_EQ(outcome->code, 0);
}

/// A list that cannot be read is not an empty one: all that run would count as never begun.
TEST_F(WithoutDescriptors, ARunnerThatBeginsFindsNothingAndSaysSo) {
  Stand stand;
  const JobKey key = stand.start_script("sleep 30");
  ASSERT_TRUE(stand.wait_until([&] { return stand.pid(key) > 0; }));
  {
    const NoDescriptors none;
    EXPECT_FALSE(stand.runner().found());
  }
  EXPECT_EQ(stand.begin_again().size(), 1U);
  ASSERT_TRUE(stand.runner().stop(key));
  EXPECT_NE(stand.wait_for_end(key), nullptr);
}

TEST_F(WithoutDescriptors, ASupervisorThatIsKilledLeavesNothingAllTheSame) {
  Stand stand;
  const JobKey key = stand.start_script("sleep 30");
  ASSERT_TRUE(stand.wait_until([&] { return stand.pid(key) > 0; }));
  const pid_t supervisor = stand.supervisor(key);
  {
    const NoDescriptors none;
    ::kill(supervisor, SIGKILL);
    for (int i = 0; i < 300; ++i, ::usleep(1000)) stand.hear();
    EXPECT_FALSE(stand.lost(key)) << "whether processes are left cannot be seen";
  }
  EXPECT_TRUE(stand.wait_until([&] { return stand.lost(key); }));
  EXPECT_TRUE(stand.processes(key).empty());
}

}  // namespace
}  // namespace cleave::supervised
