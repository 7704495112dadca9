#pragma once
// Who follows events, and what each is still to hear. An event becomes text once, for all. Who
// begins in the past is served from the store, a piece whenever he has read the one before, until
// he has caught up.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/control.hpp"
#include "daemon/http/fair_turns.hpp"
#include "daemon/http/http_types.hpp"

namespace cleave {

class EventFeed {
 public:
  /// Everything after the last event of `control` is news.
  EventFeed(const Control& control, Store& store, FairTurns& turns);
  ~EventFeed();
  EventFeed(const EventFeed&) = delete;
  EventFeed& operator=(const EventFeed&) = delete;

  /// From the event after `after` on; with `uid` only what concerns this user and the GPUs.
  void subscribe(std::shared_ptr<HttpStream> stream, std::int64_t after,
                 std::optional<std::uint32_t> uid);
  /// What is new goes out: at once after a calm, in a burst all of some milliseconds together.
  /// `at_once`: now.
  void publish(Duration now, bool at_once = false);
  /// Something is to go out yet, at the next call.
  [[nodiscard]] bool waits() const { return published_ < control_.last_event(); }
  [[nodiscard]] std::size_t subscribers() const { return subscribers_.size(); }

 private:
  struct Subscriber {
    std::shared_ptr<HttpStream> stream;
    std::optional<std::uint32_t> uid;
    std::int64_t heard = 0;
    bool behind = true;
    bool in_turns = false;    // a piece of its past is about to be read
    bool idle_piece = false;  // in the last one nothing was for him
  };
  using SubscriberPtr = std::shared_ptr<Subscriber>;
  using Text = std::shared_ptr<const std::string>;
  static Text text_for(const Subscriber& subscriber, const std::vector<EventRecord>& events);
  void catch_up(const SubscriberPtr& subscriber);
  void read_piece(Subscriber& subscriber);

  const Control& control_;
  Store& store_;
  std::int64_t published_;
  Duration next_{};  // when the next may go out
  FairTurns& turns_;
  std::vector<SubscriberPtr> subscribers_;
};

/// Of events in the store, those without a job are everybody's, the others their user's.
[[nodiscard]] bool shows_to(const EventRecord& event, std::optional<std::uint32_t> uid);

}  // namespace cleave
