// What jobs taught: never more records than are kept, whatever the order and whoever taught them,
// and the same means in any order.

#include "control/node/learnt_profiles.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/format.hpp"
#include "base/random.hpp"

namespace cleave {
namespace {

ProfileRecord record(const std::string& application, double seconds, int day = 1) {
  ProfileRecord record;
  record.key = {application, "A100-40GB", 8, "1g.5gb", false};
  record.time_s = seconds;
  record.peak_memory = MiB{static_cast<std::int64_t>(seconds)};
  record.date = fmt::format("2026-11-{:02}", day);
  return record;
}

TEST(LearntProfiles, AreMergedByTheMeanForEachUser) {
  LearntProfiles learnt;
  static_cast<void>(learnt.learn(1, record("a", 100), 10));
  const LearntChange change = learnt.learn(1, record("a", 200, 2), 10);
  ASSERT_EQ(change.now.size(), 1U);
  EXPECT_DOUBLE_EQ(*change.now[0].record.time_s, 150);
  EXPECT_EQ(change.now[0].record.peak_memory, MiB{200});
  EXPECT_EQ(change.now[0].record.samples, 2);
  EXPECT_EQ(change.now[0].record.date, "2026-11-02");
  EXPECT_TRUE(change.gone.empty());
  static_cast<void>(learnt.learn(2, record("a", 1000), 10));
  EXPECT_DOUBLE_EQ(*learnt.of(1)->find(record("a", 0).key)->time_s, 150) << "another user";
  EXPECT_EQ(learnt.size(), 2U);
  EXPECT_EQ(learnt.of(3), nullptr);
}

TEST(LearntProfiles, AnyOrderGivesTheSameMeans) {
  Random random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<ProfileRecord> lessons;
    for (int i = 0; i < 8; ++i) {
      ProfileRecord lesson = record("a", 1 + 100 * random.uniform(), 1 + i);
      if (random.below(3) == 0) lesson.time_s.reset();
      if (random.below(3) == 0) lesson.peak_memory.reset();
      lessons.push_back(lesson);
    }
    std::optional<ProfileRecord> first;
    for (int order = 0; order < 5; ++order) {
      LearntProfiles learnt;
      for (const ProfileRecord& each : lessons) static_cast<void>(learnt.learn(1, each, 10));
      const ProfileRecord now = learnt.of(1)->records().begin()->second;
      if (!first) first = now;
      ASSERT_EQ(now.time_s.has_value(), first->time_s.has_value());
      EXPECT_NEAR(now.time_s.value_or(1), first->time_s.value_or(1), 1e-9 * now.time_s.value_or(1));
      EXPECT_EQ(now.peak_memory, first->peak_memory);
      EXPECT_EQ(now.samples, first->samples);
      EXPECT_EQ(now.measured_in, first->measured_in);
      EXPECT_EQ(now.date, first->date);
      for (std::size_t i = lessons.size(); i > 1; --i)
        std::swap(lessons[i - 1], lessons[random.below(i)]);
    }
  }
}

TEST(LearntProfiles, AreNeverMoreThanAreKeptAndWhatIsWrittenIsWhatThereIs) {
  Random random(5);
  for (int round = 0; round < 100; ++round) {
    const std::size_t most = random.below(12);
    LearntProfiles learnt;
    std::map<LearntKey, ProfileRecord> written;
    const auto write = [&](const LearntChange& change) {
      for (const LearntProfile& each : change.now) written[each.key()] = each.record;
      for (const LearntKey& each : change.gone) written.erase(each);
    };
    for (int i = 0; i < 60; ++i) {
      const auto name = fmt::format("app{}", random.below(20));
      write(learnt.learn(static_cast<std::uint32_t>(random.below(3)),
                         record(name, 1, 1 + static_cast<int>(random.below(28))), most));
      ASSERT_LE(learnt.size(), most);
      ASSERT_EQ(written.size(), learnt.size());
    }
    std::vector<LearntProfile> kept;
    for (const auto& [key, each] : written) {
      const ProfileRepository* of = learnt.of(key.uid);
      ASSERT_NE(of, nullptr);
      ASSERT_NE(of->find(key.profile), nullptr);
      EXPECT_EQ(*of->find(key.profile), each);
      kept.push_back({key.uid, each});
    }
    LearntProfiles again;
    again.recall(kept);
    EXPECT_EQ(again.size(), learnt.size());
    const LearntChange fewer = again.keep(most / 2);
    EXPECT_EQ(fewer.gone.size(), kept.size() - std::min(kept.size(), most / 2));
  }
}

TEST(LearntProfiles, TheOldestOfTheUserWithMostGoes) {
  LearntProfiles learnt;
  static_cast<void>(learnt.learn(7, record("only", 1, 1), 4));
  for (int i = 0; i < 3; ++i)
    static_cast<void>(learnt.learn(8, record(fmt::format("many{}", i), 1, 10 - i), 4));
  const LearntChange change = learnt.learn(8, record("more", 1, 20), 4);
  ASSERT_EQ(change.gone.size(), 1U);
  EXPECT_EQ(change.gone[0].uid, 8U) << "the record of the other user is older, and stays";
  EXPECT_EQ(change.gone[0].profile.application, "many2");
}

}  // namespace
}  // namespace cleave
