#pragma once
// Server-sent events, read as they come (WHATWG HTML, "Server-sent events", 9.2.6): bytes in, whole
// events out. Knows no connection.

#include <string>
#include <string_view>
#include <vector>

namespace cleave {

/// One event, whole.
struct ServerEvent {
  std::string id;  // the last one that was sent, in this event or before
  std::string kind, data;
  friend bool operator==(const ServerEvent&, const ServerEvent&) = default;
};

/// Puts lines and events together from bytes in pieces of any size.
class EventStreamReader {
 public:
  /// The events that these bytes complete.
  [[nodiscard]] std::vector<ServerEvent> take(std::string_view bytes);
  /// A line, or an event of several, has become longer than any of the daemon's: not an event
  /// stream.
  [[nodiscard]] bool too_long() const { return line_.size() + event_.data.size() > longest; }

 private:
  static constexpr std::size_t longest = 1U << 20;
  void line(std::string_view text, std::vector<ServerEvent>& events);

  std::string line_;
  ServerEvent event_;
  bool has_data_ = false, after_return_ = false, first_ = true;
};

}  // namespace cleave
