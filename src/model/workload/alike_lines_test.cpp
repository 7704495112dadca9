#include "model/workload/alike_lines.hpp"

#include <gtest/gtest.h>

#include "base/format.hpp"
#include "base/random.hpp"
#include "model/workload_file.hpp"

namespace cleave {
namespace {

TEST(AlikeLines, ThreeValuesAreTakenOutOfTheLine) {
  LineParts parts;
  ASSERT_TRUE(take_apart(
      R"( {"id": "a b", "profile": "1g.5gb","arrival_s":0.25, "duration_s": 60, "flat": true} )",
      parts));
  EXPECT_EQ(parts.id, "a b");
  EXPECT_EQ(parts.arrival_s, 0.25);
  EXPECT_EQ(parts.duration_s, 60);
  EXPECT_EQ(parts.rest,
            R"( {"id": , "profile": "1g.5gb","arrival_s":, "duration_s": , "flat": true} )");
}

TEST(AlikeLines, WhatMayMeanSomethingElseIsLeftToTheParser) {
  LineParts parts;
  for (const char* const line :
       {"", "{}", R"({"id": "a", "arrival_s": 0})",
        R"({"id": "a", "id": "b", "arrival_s": 0, "duration_s": 1})",
        R"({"id": "\u0041", "arrival_s": 0, "duration_s": 1})",
        R"({"id": "ä", "arrival_s": 0, "duration_s": 1})",
        R"({"id": "a", "arrival_s": "2024-01-31T12:00:00", "duration_s": 1})",
        R"({"id": "a", "arrival_s": -1, "duration_s": 1})",
        R"({"id": "a", "arrival_s": 01, "duration_s": 1})",
        R"({"id": "a", "arrival_s": 1., "duration_s": 1})",
        R"({"id": "a", "arrival_s": 1e3, "duration_s": 1})",
        R"({"id": "a", "arrival_s": 1, "duration_s": 1, "phases": {"cpu_s": 1}})",
        R"({"id": "a", "arrival_s": 1, "duration_s": 1)",
        R"({"id": "a", "arrival_s": 1, "duration_s": 1}})",
        R"({"id": "a", "arrival_s": 1, "duration_s": 1,})"})
    EXPECT_FALSE(take_apart(line, parts)) << line;
}

/// One line, right or wrong, with a mark of its own where `marked`: no two lines are alike then,
/// and each is parsed.
std::string some_line(Random& random, std::size_t number, bool marked) {
  const auto one_of = [&](std::initializer_list<const char*> words) {
    return std::string(*(words.begin() + random.below(words.size())));
  };
  std::string line = "{";
  const auto put = [&](const std::string& text) {
    line += (line.size() > 1 ? one_of({", ", ",", " , "}) : "") + text;
  };
  const std::string id = random.below(12) == 0 ? one_of({"twice", "", "ä", "a\\\"b", "\\t", "7"})
                                               : fmt::format("job-{}", number);
  put(one_of({"\"id\": \"", "\"id\":\""}) + id + "\"");
  const bool wrong = random.below(10) == 0;
  put("\"arrival_s\": " + (wrong ? one_of({"-1", "1e2", "\"x\"", "01", "4e9", "null", "1."})
                                 : fmt::format("{:.3f}", random.uniform() * 1e4)));
  if (random.below(12) != 0)
    put("\"duration_s\": " + (random.below(10) == 0
                                  ? one_of({"0", "0.1", "99999999999", "1e1", "[1]", "12345678.9"})
                                  : fmt::format("{}", random.below(5000))));
  put(one_of({R"("profile": "1g.5gb")", R"("profile": "3g.20gb")", R"("memory_mib": 9000)",
              R"("profile": "9g.1gb")", R"("gpus": 1)", R"("profile": "1g.5gb", "flat": true)",
              R"("profile": "1g.5gb", "gpu_util": 40.5)", R"("profile": "2g.10gb", "priority": 2)",
              R"("memory_mib": "9GiB", "transfer_share": 0.25)", R"("array": "1-3", "gpus": 1)",
              R"("gpu_share": 0.5, "x-note": "n")", R"("profile": "1g.5gb", "expected_s": 5)",
              R"("memory_mib": 9000, "offload_mib": 4000)", R"("profile": "1g.5gb", "nonsense": 1)",
              R"("profile": "1g.5gb", "law": {"a_s": 1, "w_s": 2})"}));
  if (marked) line += fmt::format(", \"x-line\": \"{}\"", number);
  return line + one_of({"}", "}", "}", "} ", "}\r"});
}

TEST(AlikeLines, AreReadAsIfEachWereParsed) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    std::string alike, apart;
    Random first(seed), second(seed);
    for (std::size_t i = 0; i < 300; ++i) {
      alike += some_line(first, i, false) + "\n";
      apart += some_line(second, i, true) + "\n";
    }
    BadLines of_alike, of_apart;
    const auto quick = parse_workload(alike, "w", {}, {}, &of_alike);
    const auto slow = parse_workload(apart, "w", {}, {}, &of_apart);
    ASSERT_TRUE(quick && slow);
    EXPECT_EQ(workload_text(*quick), workload_text(*slow)) << seed;
    EXPECT_EQ(quick->requests, slow->requests) << seed;
    EXPECT_EQ(quick->read, slow->read);
    EXPECT_EQ(quick->notes, slow->notes);
    ASSERT_EQ(of_alike.count, of_apart.count) << seed;
    for (std::size_t i = 0; i < of_alike.first.size(); ++i) {
      EXPECT_EQ(of_alike.first[i].place, of_apart.first[i].place);
      EXPECT_EQ(of_alike.first[i].message, of_apart.first[i].message);
    }
  }
}

}  // namespace
}  // namespace cleave
