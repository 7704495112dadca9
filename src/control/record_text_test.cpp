#include "control/record_text.hpp"

#include <gtest/gtest.h>

#include "control/records_test.hpp"

namespace cleave {
namespace {

constexpr int rounds = 2000;

TEST(RecordText, ComesBackAsItWent) {
  RandomRecords any(9);
  for (int i = 0; i < rounds; ++i) {
    const JobOwner owner = any.any_owner();
    const auto owner_back = parse_owner(owner_text(owner), "job 1: owner");
    ASSERT_TRUE(owner_back) << owner_back.error().text();
    EXPECT_EQ(*owner_back, owner);
    const JobSpec spec = any.any_spec();
    const auto spec_back = parse_spec(spec_text(spec), "job 1: spec");
    ASSERT_TRUE(spec_back) << spec_back.error().text() << spec_text(spec);
    EXPECT_EQ(*spec_back, spec) << spec_text(spec);
    const Request request = any.any_request();
    const auto request_back = parse_request(request_text(request), "job 1: request");
    ASSERT_TRUE(request_back) << request_back.error().text();
    EXPECT_EQ(*request_back, request) << request_text(request);
    const JobCommand command = any.any_command();
    const auto command_back = parse_command(command_text(command), "job 1: command");
    ASSERT_TRUE(command_back) << command_back.error().text();
    EXPECT_EQ(*command_back, command);
    std::vector<Instant> instants(any.random.below(4));
    for (Instant& each : instants) each = any.any_instant();
    const auto instants_back = parse_instants(instants_text(instants), "job 1: early restarts");
    ASSERT_TRUE(instants_back) << instants_back.error().text();
    EXPECT_EQ(*instants_back, instants);
  }
}

/// The whole vocabulary, so that a store of today is read tomorrow.
TEST(RecordText, IsWrittenLikeThis) {
  JobSpec spec;
  EXPECT_EQ(spec_text(spec), R"({"v":1,"request":{"profile":""},"asked":"",)"
                             R"("checkpoint_grace_ns":0,"stop_grace_ns":30000000000})");
  spec.name = "n";
  spec.request = {BySize{MiB{9216}, ComputeSlices{1}}, std::vector<std::string>{"2g.10gb"},
                  MiB{10000}};
  spec.asked = "9 GiB";
  spec.priority = -1;
  spec.deadline = Duration(5);
  spec.retries = 2;
  spec.restartable = spec.movable = true;
  spec.progress = Keeps::nothing;
  spec.checkpoint_signal = 10;
  spec.out_of_memory_code = 77;
  spec.application = "bert";
  spec.batch = 8;
  spec.expected = Duration(6);
  EXPECT_EQ(
      spec_text(spec),
      R"({"v":1,"name":"n","request":{"mib":9216,"compute":1,"fits":["2g.10gb"],"at_least":10000},)"
      R"("asked":"9 GiB","priority":-1,"deadline_ns":5,"retries":2,"restartable":true,)"
      R"("movable":true,"progress":"none",)"
      R"("checkpoint_signal":10,"checkpoint_grace_ns":0,"stop_grace_ns":30000000000,)"
      R"("out_of_memory_code":77,"application":"bert","batch":8,"expected_ns":6})");
  EXPECT_EQ(request_text({ByShare{460, ShareRule::nearest}, {}}),
            R"({"v":1,"thousandths":460,"nearest":true})");
  EXPECT_EQ(request_text({Unknown{}, {}}), R"({"v":1})");
  EXPECT_EQ(owner_text({.uid = 7, .gid = 8, .groups = {9}, .user = "u"}),
            R"({"v":1,"uid":7,"gid":8,"groups":[9],"user":"u"})");
  EXPECT_EQ(command_text({{"sleep", "1"}, {"A=b"}, "/"}),
            R"({"v":1,"argv":["sleep","1"],"environment":["A=b"],"working_directory":"/"})");
  EXPECT_EQ(instants_text({}), R"({"v":1})");
  EXPECT_EQ(instants_text({Instant(Duration(-3))}), R"({"v":1,"ns":[-3]})");
}

TEST(RecordText, BytesThatAreNoTextDoNotStopIt) {
  const auto back = parse_command(command_text({{"\xff", "ok"}, {}, "/"}), "x");
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->argv, (std::vector<std::string>{"\uFFFD", "ok"}));
}

TEST(RecordText, DamageIsSaid) {
  for (const char* text : {"", "{", "[]", "1", "{}", R"({"v":0})", R"({"v":"1"})",
                           R"({"v":1,"more":1})", R"({"v":1,"fits":[1]})", R"({"v":1,"mib":1})",
                           R"({"v":1,"profile":2})", R"({"v":1,"places":2,"together":"apart"})"})
    EXPECT_FALSE(parse_request(text, "x")) << text;
  for (const char* text : {R"({"v":1})", R"({"v":1,"argv":["a"],"working_directory":"/"})",
                           R"({"v":1,"argv":"a","environment":[],"working_directory":"/"})"})
    EXPECT_FALSE(parse_command(text, "x")) << text;
  EXPECT_FALSE(parse_spec(R"({"v":1,"request":{"profile":""},"asked":"","progress":"some",)"
                          R"("checkpoint_grace_ns":0,"stop_grace_ns":0})",
                          "x"));
  EXPECT_FALSE(parse_spec(R"({"v":1,"asked":"","checkpoint_grace_ns":0,"stop_grace_ns":0})", "x"));
  EXPECT_FALSE(parse_owner(R"({"v":1,"uid":4294967296,"gid":0})", "x"));
  EXPECT_FALSE(parse_instants(R"({"v":1,"ns":["1"]})", "x"));
  const auto newer = parse_request(R"({"v":2,"stars":5})", "job 3: request");
  ASSERT_FALSE(newer);
  EXPECT_NE(newer.error().text().find("newer"), std::string::npos) << newer.error().text();
  EXPECT_EQ(newer.error().place, "job 3: request");
}

}  // namespace
}  // namespace cleave
