#include "model/health_facts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/format.hpp"
#include "base/places_test.hpp"
#include "base/read_text.hpp"

namespace cleave {
namespace {

TEST(HealthFacts, EachSignHasOneRowWithAReasonAndASource) {
  std::set<std::string> names;
  for (const HealthFact& fact : health_facts()) {
    EXPECT_TRUE(names.insert(name(fact)).second) << name(fact);
    EXPECT_FALSE(fact.what.empty() || fact.why.empty()) << name(fact);
    EXPECT_TRUE(std::ranges::count(health_sources(), fact.source, &HealthSource::key) == 1)
        << name(fact);
    EXPECT_EQ(find_health_fact(name(fact)), &fact);
    EXPECT_EQ(find_health_fact(fact.sign, fact.number), &fact);
  }
}

TEST(HealthFacts, WhatIsTakenAwayComesBack) {
  for (const HealthFact& fact : health_facts()) {
    const bool takes = fact.reaction >= HealthReaction::drain_instance;
    EXPECT_EQ(fact.cure != HealthCure::nothing, takes) << name(fact);
    EXPECT_EQ(in_words(fact.cure).empty(), !takes) << name(fact);
    if (fact.reaction == HealthReaction::drain_instance) {
      EXPECT_EQ(fact.cure, HealthCure::remake) << name(fact);
      EXPECT_TRUE(fact.stops_jobs)
          << name(fact) << ": what runs there keeps it from being destroyed";
      EXPECT_NE(fact.without_instance, fact.reaction) << name(fact);
    }
    EXPECT_TRUE(takes || !fact.stops_jobs) << name(fact);
    EXPECT_TRUE(fact.reaction == HealthReaction::drain_gpu || !fact.deferred) << name(fact);
  }
}

TEST(HealthFacts, ThePageHasTheTable) {
  const auto page = read_text(source_dir() + "/docs/health.md");
  ASSERT_TRUE(page) << page.error().text();
  std::string table;
  for (const HealthFact& fact : health_facts())
    table += fmt::format("| `{}` | {} | {}{} | {} | {} |\n", name(fact), fact.what,
                         name(fact.reaction), fact.stops_jobs ? ", stops jobs" : "",
                         in_words(fact.cure).empty() ? "-" : in_words(fact.cure), fact.source);
  EXPECT_TRUE(page->ends_with(table)) << "docs/health.md should end with:\n" << table;
}

TEST(HealthFacts, RecoveryActionsOfLaterDriversShareARow) {
  EXPECT_EQ(find_health_fact(HealthSign::recovery_action, 77),
            find_health_fact(HealthSign::recovery_action, other_recovery_action));
  EXPECT_EQ(find_health_fact(HealthSign::recovery_action, 0), nullptr);
  EXPECT_EQ(find_health_fact(HealthSign::xid, 4242), nullptr);
  EXPECT_EQ(find_health_fact("xid-4242"), nullptr);
}

}  // namespace
}  // namespace cleave
