#include "daemon/service/event_feed.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "daemon/service/views.hpp"

namespace cleave {

namespace {

constexpr std::size_t read_at_once = 200;
/// Writing to hundreds of clients after every step would take longer than the steps. Each has a
/// share of the loop's time that is the smaller the more there are: all together a hundredth or
/// two.
constexpr Duration least_between_writes = std::chrono::milliseconds(25);
constexpr Duration most_between_writes = std::chrono::milliseconds(500);
constexpr Duration for_each_client = std::chrono::milliseconds(1);

Duration between_writes(std::size_t clients) {
  return std::clamp<Duration>(static_cast<std::int64_t>(clients) * for_each_client,
                              least_between_writes, most_between_writes);
}

bool concerns(const EventRecord& event, std::optional<std::uint32_t> uid) {
  return !uid || !event.uid || event.uid == uid;
}

}  // namespace

bool shows_to(const EventRecord& event, std::optional<std::uint32_t> uid) {
  return !uid || !event.job || event.uid == uid;
}

EventFeed::EventFeed(const Control& control, Store& store, FairTurns& turns)
    : control_(control), store_(store), published_(control.last_event()), turns_(turns) {}

EventFeed::~EventFeed() {
  for (const auto& each : subscribers_) each->stream->when_empty(nullptr);
}

void EventFeed::subscribe(std::shared_ptr<HttpStream> stream, std::int64_t after,
                          std::optional<std::uint32_t> uid) {
  const auto subscriber = std::make_shared<Subscriber>();
  subscriber->stream = std::move(stream);
  subscriber->uid = uid;
  subscriber->heard = std::clamp<std::int64_t>(after, 0, control_.last_event());
  subscriber->stream->when_empty([this, weak = std::weak_ptr<Subscriber>(subscriber)] {
    if (const auto there = weak.lock(); there && there->behind) catch_up(there);
  });
  subscribers_.push_back(subscriber);
  catch_up(subscriber);
}

/// Reads one piece from the store, in a turn of its own; the next after the client has read it.
void EventFeed::catch_up(const SubscriberPtr& subscriber) {
  subscriber->behind = subscriber->heard < published_;
  if (!subscriber->behind || subscriber->in_turns || subscriber->stream->waiting() > 0) return;
  subscriber->in_turns = true;
  turns_.add(subscriber->uid.value_or(0), [this, weak = std::weak_ptr<Subscriber>(subscriber)] {
    const auto there = weak.lock();
    if (!there) return false;
    read_piece(*there);
    // A piece without an event for this client sends nothing, so when_empty() would not be called.
    there->in_turns = there->behind && there->stream->waiting() == 0 && !there->stream->closed() &&
                      there->idle_piece;
    return there->in_turns;
  });
}

/// Reads the events of all users, since the store has no index by user.
void EventFeed::read_piece(Subscriber& subscriber) {
  subscriber.idle_piece = false;
  const auto events = store_.events(subscriber.heard, std::nullopt, read_at_once);
  if (!events) return subscriber.stream->close();  // the client may continue from its last id
  std::string text;
  for (const EventRecord& event : *events) {
    if (event.number > published_) break;  // publish() sends it
    if (shows_to(event, subscriber.uid)) text += event_stream_text(event);
    subscriber.heard = event.number;
  }
  if (events->size() < read_at_once) subscriber.heard = published_;
  subscriber.behind = subscriber.heard < published_;
  subscriber.idle_piece = text.empty();
  if (!text.empty())
    (void)subscriber.stream->send(std::make_shared<const std::string>(std::move(text)));
}

EventFeed::Text EventFeed::text_for(const Subscriber& subscriber,
                                    const std::vector<EventRecord>& events) {
  std::string text;
  for (const EventRecord& event : events)
    if (event.number > subscriber.heard && concerns(event, subscriber.uid))
      text += event_stream_text(event);
  return text.empty() ? nullptr : std::make_shared<const std::string>(std::move(text));
}

void EventFeed::publish(Duration now, bool at_once) {
  std::erase_if(subscribers_, [](const auto& each) { return each->stream->closed(); });
  const std::int64_t last = control_.last_event();
  if (last == published_) return;
  if (!at_once && !subscribers_.empty() && now < next_) return;
  next_ = now + between_writes(subscribers_.size());
  if (subscribers_.empty()) {
    published_ = last;
    return;
  }
  const std::vector<EventRecord> events = control_.events_since(published_);
  const bool whole = !events.empty() && events.front().number == published_ + 1;
  if (whole) {
    // Texts by user and first event: usually a handful for all clients.
    std::map<std::pair<std::optional<std::uint32_t>, std::int64_t>, Text> texts;
    for (const auto& each : subscribers_) {
      if (each->behind || each->heard >= last) continue;
      const auto [text, fresh] = texts.try_emplace({each->uid, each->heard});
      if (fresh) text->second = text_for(*each, events);
      each->heard = last;
      if (text->second) (void)each->stream->send(text->second);
    }
  }
  published_ = last;
  // Clients that were behind still are; if control no longer has all new events, every client is.
  for (const auto& each : subscribers_)
    if (each->heard < published_) {
      each->behind = true;
      catch_up(each);
    }
}

}  // namespace cleave
