// Server-sent events: what the standard says of lines, fields and comments, however the bytes
// arrive.

#include "api/event_stream.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace cleave {
namespace {

constexpr std::string_view stream =
    "\xef\xbb\xbf: a comment\n\nid: 1\nevent: job-started\ndata: {\"id\": 1}\n\n"
    ":\nid: 2\r\ndata: two\r\ndata:lines\r\n\r\n"
    "event: nothing\n\nid\rdata\r\rid: 9\ndata:  x\nunknown: y\n\ndata: unfinished\n";

const std::vector<ServerEvent> meant = {
    {"1", "job-started", "{\"id\": 1}"}, {"2", "", "two\nlines"}, {"", "", ""}, {"9", "", " x"}};

TEST(EventStreams, AreReadAsTheStandardSays) {
  EXPECT_EQ(EventStreamReader().take(stream), meant);
}

TEST(EventStreams, DoNotDependOnHowTheBytesArrive) {
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    EventStreamReader reader;
    std::vector<ServerEvent> events;
    for (std::size_t at = 0; at < stream.size();) {
      const std::size_t next = at + 1 + random.below(9);
      for (ServerEvent& event : reader.take(stream.substr(at, next - at)))
        events.push_back(std::move(event));
      at = next;
    }
    ASSERT_EQ(events, meant);
  }
}

TEST(EventStreams, WithoutAnEndAreNotKept) {
  EventStreamReader reader;
  EXPECT_TRUE(reader.take(std::string(1U << 19, 'x')).empty());
  EXPECT_FALSE(reader.too_long());
  EXPECT_TRUE(reader.take(std::string(1U << 20, 'x')).empty());
  EXPECT_TRUE(reader.too_long());
}

}  // namespace
}  // namespace cleave
