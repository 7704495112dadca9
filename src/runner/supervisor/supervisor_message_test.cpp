// Messages between supervisor and daemon: read back as written, and nothing else is accepted.

#include "runner/supervisor/supervisor_message.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace cleave {
namespace {

std::vector<SupervisorMessage> one_of_each() {
  return {SupervisorReady{},
          SupervisorFailed{"no folder"},
          JobBegan{77},
          JobReports{{{1, {1, 20, MiB{3}, MiB{4}}}, {5, {9, {}, MiB{30}, MiB{40}}}}},
          OutOfMemorySeen{"jax", MiB{100}},
          OutOfMemorySeen{"cuda", {}},
          SupervisorState{"running", 77, 1, 2, 3, "the disk is full"},
          SupervisorAnswer{"it has ended"}};
}

TEST(SupervisorMessages, AreReadBackAsTheyWereWritten) {
  for (const SupervisorMessage& message : one_of_each()) {
    const std::string text = message_text(message);
    EXPECT_LE(text.size(), longest_packet);
    const auto read = parse_message(text);
    ASSERT_TRUE(read) << text << ": " << read.error().text();
    EXPECT_EQ(read->index(), message.index()) << text;
    EXPECT_EQ(message_text(*read), text);
  }
}

TEST(SupervisorMessages, OfOtherKindsAreRefused) {
  for (const char* wrong :
       {"", "{}", "[]", "7", R"({"unknown":{}})", R"({"ready":{},"began":{"pid":5}})",
        R"({"ready":{"more":1}})", R"({"began":{}})", R"({"began":{"pid":0}})",
        R"({"began":{"pid":"5"}})", R"({"answer":{"refused":7}})", R"({"ready":{}} {"ready":{}})"})
    EXPECT_FALSE(parse_message(wrong)) << wrong;
}

TEST(SupervisorMessages, PassTextOnlyAsItCanBeShown) {
  const auto read = parse_message(message_text(SupervisorFailed{"a\x1b[31mb"}));
  ASSERT_TRUE(read);
  EXPECT_EQ(std::get<SupervisorFailed>(*read).reason, R"(a\x1b[31mb)");
  const std::string long_text(5000, 'x');
  EXPECT_LT(message_text(SupervisorAnswer{long_text}).size(), 1200U);
}

TEST(SupervisorRequests, AreReadBackAsTheyWereWritten) {
  using enum SupervisorAsk::What;
  for (const SupervisorAsk& ask :
       {SupervisorAsk{follow, 0}, SupervisorAsk{state, 0}, SupervisorAsk{signal, 10},
        SupervisorAsk{stop, 0}, SupervisorAsk{stop, 0, std::chrono::milliseconds(1500)}}) {
    const auto read = parse_ask(ask_text(ask));
    ASSERT_TRUE(read) << ask_text(ask);
    EXPECT_EQ(read->what, ask.what);
    EXPECT_EQ(read->signal, ask.signal);
  }
  EXPECT_EQ(ask_text({follow, 0}), R"({"ask":"follow"})");
  EXPECT_EQ(ask_text({signal, 10}), R"({"ask":"signal","signal":10})");
}

TEST(SupervisorRequests, OfOtherKindsAreRefused) {
  for (const char* wrong : {"", "{}", R"({"ask":"run"})", R"({"ask":"signal"})",
                            R"({"ask":"signal","signal":0})", R"({"ask":"signal","signal":65})",
                            R"({"ask":"stop","signal":9})", R"({"ask":"stop","more":1})"})
    EXPECT_FALSE(parse_ask(wrong)) << wrong;
}

/// Random damage gives another message or an error, never a crash.
TEST(SupervisorMessages, SurviveDamage) {
  Random random(5);
  for (const SupervisorMessage& message : one_of_each()) {
    const std::string text = message_text(message);
    for (int round = 0; round < 300; ++round) {
      std::string damaged = text;
      for (std::uint64_t i = 1 + random.below(3); i > 0; --i)
        damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
      if (const auto read = parse_message(damaged)) (void)message_text(*read);
      (void)parse_ask(damaged);
    }
  }
}

}  // namespace
}  // namespace cleave
