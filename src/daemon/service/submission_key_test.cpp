// Keys of submissions.

#include "daemon/service/submission_key.hpp"

#include <gtest/gtest.h>

#include "base/json.hpp"

namespace cleave {
namespace {

std::int64_t content_of(const char* text) {
  return read_submission_key("key", Json::parse(text))->content;
}

TEST(SubmissionKeys, ArePrintableAndMayBeQuoted) {
  const Json empty = Json::object();
  for (const std::string_view good :
       {"a", "\"a\"", "8e03978e-40d5-43dd-bc93-6894a57f9324", "a b", "\""})
    EXPECT_TRUE(read_submission_key(good, empty)) << good;
  EXPECT_EQ(read_submission_key("\"a\"", empty)->text, "a");
  EXPECT_TRUE(read_submission_key(std::string(255, 'a'), empty));
  for (const std::string& bad :
       {std::string(), std::string("\"\""), std::string("a\nb"), std::string("\x7f"),
        std::string("\xc3\xa4"), std::string(256, 'a'), std::string(1, '\0')}) {
    const auto refused = read_submission_key(bad, empty);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().kind, ErrorKind::bad_input);
    EXPECT_EQ(refused.error().place, "Idempotency-Key");
  }
}

TEST(SubmissionKeys, TellSubmissionsApartByWhatTheySay) {
  const std::int64_t one = content_of(R"({"command": ["a", "b"], "retries": 1})");
  EXPECT_EQ(content_of(R"({"retries":1,"command":["a","b"]})"), one) << "order and spaces";
  EXPECT_EQ(content_of(R"({"command": ["a", "b"], "retries": 1, "x-sent": 7})"), one);
  for (const char* other :
       {R"({"command": ["b", "a"], "retries": 1})", R"({"command": ["ab"], "retries": 1})",
        R"({"command": ["a", "b", ""], "retries": 1})", R"({"command": ["a"], "retries": 1})",
        R"({"command": ["a", "b"], "retries": 2})", R"({"command": ["a", "b"], "retries": "1"})",
        R"({"command": ["a", "b"], "retries": true})", R"({"command": ["a", "b"]})",
        R"({"command": ["a", "b"], "retries": 1, "name": null})", R"({"command": "a"})"})
    EXPECT_NE(content_of(other), one) << other;
}

}  // namespace
}  // namespace cleave
