// Files of jobs.

#include "api/job_file.hpp"

#include <gtest/gtest.h>

namespace cleave {
namespace {

Json keys(std::string_view line) {
  const auto jobs = parse_job_file(line, "jobs.jsonl");
  EXPECT_TRUE(jobs) << jobs.error().text();
  return jobs && jobs->size() == 1 ? jobs->front().keys : Json();
}

std::string refused(std::string_view text) {
  const auto jobs = parse_job_file(text, "jobs");
  EXPECT_FALSE(jobs) << text;
  return jobs ? "" : jobs.error().text();
}

TEST(JobFile, ALineIsACommandOfTheShell) {
  const auto jobs = parse_job_file("# all of them\n./train 1 > out\r\n\n  ./train 2\n", "jobs");
  ASSERT_TRUE(jobs) << jobs.error().text();
  ASSERT_EQ(jobs->size(), 2U);
  EXPECT_EQ((*jobs)[0].line, 2U);
  EXPECT_EQ((*jobs)[0].keys.dump(), R"({"command":["/bin/sh","-c","./train 1 > out"]})");
  EXPECT_EQ((*jobs)[1].line, 4U);
  EXPECT_EQ((*jobs)[1].keys["command"][2], "./train 2");
}

TEST(JobFile, ALineOfJsonHasTheKeysOfSubmissionsAndWorkloads) {
  EXPECT_EQ(keys(R"({"command": ["a", "b"], "memory_mib": 9000, "priority": -1})").dump(),
            R"({"command":["a","b"],"memory_mib":9000,"priority":-1})");
  const Json workload = keys(R"({"id": "run-1", "arrival_s": 3, "duration_s": "2h", )"
                             R"("memory_mib": "9GiB", "instances": "4x1g.5gb", "x-note": 1, )"
                             R"("command": "./train 1", "deadline_s": null})");
  EXPECT_EQ(workload.dump(),
            R"({"name":"run-1","expected_s":7200.0,"memory_mib":9216,"instances":4,)"
            R"("profile":"1g.5gb","command":["/bin/sh","-c","./train 1"]})");
  EXPECT_FALSE(keys(R"({"id": "7", "command": "true"})").contains("name")) << "a number is no name";
}

/// What the last of these lines waits for, or why they are refused.
std::string linked(std::string_view text) {
  auto jobs = parse_job_file(text, "jobs");
  if (!jobs) return jobs.error().text();
  const auto done = link_lines(*jobs, "jobs");
  return done ? jobs->back().keys.value("after", Json()).dump() : done.error().text();
}

TEST(JobFile, LinesMayWaitForOthersByIdOrName) {
  const std::string first = "{\"id\": \"a\", \"command\": \"x\"}\n",
                    named = "{\"name\": \"b\", \"command\": \"x\"}\n",
                    numbered = "\n{\"id\": 7, \"command\": \"x\"}\n";
  const auto waits = [](const std::string& name, const std::string& after) {
    return "{\"id\": \"" + name + "\", \"command\": \"x\", \"after\": " + after + "}\n";
  };
  EXPECT_EQ(linked(first + named + waits("c", R"(["ok:a", "any:b", "ok:12", "ok:other", 3])")),
            R"(["ok:#1","any:#2","ok:12","ok:other",3])");
  EXPECT_EQ(linked(first + numbered + waits("c", R"(["failed:7"])")), R"(["failed:#2"])")
      << "lines go before jobs of the daemon";
  EXPECT_EQ(linked(waits("c", R"(["ok:b"])") + named + waits("d", R"(["ok:c"])")), R"(["ok:#1"])")
      << "also lines below";
  EXPECT_TRUE(linked(first + first + waits("c", R"(["ok:a"])"))
                  .starts_with("jobs:3: after: 'a' is what lines 1 and 2 are called"));
  EXPECT_EQ(linked(first + waits("b", R"(["ok:d"])") + waits("c", R"(["ok:a", "ok:b"])") +
                   waits("d", R"(["any:c"])")),
            "jobs:2: after: it waits for line 4, which waits for line 3, which waits for it again; "
            "leave out one of them");
  EXPECT_EQ(linked(waits("a", R"(["ok:a"])")),
            "jobs:1: after: it waits for itself; leave out one of them");
}

TEST(JobFile, WhatIsWrongIsSaidOfItsLine) {
  EXPECT_EQ(refused("{\"command\": \"a\"}\n{\"comand\": \"b\"}\n"),
            "jobs:2: comand: unknown key; did you mean 'command'?");
  EXPECT_TRUE(refused("{\"command\": \"a\"}\n\n[1]").starts_with("jobs:3: expected a JSON object"));
  EXPECT_TRUE(refused("{\"command\": \"a\"").starts_with("jobs:1: "));
  EXPECT_TRUE(refused("{\"command\": \"a\", \"memory_mib\": \"9 apples\"}")
                  .starts_with("jobs:1: memory_mib: "));
  EXPECT_TRUE(refused("{\"command\": \"a\", \"gpu_share\": 0.5}")
                  .starts_with("jobs:1: gpu_share: it is for workload files only"));
  EXPECT_TRUE(refused("").starts_with("jobs: it has no jobs"));
  EXPECT_TRUE(refused("# nothing\n").starts_with("jobs: it has no jobs"));
  EXPECT_TRUE(refused("true\n\xff\xfe\n").starts_with("jobs:2: it is not UTF-8"));
}

}  // namespace
}  // namespace cleave
