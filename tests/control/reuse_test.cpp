// Instances between users: what one had is not given to another as it is.

#include <gtest/gtest.h>

#include "loop_stand.hpp"

namespace cleave::trial {
namespace {

using namespace std::chrono_literals;

/// One GPU, which each job has whole: it is the same instance or another one in its place.
class Users : public Loop {
 protected:
  static NewJob by(std::uint32_t uid) {
    NewJob job = sized("7g.40gb");
    job.owner.uid = uid;
    return job;
  }
  /// Runs to its end; the device that it had.
  std::string had(const NewJob& job) {
    const JobNumber number = submit(job, 5s);
    run(20s);
    EXPECT_EQ(record(number).state, JobState::finished) << record(number).reason;
    return attempts(number).back().device;
  }
};

TEST_F(Users, AnIdleInstanceIsMadeAnewForAnotherUser) {
  const std::string first = had(by(1000));
  EXPECT_EQ(had(by(1000)), first) << "the same user has it as it is";
  const std::string second = had(by(1001));
  EXPECT_NE(second, first);
  EXPECT_FALSE(machine.exists(first)) << "it was destroyed";
  EXPECT_EQ(had(by(1001)), second);
}

TEST_F(Users, AnOperatorMayHaveItGivenOnAsItIs) {
  settings.reuse_across_users = true;
  begin();
  const std::string first = had(by(1000));
  EXPECT_EQ(had(by(1001)), first);
}

TEST_F(Users, WhoHadItIsKnownAfterARestart) {
  const std::string first = had(by(1000));
  begin();
  run(6s);
  EXPECT_EQ(had(by(1000)), first);
  begin();
  run(6s);
  EXPECT_NE(had(by(1001)), first);
}

TEST_F(Users, WhatCannotBeMadeAnewIsNotGivenOn) {
  const std::string first = had(by(1000));
  const auto before = machine.door(0).refuse;
  machine.door(0).refuse = [before](std::string_view call) -> std::optional<nvml::Return> {
    if (call.starts_with("destroy_")) return nvml::Return::unknown;
    return before(call);
  };
  const JobNumber job = submit(by(1001), 5s);
  run(60s);
  EXPECT_EQ(record(job).state, JobState::queued);
  EXPECT_TRUE(attempts(job).empty());
  EXPECT_TRUE(machine.exists(first));
}

TEST_F(Users, WhereOnlyMakingItFailsTheJobWaits) {
  static_cast<void>(had(by(1000)));
  int refusals = 2;
  const auto before = machine.door(0).refuse;
  machine.door(0).refuse = [&](std::string_view call) -> std::optional<nvml::Return> {
    if (call == "create_gpu_instance" && refusals > 0) {
      --refusals;
      return nvml::Return::unknown;
    }
    return before(call);
  };
  const JobNumber job = submit(by(1001), 5s);
  run(10min);
  EXPECT_EQ(record(job).state, JobState::finished) << record(job).reason;
  EXPECT_EQ(refusals, 0);
}

}  // namespace
}  // namespace cleave::trial
