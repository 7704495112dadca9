// Targets of services, and when leases are idle.

#include "model/service_terms.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/format.hpp"
#include "base/random.hpp"
#include "model/workload_file.hpp"

namespace cleave {
namespace {

using namespace std::chrono_literals;

TEST(ServiceTerms, TargetOfRequestsIsCapacity) {
  ServiceTerms service;
  service.load = {{10s, 40}, {20s, 0}};
  EXPECT_EQ(load_at(service, 9s), 0);
  EXPECT_EQ(load_at(service, 10s), 40);
  EXPECT_EQ(load_at(service, 1h), 0);
  EXPECT_TRUE(on_target(service, 40, 40, 2));
  EXPECT_FALSE(on_target(service, 40, 39.9, 2));
  EXPECT_TRUE(on_target(service, 0, 0, 0)) << "nothing is asked";
}

/// The mean over requests of what each replica's queue takes is the closed form.
TEST(ServiceTerms, LatencyIsThatOfQueuesWithLoadInProportion) {
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    ServiceTerms service;
    service.load = {{{}, 1}};
    const std::size_t replicas = 1 + random.below(5);
    std::vector<double> each(replicas);
    double served = 0;
    for (double& mu : each) served += mu = 1 + 9 * random.uniform();
    const double asked = served * random.uniform();
    double mean = 0;
    for (const double mu : each) {
      const double part = asked * mu / served;
      mean += part / asked / (mu - part);
    }
    service.latency = std::chrono::round<Duration>(std::chrono::duration<double>(mean * 1.001));
    EXPECT_TRUE(on_target(service, asked, served, replicas));
    service.latency = std::chrono::round<Duration>(std::chrono::duration<double>(mean * 0.999));
    EXPECT_FALSE(on_target(service, asked, served, replicas));
  }
}

TEST(ServiceTerms, LatencyAloneNeedsAReplica) {
  ServiceTerms service;
  service.latency = 1s;
  EXPECT_FALSE(on_target(service, 0, 0, 0));
  EXPECT_TRUE(on_target(service, 0, 1, 1));
  EXPECT_FALSE(on_target(service, 0, 0.9, 1));
}

/// Second by second.
std::vector<LeaseChange> slow_changes(const LeaseTerms& lease, int stay) {
  std::vector<LeaseChange> changes;
  bool idle = false;
  int without = 0;
  for (int second = 0; second < stay; ++second) {
    const Duration at = std::chrono::seconds{second};
    const bool works = std::ranges::any_of(
        lease.active, [&](const auto& span) { return span.from <= at && at < span.to; });
    if (works && idle) changes.push_back({at, false});
    if (works) idle = false;
    // Idle at the end of the time without work, and not where work begins at that moment.
    if (!works && !idle && std::chrono::seconds{without} >= *lease.idle_after) {
      changes.push_back({at, true});
      idle = true;
    }
    without = works ? 0 : without + 1;
  }
  return changes;
}

TEST(LeaseTerms, IsIdleAsSecondBySecond) {
  Random random(2);
  std::size_t seen = 0;
  for (int i = 0; i < 2000; ++i) {
    LeaseTerms lease;
    lease.idle_after = std::chrono::seconds{1 + random.below(10)};
    int at = 0;
    for (auto spans = random.below(4); spans > 0; --spans) {
      at += 1 + static_cast<int>(random.below(15));
      const int to = at + 1 + static_cast<int>(random.below(10));
      lease.active.push_back({std::chrono::seconds{at}, std::chrono::seconds{to}});
      at = to;
    }
    const int stay = 1 + static_cast<int>(random.below(60));
    const auto changes = changes_of(lease, std::chrono::seconds{stay});
    EXPECT_EQ(changes, slow_changes(lease, stay)) << i;
    seen += changes.size();
    const Duration held = held_for(lease, std::chrono::seconds{stay});
    EXPECT_EQ(held, changes.empty() ? std::chrono::seconds{stay} : changes.front().at);
    lease.then = LeaseTerms::Then::shrink;
    EXPECT_EQ(held_for(lease, std::chrono::seconds{stay}), std::chrono::seconds{stay});
  }
  EXPECT_GT(seen, 2000U);
}

constexpr const char* document =
    R"({"id": "web", "arrival_s": 5, "profile": "1g.5gb", "priority": 2, "service": )"
    R"({"replicas": 3, "served_per_s": 70, "latency_s": 0.2, "load": )"
    R"([{"requests_per_s": 10}, {"from_s": 60, "requests_per_s": 20}]}})"
    "\n"
    R"({"id": "nb", "arrival_s": 6, "memory_mib": 4000, "duration_s": 100, "lease": )"
    R"({"starts_within_s": 10, "idle_after_s": 30, "then": "shrink", "idle_mib": 2000, )"
    R"("active": [{"from_s": 1, "to_s": 20}]}})"
    "\n";

TEST(WorkloadKinds, AreReadAndWrittenBack) {
  const auto workload = parse_workload(document, "f");
  ASSERT_TRUE(workload) << workload.error().text();
  ASSERT_EQ(workload->jobs.size(), 4U);
  EXPECT_EQ(workload->jobs[2].id, "web.2");
  EXPECT_EQ(workload->kind_of(workload->jobs[0]), JobKind::service);
  EXPECT_EQ(workload->kind_of(workload->jobs[3]), JobKind::lease);
  const auto again = parse_workload(workload_text(*workload), "f");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->services, workload->services);
  EXPECT_EQ(again->details, workload->details);
  EXPECT_EQ(workload_text(*again), workload_text(*workload));
}

TEST(WorkloadKinds, RefuseWhatDoesNotGoTogether) {
  const auto refused = [](std::string_view rest) {
    const auto read =
        parse_workload(fmt::format(R"({{"id": "a", "profile": "1g.5gb", {}}})", rest), "f");
    return read ? std::string("taken") : read.error().text();
  };
  const auto has = [](const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(refused(R"("service": {"served_per_s": 1})"), "no target"));
  EXPECT_TRUE(has(refused(R"("service": {"requests_per_s": 1})"), "served_per_s"));
  EXPECT_TRUE(has(refused(R"("service": {"served_per_s": 1, "requests_per_s": 1, "load": []})"),
                  "not both"));
  EXPECT_TRUE(
      has(refused(R"("service": {"served_per_s": 1, "requests_per_s": 1}, "fails_after": 0)"),
          "fails_after"));
  EXPECT_TRUE(has(refused(R"("lease": {})"), "duration_s"));
  EXPECT_TRUE(has(refused(R"("duration_s": 1, "lease": {"then": "shrink"})"), "idle_after_s"));
  EXPECT_TRUE(has(refused(R"("duration_s": 1, "lease": {"then": "shrink", "idle_after_s": 1})"),
                  "idle_mib"));
  EXPECT_TRUE(has(refused(R"("duration_s": 1, "lease": {"then": "sleep", "idle_after_s": 1})"),
                  "give-back or shrink"));
  EXPECT_TRUE(has(refused(R"("duration_s": 1, "lease": {"active": [{"from_s": 3, "to_s": 2}]})"),
                  "ends before"));
}

}  // namespace
}  // namespace cleave
