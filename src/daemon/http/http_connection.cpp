#include "daemon/http/http_connection.hpp"

#include <poll.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <exception>
#include <vector>

#include "base/format.hpp"

namespace cleave {

namespace http = boost::beast::http;
using boost::system::error_code;

namespace {

constexpr std::size_t piece = 16 << 10;       // read at once
constexpr std::size_t most_ahead = 64 << 10;  // of requests that wait for an earlier answer
constexpr std::size_t most_short = 64 << 10;  // of a body
constexpr std::size_t most_lingering = 8 << 20;
constexpr Duration longest_lingering = std::chrono::seconds(2);
constexpr Duration time_for_last_words = std::chrono::seconds(10);
constexpr std::size_t most_buffers = 64;       // given to the system at once
constexpr std::size_t most_unknown = 4 << 10;  // of the body of a user who is not known

class AnswerTarget final : public HttpAnswer::Target {
 public:
  AnswerTarget(std::weak_ptr<HttpConnection> connection, std::uint64_t number)
      : connection_(std::move(connection)), number_(number) {}
  ~AnswerTarget() override {
    answer(http_error(500, "internal", "", "the daemon did not answer this request"));
  }
  AnswerTarget(const AnswerTarget&) = delete;
  AnswerTarget& operator=(const AnswerTarget&) = delete;
  void answer(HttpResponse response) override {
    const auto connection = std::exchange(connection_, {}).lock();
    if (connection) connection->respond(number_, std::move(response));
  }
  [[nodiscard]] bool gone() const override {
    const auto connection = connection_.lock();
    return !connection || !connection->waits_for(number_);
  }
  [[nodiscard]] bool fits(std::size_t bytes) const override {
    const auto connection = connection_.lock();
    return connection && connection->fits(bytes);
  }

