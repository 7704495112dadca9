#include "api/event_stream.hpp"

#include "base/text.hpp"

namespace cleave {

std::vector<ServerEvent> EventStreamReader::take(std::string_view bytes) {
  std::vector<ServerEvent> events;
  for (const char c : bytes) {
    // A line ends with CR, LF or both.
    const bool second_half = after_return_ && c == '\n';
    after_return_ = c == '\r';
    if (second_half) continue;
    if (c == '\n' || c == '\r') {
      line(first_ ? without_byte_order_mark(line_) : line_, events);
      first_ = false;
      line_.clear();
    } else {
      line_ += c;
    }
  }
  return events;
}

void EventStreamReader::line(std::string_view text, std::vector<ServerEvent>& events) {
  if (text.empty()) {
    if (has_data_) events.push_back(event_);
    event_.kind.clear();
    event_.data.clear();
    has_data_ = false;
    return;
  }
  const std::size_t colon = text.find(':');
  const std::string_view field = text.substr(0, colon);
  std::string_view value =
      colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "data") {
    if (has_data_) event_.data += '\n';
    event_.data += value;
    has_data_ = true;
  } else if (field == "event") {
    event_.kind = value;
  } else if (field == "id" && value.find('\0') == std::string_view::npos) {
    event_.id = value;
  }
}

}  // namespace cleave
