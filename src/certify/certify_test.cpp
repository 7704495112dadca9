// Comparing answers, and bundles as text.

#include <gtest/gtest.h>

#include "certify/bundle.hpp"
#include "certify/checks.hpp"
#include "certify/reading_functions.hpp"
#include "certify/report.hpp"

namespace cleave::certify {
namespace {

using nvml::Return;

Answer answered(Topic topic, const std::string& function, Json value,
                Return code = Return::success) {
  return {topic, function, "", Outcome::answered, code, std::move(value), {}};
}

Check compared(const Answer& gpu, const Answer& simulated) {
  const auto checks = compare({gpu}, {simulated});
  EXPECT_EQ(checks.size(), 1U);
  return checks.front();
}

TEST(Compare, ShowsTheMembersThatDifferAlone) {
  const std::string function = "nvmlDeviceGetGpuInstanceProfileInfo";
  const Check check =
      compared(answered(Topic::geometry, function, {{"id", 9}, {"memory_mib", 1}, {"p2p", 1}}),
               answered(Topic::geometry, function, {{"id", 9}, {"memory_mib", 2}, {"jpeg", 0}}));
  EXPECT_EQ(check.verdict, Verdict::different);
  EXPECT_EQ(check.gpu, "memory_mib 1, p2p 1, jpeg missing");
  EXPECT_EQ(check.simulated, "memory_mib 2, p2p missing, jpeg 0");
  EXPECT_NE(check.means.find("src/model/gpu_model.cpp"), std::string::npos);
}

TEST(Compare, MembersThatVaryDoNotCount) {
  const auto memory = [](std::uint64_t total, std::uint64_t used) {
    return answered(Topic::memory, "nvmlDeviceGetMemoryInfo", {{"total", total}, {"used", used}});
  };
  EXPECT_EQ(compared(memory(10, 1), memory(10, 2)).verdict, Verdict::same);
  EXPECT_EQ(compared(memory(10, 1), memory(11, 1)).verdict, Verdict::different);
}

TEST(Compare, WhatOnlyMustBeAlikeMayHaveAnotherValue) {
  const auto uuid = [](const Json& text) {
    return answered(Topic::identity, "nvmlDeviceGetUUID", text);
  };
  EXPECT_EQ(compared(uuid("GPU-12-ab"), uuid("GPU-345-c")).verdict, Verdict::same);
  EXPECT_EQ(compared(uuid("GPU-12-ab"), uuid("12")).verdict, Verdict::different);
  EXPECT_EQ(compared(uuid("GPU-12-ab"), uuid(7)).verdict, Verdict::different);
  EXPECT_EQ(compared(answered(Topic::power, "nvmlDeviceGetPowerUsage", 70'000),
                     answered(Topic::power, "nvmlDeviceGetPowerUsage", 90'000))
                .verdict,
            Verdict::same);
}

TEST(Compare, CodesDifferBeforeValues) {
  const Check check =
      compared(answered(Topic::power, "nvmlDeviceGetPowerUsage", nullptr, Return::no_permission),
               answered(Topic::power, "nvmlDeviceGetPowerUsage", 90'000));
  EXPECT_EQ(check.verdict, Verdict::different);
  EXPECT_NE(check.gpu.find("(4)"), std::string::npos) << check.gpu;
}

TEST(Compare, BothWithoutItIsNotADifference) {
  const Answer no = answered(Topic::clocks, "nvmlDeviceGetClock", nullptr, Return::not_supported);
  EXPECT_EQ(compared(no, no).verdict, Verdict::not_supported);
  Answer absent = no;
  absent.outcome = Outcome::absent;
  absent.code = Return::success;
  EXPECT_EQ(compared(absent, absent).verdict, Verdict::not_supported);
  EXPECT_EQ(compared(absent, no).verdict, Verdict::different);
}

TEST(Compare, TimesMayBeTwiceAsLong) {
  const auto time = [](double ms) {
    return answered(Topic::lifecycle, "time to create a GPU instance, ms", ms);
  };
  EXPECT_EQ(compared(time(200), time(390)).verdict, Verdict::same);
  EXPECT_EQ(compared(time(200), time(410)).verdict, Verdict::different);
  EXPECT_EQ(compared(time(1), time(40)).verdict, Verdict::same);  // both are short
}

TEST(Compare, TimesThatAgreeAreReportedToo) {
  const auto time = [](double ms) {
    Answer answer = answered(Topic::lifecycle, "time to create a GPU instance, ms", ms);
    answer.about = "1g.10gb";
    return answer;
  };
  EXPECT_NE(report({}, compare({time(200.04)}, {time(390)}))
                .find("\n  time to create a GPU instance, ms: 1g.10gb 200.0 (390.0)\n"),
            std::string::npos);
  EXPECT_EQ(report_json({}, compare({time(200)}, {time(390)}))["times"].size(), 1U);
  EXPECT_EQ(report_json({}, compare({time(200)}, {time(900)}))["times"].size(), 0U);
}

TEST(Compare, WhatOneSideWasNotAskedSaysWhy) {
  Answer left = answered(Topic::instances, "nvmlDeviceGetAttributes_v2", nullptr);
  left.outcome = Outcome::not_asked;
  left.note = "MIG is off";
  EXPECT_EQ(compared(left, left).why, "MIG is off");
  const auto checks = compare({answered(Topic::clocks, "a", 1)}, {answered(Topic::clocks, "b", 1)});
  ASSERT_EQ(checks.size(), 2U);
  EXPECT_EQ(checks[0].why, "only the GPU has what this asks about");
  EXPECT_EQ(checks[1].why, "only the simulated GPU has what this asks about");
  EXPECT_EQ(count(checks, Verdict::not_asked), 2U);
}

TEST(Compare, WhatDecidesMostComesFirst) {
  const Answers gpu = {answered(Topic::driver, "a", 1), answered(Topic::geometry, "b", 1)};
  const Answers simulated = {answered(Topic::driver, "a", 2), answered(Topic::geometry, "b", 2)};
  const auto checks = compare(gpu, simulated);
  EXPECT_EQ(checks.front().topic, Topic::geometry);
  const std::string text = report({}, checks);
  EXPECT_LT(text.find("\ngeometry\n"), text.find("\ndriver\n"));
}

TEST(Bundles, AreWrittenAndRead) {
  Bundle bundle;
  bundle.facts.name = "NVIDIA A30";
  bundle.facts.cuda = 13000;
  bundle.gpu = {answered(Topic::memory, "m", {{"total", 1}}),
                {Topic::errors, "e", "before nvmlInit", Outcome::crashed, {}, {}, "Killed"}};
  bundle.simulated = {answered(Topic::memory, "m", {{"total", 2}})};
  const std::string text = text_of(bundle, compare(bundle.gpu, bundle.simulated));
  const auto read = parse_bundle(text, "bundle");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(text_of(*read, compare(read->gpu, read->simulated)), text);
  EXPECT_EQ(read->gpu[1].outcome, Outcome::crashed);
  EXPECT_EQ(read->gpu[1].note, "Killed");
  EXPECT_EQ(read->facts.cuda, 13000);
}

std::string refusal(const std::string& answer) {
  const auto json = parse_json(answer, "answer");
  const auto read = answer_from(*json, "answers[3]");
  return read ? "accepted" : read.error().text();
}

TEST(Bundles, DamagedAnswersAreNamed) {
  EXPECT_EQ(refusal(R"({"topic": "memory", "function": "f", "code": 0, "value": 3})"), "accepted");
  for (const char* wrong :
       {R"({"topic": "x", "function": "f", "code": 0})", R"({"topic": "memory", "code": 0})",
        R"({"topic": "memory", "function": "f"})",
        R"({"topic": "memory", "function": "f", "code": 0, "outcome": "absent"})",
        R"({"topic": "memory", "function": "f", "outcome": "answered"})",
        R"({"topic": "memory", "function": "f", "code": 3, "value": 1})",
        R"({"topic": "memory", "function": "f", "code": 0, "more": 1})", "[]"})
    EXPECT_NE(refusal(wrong).find("answers[3]"), std::string::npos) << wrong << refusal(wrong);
}

TEST(ReadingFunctions, ArePickedByTheirVerb) {
  for (const char* reads : {"nvmlDeviceGetName", "nvmlDeviceIsMigDeviceHandle",
                            "nvmlSystemGetTopologyGpuSet", "nvmlGpmQueryDeviceSupport"})
    EXPECT_TRUE(only_reads(reads)) << reads;
  for (const char* changes :
       {"nvmlDeviceSetMigMode", "nvmlGpuInstanceDestroy", "nvmlDeviceCreateGpuInstance",
        "nvmlDeviceResetGpuLockedClocks", "nvmlDeviceClearEccErrorCounts", "nvmlShutdown",
        "nvmlDeviceReadWritePRM_v1", "nvmlDeviceGetConfComputeGpuAttestationReport"})
    EXPECT_FALSE(only_reads(changes)) << changes;
}

}  // namespace
}  // namespace cleave::certify
