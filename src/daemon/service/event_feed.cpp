#include "daemon/service/event_feed.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "daemon/service/views.hpp"

namespace cleave {

namespace {

constexpr std::size_t read_at_once = 200;
/// A write a step for each of hundreds of subscribers would take more time than the steps.
constexpr Duration between_writes = std::chrono::milliseconds(25);

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

/// One piece out of the store, in a turn of its own; the next when it was taken.
void EventFeed::catch_up(const SubscriberPtr& subscriber) {
  subscriber->behind = subscriber->heard < published_;
  if (!subscriber->behind || subscriber->in_turns || subscriber->stream->waiting() > 0) return;
  subscriber->in_turns = true;
  turns_.add(subscriber->uid.value_or(0), [this, weak = std::weak_ptr<Subscriber>(subscriber)] {
    const auto there = weak.lock();
    if (!there) return false;
    read_piece(*there);
    // Of a piece that was not his nothing is taken, so nothing else would have the next one read.
    there->in_turns = there->behind && there->stream->waiting() == 0 && !there->stream->closed() &&
                      there->idle_piece;
    return there->in_turns;
  });
}

/// All that happened is looked at, since whose it is tells no index.
void EventFeed::read_piece(Subscriber& subscriber) {
  subscriber.idle_piece = false;
  const auto events = store_.events(subscriber.heard, std::nullopt, read_at_once);
  if (!events) return subscriber.stream->close();  // he may come again with his last id
  std::string text;
  for (const EventRecord& event : *events) {
    if (event.number > published_) break;  // comes with the others
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
  next_ = now + between_writes;
  if (subscribers_.empty()) {
    published_ = last;
    return;
  }
  const std::vector<EventRecord> events = control_.events_since(published_);
  const bool whole = !events.empty() && events.front().number == published_ + 1;
  if (whole) {
    // By whose they are and from where on: mostly a handful for all.
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
  // Who was behind stays so a while longer; where the loop no longer has them all, everybody is.
  for (const auto& each : subscribers_)
    if (each->heard < published_) {
      each->behind = true;
      catch_up(each);
    }
}

}  // namespace cleave
