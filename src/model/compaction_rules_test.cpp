// The setting `compaction`: what is read is written again, and what is wrong is said.

#include "model/compaction_rules.hpp"

#include <gtest/gtest.h>

namespace cleave {
namespace {

using namespace std::chrono_literals;

TEST(CompactionRules, OnAndOff) {
  EXPECT_EQ(*parse_compaction("off"), std::nullopt);
  EXPECT_EQ(*parse_compaction("on"), CompactionRules());
}

TEST(CompactionRules, AreReadAndWritten) {
  const char* given = "when_waiting=90;gain=0.5;at_most=2 moves/1.5h per job;hours=22-6:30";
  const auto rules = parse_compaction(given);
  ASSERT_TRUE(rules && *rules);
  EXPECT_EQ((*rules)->when_waiting, 90s);
  EXPECT_EQ((*rules)->gain, 0.5);
  EXPECT_EQ((*rules)->moves, 2);
  EXPECT_EQ((*rules)->every, 90min);
  EXPECT_EQ((*rules)->hours, (DayHours{22 * 60, 6 * 60 + 30}));
  EXPECT_EQ(text(**rules),
            "when_waiting=90 s;gain=0.5;at_most=2 moves/90 min per job;hours=22:00-06:30");
  EXPECT_EQ(text(CompactionRules()),
            "when_waiting=2 min;gain=2;at_most=1 move/30 min per job;hours=always");
  for (const CompactionRules& each : {**rules, CompactionRules()})
    EXPECT_EQ(**parse_compaction(text(each)), each);
}

TEST(CompactionRules, WhatIsWrongIsNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"maybe", "write on, off"},
      {"", "write on, off"},
      {"when_wating=2 min", "did you mean 'when_waiting'"},
      {"when_waiting=2 mins", "when_waiting: '2 mins' is not a time"},
      {"when_waiting=0", "when_waiting"},
      {"gain=-1", "gain"},
      {"gain=nan", "gain"},
      {"at_most=1 move", "at_most"},
      {"at_most=0 moves/30 min per job", "at_most"},
      {"at_most=1 move/30 min", "at_most"},
      {"hours=25-3", "hours"},
      {"hours=night", "hours"},
  };
  for (const auto& [given, said] : cases) {
    const auto rules = parse_compaction(given);
    ASSERT_FALSE(rules) << given;
    EXPECT_EQ(rules.error().kind, ErrorKind::bad_usage);
    EXPECT_NE(rules.error().text().find(said), std::string::npos) << rules.error().text();
  }
}

TEST(DayHours, MayGoOverMidnight) {
  const DayHours night{22 * 60, 6 * 60}, noon{12 * 60, 13 * 60}, all{0, 0};
  EXPECT_TRUE(night.contains(23h));
  EXPECT_TRUE(night.contains(0h));
  EXPECT_FALSE(night.contains(6h));
  EXPECT_EQ(night.begin_in(6h), 16h);
  EXPECT_EQ(noon.begin_in(13h), 23h);
  EXPECT_EQ(noon.begin_in(12h), 0h);
  EXPECT_TRUE(all.contains(5h));
}

}  // namespace
}  // namespace cleave
