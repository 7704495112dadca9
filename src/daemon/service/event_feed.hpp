#pragma once
// Clients that follow events, and what each has yet to receive. An event is turned into text once
// for all of them. A client that begins with an old event is served from the store, one piece after
// it has read the piece before, until it has caught up.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/control.hpp"
#include "daemon/http/fair_turns.hpp"
#include "daemon/http/http_types.hpp"

namespace cleave {

/// All event streams of the server.
class EventFeed {
 public:
  /// Events after the last one of `control` are new.
  EventFeed(const Control& control, Store& store, FairTurns& turns);
  ~EventFeed();
  EventFeed(const EventFeed&) = delete;
  EventFeed& operator=(const EventFeed&) = delete;

  /// Sends events after number `after`; with `uid`, only those of this user's jobs and of GPUs.
  void subscribe(std::shared_ptr<HttpStream> stream, std::int64_t after,
                 std::optional<std::uint32_t> uid);
  /// Sends new events: at once after a pause; in a burst, those of some milliseconds together.
  /// `at_once` sends them in any case.
  void publish(Duration now, bool at_once = false);
  /// Whether events wait for the next publish().
  [[nodiscard]] bool waits() const { return published_ < control_.last_event(); }
  [[nodiscard]] std::size_t subscribers() const { return subscribers_.size(); }

 private:
  /// One client's stream and the number of the last event it was sent.
  struct Subscriber {
    std::shared_ptr<HttpStream> stream;
    std::optional<std::uint32_t> uid;
    std::int64_t heard = 0;
    bool behind = true;
    bool in_turns = false;    // a piece of old events is about to be read
    bool idle_piece = false;  // the last piece had no event for this client
  };
  using SubscriberPtr = std::shared_ptr<Subscriber>;
  using Text = std::shared_ptr<const std::string>;
  static Text text_for(const Subscriber& subscriber, const std::vector<EventRecord>& events);
  void catch_up(const SubscriberPtr& subscriber);
  void read_piece(Subscriber& subscriber);

  const Control& control_;
  Store& store_;
  std::int64_t published_;
  Duration next_{};  // when the next write may go out
  FairTurns& turns_;
  std::vector<SubscriberPtr> subscribers_;
};

/// Whether a user may see an event of the store: all users see events without a job, others only
/// the job's user.
[[nodiscard]] bool shows_to(const EventRecord& event, std::optional<std::uint32_t> uid);

}  // namespace cleave