 private:
  std::weak_ptr<HttpConnection> connection_;
  std::uint64_t number_;
};

std::string text_of(boost::beast::string_view text) {
  return {text.data(), text.size()};
}

/// All that there are of this name, as HTTP joins them.
template <class Message>
std::optional<std::string> header_of(const Message& message, const char* name) {
  std::optional<std::string> all;
  const auto [first, last] = message.equal_range(name);
  for (auto each = first; each != last; ++each)
    all = all ? fmt::format("{}, {}", *all, text_of(each->value())) : text_of(each->value());
  return all;
}

template <class Message>
HttpWebHead web_head_of(const Message& message) {
  return {text_of(message.method_string()),
          text_of(message.target()),
          header_of(message, "Host"),
          header_of(message, "Origin"),
          header_of(message, "Sec-Fetch-Site"),
          header_of(message, "X-Cleave-Page"),
          header_of(message, "Cookie"),
          header_of(message, "Authorization"),
          header_of(message, "Accept-Encoding").value_or(""),
          header_of(message, "If-None-Match").value_or("")};
}

}  // namespace

Duration http_now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

HttpConnection::HttpConnection(Socket socket, std::optional<HttpPeer> peer,
                               std::shared_ptr<HttpHouse> house)
    : socket_(std::move(socket)),
      rest_(socket_.get_executor()),
      is_web_(!peer),
      peer_(peer.value_or(HttpPeer{unknown_user, unknown_user, 0})),
      house_(std::move(house)),
      began_(http_now()) {}

HttpConnection::~HttpConnection() {
  // Still open only if the server itself is being destroyed.
  if (!closed_) {
    (void)house_->users.hold(peer_.uid, held_, 0);
    house_->users.disconnect(peer_.uid);
  }
}

void HttpConnection::start() {
  deadline_ = http_now() + patience();
  read();
}

/// Between requests. What may be anybody's has no longer than one request may take.
Duration HttpConnection::patience() const {
  return is_unknown() ? house_->limits.request_time : house_->limits.idle_time;
}

void HttpConnection::drop() {
  if (std::exchange(closed_, true)) return;
  const auto self = shared_from_this();  // the server drops its reference below
  error_code ignored;
  static_cast<void>(socket_.close(ignored));
  rest_.cancel();
  if (std::exchange(is_long_, false)) house_->long_reads.leave(peer_.uid, this);
  (void)house_->users.hold(peer_.uid, std::exchange(held_, 0), 0);
  house_->users.disconnect(peer_.uid);
  out_.clear();
  out_bytes_ = 0;
  when_empty_ = nullptr;
  parser_.reset();
  if (house_->left) house_->left(this);
}

/// Charges the user for what the connection holds.
bool HttpConnection::hold() {
  std::size_t after = in_.size();
  if (parser_) after += parser_->get().body().size();
  // Texts of a stream are shared with other streams, and each stream has a bound of its own.
  if (phase_ != Phase::stream) after += out_bytes_;
  if (!house_->users.hold(peer_.uid, held_, after)) return false;
  held_ = after;
  return true;
}

bool HttpConnection::other_end_is_gone() {
  pollfd asked{socket_.native_handle(), 0, 0};
  return ::poll(&asked, 1, 0) > 0 && (asked.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

void HttpConnection::read() {
  if (reading_ || closed_) return;
  if (input_ended_) {
    if (phase_ == Phase::idle || phase_ == Phase::request || phase_ == Phase::lingering) drop();
    return;
  }
  if ((phase_ == Phase::handling || phase_ == Phase::answering) && in_.size() >= most_ahead) return;
  const bool drops = phase_ == Phase::lingering || phase_ == Phase::stream;
  if (const Duration rest = house_->users.rest(peer_.uid, http_now()); rest > Duration{} && !drops)
    return read_later(rest);
  if (!may_read_on()) return;
  reading_ = true;
  socket_.async_read_some(in_.prepare(piece),
                          [self = shared_from_this()](const error_code& failed, std::size_t bytes) {
                            self->on_read(failed, bytes);
                          });
}

/// Else it goes on when the user's other long requests are answered, and its time begins then.
bool HttpConnection::may_read_on() {
  if (phase_ != Phase::request || !parser_ || parser_->get().body().size() < most_short)
    return true;
  const bool may =
      house_->long_reads.enter(peer_.uid, this, [weak = std::weak_ptr(shared_from_this())] {
        const auto self = weak.lock();
        if (!self || self->closed_) return;
        self->deadline_ = http_now() + self->house_->limits.request_time;
        self->reading_ = false;
        self->read();
      });
  is_long_ = true;
  if (may) return true;
  reading_ = true;
  deadline_.reset();
  return false;
}

/// The rest of what the user sends waits in the socket meanwhile.
void HttpConnection::read_later(Duration rest) {
  reading_ = true;
  if (phase_ == Phase::request && deadline_) *deadline_ += rest;
  rest_.expires_after(rest);
  rest_.async_wait([self = shared_from_this()](const error_code& /*cancelled*/) {
    self->reading_ = false;
    self->read();
  });
}

void HttpConnection::on_read(const error_code& failed, std::size_t bytes) {
  reading_ = false;
  if (closed_) return;
  if (failed == boost::asio::error::eof) return on_end_of_input();
  if (failed) return drop();
  house_->users.received(peer_.uid, bytes, http_now());
  in_.commit(bytes);
  switch (phase_) {
    case Phase::idle:
    case Phase::request:
      return parse();
    case Phase::handling:
    case Phase::answering:
      if (!hold()) return drop();
      return read();
    case Phase::lingering:
      lingered_ += bytes;
      if (lingered_ > most_lingering) return drop();
      [[fallthrough]];
    case Phase::stream:
      in_.consume(in_.size());
      return read();
  }
}

/// A client that has closed its sending side may still read answers; it is gone only when both are
/// closed.
void HttpConnection::on_end_of_input() {
  input_ended_ = true;
  if (phase_ == Phase::idle || phase_ == Phase::request || phase_ == Phase::lingering ||
      other_end_is_gone())
    drop();
}

void HttpConnection::begin_request() {
  parser_.emplace();
  // Beast counts the bytes of an incomplete header, so the limit is exact only to a few bytes.
  parser_->header_limit(static_cast<std::uint32_t>(house_->limits.header_bytes));
  parser_->body_limit(house_->limits.body_bytes);
  parser_->eager(true);
  continued_ = false;
  keep_ = true;
  head_only_ = false;
  web_head_.reset();
  header_ = 0;
  ++number_;
  phase_ = Phase::request;
  deadline_ = http_now() + house_->limits.request_time;
}

void HttpConnection::parse() {
  while (!closed_) {
    if (phase_ == Phase::idle) {
      if (in_.size() == 0) break;
      begin_request();
    }
    error_code failed;
    const bool header_was_done = parser_->is_header_done();
    const std::size_t used = parser_->put(in_.data(), failed);
    in_.consume(used);
    if (failed == http::error::need_more) failed = {};
    if (failed == http::error::header_limit || is_header_too_long(used, header_was_done))
      return refuse(431,
                    fmt::format("the header has more than {} bytes", house_->limits.header_bytes));
    if (failed == http::error::body_limit)
      return refuse(413, fmt::format("the body has more than {} bytes", house_->limits.body_bytes));
    if (failed) return refuse(400, fmt::format("this is not HTTP/1.1: {}", failed.message()));
    if (!hold())
      return refuse(429, "your connections hold too much data together", "send less at a time");
    if (is_encoded_otherwise())
      return refuse(501, "the only Transfer-Encoding that is understood is chunked");
    if (!is_admitted()) return;
    if (parser_->is_done()) return dispatch();
    offer_to_continue();
    if (used == 0 || in_.size() == 0) break;
  }
  read();
}

/// Beast's own limit is on what it has not taken yet; many short lines pass it.
bool HttpConnection::is_header_too_long(std::size_t used, bool was_done) {
  if (was_done) return false;
  const std::size_t of_body = parser_->is_header_done() ? parser_->get().body().size() : 0;
  header_ += used - std::min(used, of_body);
  return header_ > house_->limits.header_bytes;
}

/// Over TCP a request is somebody's by its header, before anything else of it is taken.
bool HttpConnection::is_admitted() {
  if (!is_web_ || web_head_ || !parser_->is_header_done()) return true;
  web_head_ = web_head_of(parser_->get());
  HttpAdmission admission = house_->gate.admit(*web_head_);
  pass_ = admission.pass;
  head_only_ = web_head_->method == "HEAD";
  if (admission.refusal) {
    refuse(std::move(*admission.refusal));
    return false;
  }
  if (!become(pass_ ? pass_->peer : HttpPeer{unknown_user, unknown_user, 0})) {
    refuse(429, "you have too many connections", "close some");
    return false;
  }
  if (!pass_ && (parser_->chunked() || parser_->content_length().value_or(0) > most_unknown)) {
    refuse(413, fmt::format("without a session a body has at most {} bytes", most_unknown));
    return false;
  }
  return true;
}

bool HttpConnection::become(const HttpPeer& peer) {
  if (peer.uid != peer_.uid) {
    const std::size_t held = std::exchange(held_, 0);
    (void)house_->users.hold(peer_.uid, held, 0);
    if (!house_->users.move(peer_.uid, peer.uid, http_now())) return false;
  }
  peer_ = peer;
  return hold();
}

/// Beast takes any coding whose name ends in "chunked" for this one.
bool HttpConnection::is_encoded_otherwise() const {
  if (!parser_->is_header_done()) return false;
  const auto coding = parser_->get()[http::field::transfer_encoding];
  return !coding.empty() && !boost::beast::iequals(coding, "chunked");
}

void HttpConnection::offer_to_continue() {
  if (continued_ || !parser_->is_header_done()) return;
  continued_ = true;
  if (boost::beast::iequals(parser_->get()[http::field::expect], "100-continue"))
    write("HTTP/1.1 100 Continue\r\n\r\n");
}

void HttpConnection::dispatch() {
  auto message = parser_->release();
  parser_.reset();
  keep_ = message.keep_alive() && !house_->stopping;
  head_only_ = message.method() == http::verb::head;
  phase_ = Phase::handling;
  deadline_.reset();
  if (!hold()) return drop();
  const auto target = parse_http_target(text_of(message.target()));
  const std::uint64_t number = number_;
  const auto self = shared_from_this();
  read();
  if (!house_->users.request(peer_.uid, http_now())) {
    HttpResponse response = http_error(429, "infeasible", "", "you send too many requests",
                                       "send fewer, or wait for each answer");
    response.headers.emplace_back("Retry-After", "1");
    return respond(number, std::move(response));
  }
  if (!target)
    return respond(number,
                   http_error(400, "bad input", "", "the path of the request cannot be read"));
  HttpRequest request;
  request.peer = peer_;
  request.method = text_of(message.method_string());
  request.path = target->path;
  request.query = target->query;
  request.last_event_id = text_of(message["Last-Event-ID"]);
  request.idempotency_key = header_of(message, "Idempotency-Key");
  request.body = std::move(message.body());
  if (web_head_) request.web = {std::move(*web_head_), pass_};
  const HttpAnswer answer(std::make_shared<AnswerTarget>(self, number));
  try {
    house_->handler(std::move(request), answer);
  } catch (const std::exception& thrown) {
    answer(http_error(500, "internal", "",
                      fmt::format("the request could not be served: {}", thrown.what())));
  }
}

void HttpConnection::refuse(int status, std::string_view message, std::string_view remedy) {
  const std::string_view kind = status == 429 || status == 408 ? "infeasible" : "bad input";
  refuse(http_error(status, kind, "", message, remedy));
}

void HttpConnection::refuse(HttpResponse response) {
  parser_.reset();
  in_.consume(in_.size());
  (void)hold();
  keep_ = false;
  phase_ = Phase::handling;
  respond(number_, std::move(response));
}

bool HttpConnection::fits(std::size_t bytes) const {
  return !closed_ && house_->users.fits(peer_.uid, bytes);
}

bool HttpConnection::waits_for(std::uint64_t number) const {
  return !closed_ && phase_ == Phase::handling && number == number_;
}

std::string HttpConnection::head_of(const HttpResponse& response) const {
  std::string head =
      fmt::format("HTTP/1.1 {} {}\r\n", response.status, http_reason(response.status));
  if (!response.content_type.empty())
    head += fmt::format("Content-Type: {}\r\n", response.content_type);
  for (const auto& [name, value] : response.headers) head += fmt::format("{}: {}\r\n", name, value);
  if (is_web_) {
    for (const auto& [name, value] : house_->gate.headers)
      head += fmt::format("{}: {}\r\n", name, value);
    if (std::ranges::find(response.headers, "Cache-Control",
                          &std::pair<std::string, std::string>::first) == response.headers.end())
      head += "Cache-Control: no-store\r\n";
  }
  if (!response.stream) head += fmt::format("Content-Length: {}\r\n", response.body.size());
  if (!keep_ || response.stream) head += "Connection: close\r\n";
  return head += "\r\n";
}

void HttpConnection::respond(std::uint64_t number, HttpResponse response) {
  if (!waits_for(number)) return;
  phase_ = Phase::answering;
  if (std::exchange(is_long_, false)) house_->long_reads.leave(peer_.uid, this);
  if (house_->stopping) keep_ = false;
  if (!house_->users.hold(peer_.uid, held_, held_ + response.body.size())) {
    response = http_error(429, "infeasible", "", "your connections hold too many unread answers",
                          "read the answers");
    keep_ = false;
  } else {
    held_ += response.body.size();
  }
  std::string text = head_of(response);
  if (!head_only_) text += response.body;
  if (response.stream) {
    phase_ = Phase::stream;
    (void)hold();
  }
  write(std::move(text));
  if (response.stream) response.stream(shared_from_this());
}

void HttpConnection::write(std::string text) {
  out_bytes_ += text.size();
  out_.push_back(std::make_shared<const std::string>(std::move(text)));
  (void)hold();
  flush();
}

void HttpConnection::flush() {
  if (writing_ || closed_ || out_.empty()) return;
  std::vector<boost::asio::const_buffer> buffers;
  std::size_t skip = front_sent_;
  for (const auto& text : out_) {
    if (buffers.size() == most_buffers) break;
    buffers.emplace_back(text->data() + skip, text->size() - skip);
    skip = 0;
  }
  in_flight_ = buffers.size();
  writing_ = true;
  if (!closing_ && phase_ != Phase::request) deadline_ = http_now() + house_->limits.idle_time;
  last_sent_ = http_now();
  socket_.async_write_some(
      buffers, [self = shared_from_this()](const error_code& failed, std::size_t bytes) {
        self->on_written(failed, bytes);
      });
}

void HttpConnection::on_written(const error_code& failed, std::size_t bytes) {
  writing_ = false;
  in_flight_ = 0;
  if (closed_) return;
  if (failed) return drop();
  out_bytes_ -= std::min(bytes, out_bytes_);
  front_sent_ += bytes;
  while (!out_.empty() && front_sent_ >= out_.front()->size()) {
    front_sent_ -= out_.front()->size();
    out_.pop_front();
  }
  (void)hold();
  if (!out_.empty()) return flush();
  on_all_written();
}

void HttpConnection::on_all_written() {
  if (closing_) return linger();
  if (phase_ == Phase::stream) {
    deadline_.reset();
    if (when_empty_) {
      const auto call = when_empty_;
      call();
    }
    return;
  }
  if (phase_ != Phase::answering) return;  // it was only "100 Continue"
  if (!keep_) return linger();
  phase_ = Phase::idle;
  deadline_ = http_now() + patience();
  parse();
}

void HttpConnection::linger() {
  phase_ = Phase::lingering;
  deadline_ = http_now() + longest_lingering;
  error_code ignored;
  static_cast<void>(socket_.shutdown(Socket::shutdown_send, ignored));
  in_.consume(in_.size());
  (void)hold();
  read();
}

bool HttpConnection::send(std::shared_ptr<const std::string> text) {
  if (closed_ || closing_ || phase_ != Phase::stream) return false;
  if (!out_.empty() && out_bytes_ + text->size() > house_->limits.stream_bytes) {
    // What the system has begun to send stays whole, so that the client can read the last words.
    const std::size_t kept = std::max<std::size_t>(in_flight_, 1);
    while (out_.size() > kept) {
      out_bytes_ -= out_.back()->size();
      out_.pop_back();
    }
    write(": too slow; ask again with the last id\n\n");
    close();
    return false;
  }
  out_bytes_ += text->size();
  out_.push_back(std::move(text));
  flush();
  return true;
}

void HttpConnection::close() {
  if (closed_ || std::exchange(closing_, true)) return;
  when_empty_ = nullptr;
  deadline_ = http_now() + time_for_last_words;
  if (out_.empty()) linger();
}

void HttpConnection::look_at_the_clock(Duration now) {
  if (closed_) return;
  if (input_ended_ && other_end_is_gone()) return drop();
  if (pass_ && now >= pass_->until) end_pass();
  if (deadline_ && now >= *deadline_) {
    if (phase_ == Phase::request && out_.empty())
      return refuse(408, "the request did not arrive in time");
    return drop();
  }
  if (phase_ == Phase::stream && !closing_ && out_.empty() &&
      now - last_sent_ >= house_->limits.heartbeat) {
    static const auto beat = std::make_shared<const std::string>(":\n\n");
    (void)send(beat);
  }
}

void HttpConnection::end_pass() {
  pass_.reset();
  if (phase_ == Phase::stream) return close();
  if (phase_ == Phase::request || phase_ == Phase::handling) drop();
}

void HttpConnection::stop() {
  keep_ = false;
  if (phase_ == Phase::idle || phase_ == Phase::request) return drop();
  if (phase_ == Phase::stream) close();
}

}  // namespace cleave
