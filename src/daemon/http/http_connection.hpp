#pragma once
// One connection of the server; only http_server.cpp uses it.

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "daemon/http/http_types.hpp"
#include "daemon/http/http_users.hpp"
#include "daemon/http/long_reads.hpp"

namespace cleave {

/// What all connections of a server share.
struct HttpHouse {
  HttpLimits limits;
  HttpUsers users;
  LongReads long_reads;
  HttpHandler handler;
  HttpGate gate;                                    // of connections over TCP
  std::function<void(class HttpConnection*)> left;  // called when one is closed
  bool stopping = false;
};

/// Reads requests, hands them to the handler, and writes the answers, one request at a time.
class HttpConnection final : public HttpStream,
                             public std::enable_shared_from_this<HttpConnection> {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;

  /// `peer`: as the system names it; nothing of a connection over TCP, whose requests say each for
  /// itself by what they come.
  HttpConnection(Socket socket, std::optional<HttpPeer> peer, std::shared_ptr<HttpHouse> house);
  ~HttpConnection() override;
  void start();
  /// Closes what is past its time; called a few times a second.
  void look_at_the_clock(Duration now);
  void stop();
  /// Answers the request of this number, counted from 1; ignored if it was answered before.
  void respond(std::uint64_t number, HttpResponse response);
  [[nodiscard]] bool waits_for(std::uint64_t number) const;
  [[nodiscard]] bool fits(std::size_t bytes) const;
  /// Closes at once, without further words.
  void drop();
  /// Over TCP: the pass of the request being served, or of the last one.
  [[nodiscard]] const std::optional<HttpPass>& pass() const { return pass_; }
  /// The pass is no longer valid: a stream is closed, a request that waits is dropped.
  void end_pass();
  [[nodiscard]] bool is_unknown() const { return peer_.uid == unknown_user; }
  [[nodiscard]] Duration began() const { return began_; }

  bool send(std::shared_ptr<const std::string> text) override;
  [[nodiscard]] std::size_t waiting() const override { return out_bytes_; }
  [[nodiscard]] bool closed() const override { return closed_ || closing_; }
  void close() override;
  void when_empty(std::function<void()> call) override { when_empty_ = std::move(call); }

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  /// What the connection is doing.
  enum class Phase : std::uint8_t {
    idle,       // between requests
    request,    // part of a request has arrived
    handling,   // the handler has it
    answering,  // the answer is being written
    stream,     // the answer is a stream, without an end
    lingering,  // everything was sent; what still arrives is dropped, so that the client can read
                // the last words
  };

  void read();
  void read_later(Duration rest);
  [[nodiscard]] bool may_read_on();
  void on_read(const boost::system::error_code& failed, std::size_t bytes);
  void on_end_of_input();
  void parse();
  void begin_request();
  [[nodiscard]] bool is_admitted();
  [[nodiscard]] bool become(const HttpPeer& peer);
  [[nodiscard]] Duration patience() const;
  [[nodiscard]] bool is_header_too_long(std::size_t used, bool was_done);
  [[nodiscard]] bool is_encoded_otherwise() const;
  void offer_to_continue();
  void dispatch();
  void refuse(int status, std::string_view message, std::string_view remedy = {});
  void refuse(HttpResponse response);
  void write(std::string text);
  void flush();
  void on_written(const boost::system::error_code& failed, std::size_t bytes);
  void on_all_written();
  void linger();
  [[nodiscard]] bool hold();
  [[nodiscard]] bool other_end_is_gone();
  [[nodiscard]] std::string head_of(const HttpResponse& response) const;

  Socket socket_;
  boost::asio::steady_timer rest_;  // until more is read
  bool is_web_;
  HttpPeer peer_;
  std::shared_ptr<HttpHouse> house_;
  std::optional<HttpWebHead> web_head_;  // of the current request
  std::optional<HttpPass> pass_;
  Duration began_{};
  boost::beast::flat_buffer in_;
  std::optional<Parser> parser_;
  std::deque<std::shared_ptr<const std::string>> out_;
  std::size_t out_bytes_ = 0, front_sent_ = 0, in_flight_ = 0;
  std::size_t header_ = 0;    // bytes of the current request's header
  std::size_t held_ = 0;      // bytes charged to the user
  std::size_t lingered_ = 0;  // bytes dropped
  std::uint64_t number_ = 0;  // of the current request
  std::optional<Duration> deadline_;
  Duration last_sent_{};
  Phase phase_ = Phase::idle;
  bool reading_ = false, writing_ = false, input_ended_ = false, closed_ = false, closing_ = false;
  bool keep_ = true, head_only_ = false, continued_ = false;
  bool is_long_ = false;  // the request; it is in the line of its user's
  std::function<void()> when_empty_;
};

/// The steady clock.
Duration http_now();

}  // namespace cleave
