// Streams of events from the daemon: in pieces they are the same as whole.

#include "api/event_stream.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::event_stream_target {
namespace {

bool read_input(const std::string& text) {
  EventStreamReader whole, in_pieces;
  const auto events = whole.take(text);
  std::vector<ServerEvent> pieces;
  const std::size_t length = 1 + text.size() % 7;
  for (std::size_t at = 0; at < text.size(); at += length)
    for (ServerEvent& event : in_pieces.take(std::string_view(text).substr(at, length)))
      pieces.push_back(std::move(event));
  require(events == pieces, "pieces of any size make the same events");
  return !events.empty();
}

}  // namespace
}  // namespace cleave::fuzz::event_stream_target

CLEAVE_FUZZ_TARGET(event_stream, counted)
