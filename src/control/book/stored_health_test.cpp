#include "control/book/stored_health.hpp"

#include <gtest/gtest.h>

namespace cleave {
namespace {

using namespace std::chrono_literals;

TEST(StoredHealth, ComesBackAsItWas) {
  const HealthFact* xid = find_health_fact("xid-95");
  const HealthFact* rows = find_health_fact("rows-failed");
  const std::vector<GpuCondition> conditions = {
      {.fact = xid, .device = "MIG-1", .since = Instant{} + 5s, .job = 7, .uid = 1000},
      {.fact = rows, .device = {}, .since = Instant{} + 6s, .accepted = true, .asked = true}};
  EXPECT_EQ(parse_conditions(conditions_text(conditions)), conditions);
  const std::vector<JobFault> faults = {{"GPU-1", Instant{} + 5s, true},
                                        {"GPU-2", Instant{} + 6s, false}};
  EXPECT_EQ(parse_job_faults(faults_text(faults)), faults);
}

TEST(StoredHealth, NothingIsAnEmptyText) {
  EXPECT_EQ(conditions_text({}), "");
  EXPECT_EQ(faults_text({}), "");
  EXPECT_TRUE(parse_conditions("").empty());
  EXPECT_TRUE(parse_job_faults("").empty());
}

/// Of a later daemon, or damaged.
TEST(StoredHealth, WhatIsUnknownIsLeftOut) {
  EXPECT_TRUE(parse_conditions("no JSON").empty());
  EXPECT_TRUE(parse_conditions(R"({"list": 3})").empty());
  EXPECT_TRUE(parse_conditions(R"({"list": [{"sign": "xid-95"}]})").empty());
  const auto known = parse_conditions(
      R"({"list": [{"sign": "xid-4242", "since": 1, "job": 0},
                   {"sign": "xid-95", "since": 1, "job": 0}]})");
  ASSERT_EQ(known.size(), 1U);
  EXPECT_EQ(known[0].fact->number, 95U);
}

}  // namespace
}  // namespace cleave
