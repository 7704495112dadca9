#pragma once
// What passes between the server and its handler: requests, answers and streams. Nothing here knows
// of sockets.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.hpp"

namespace cleave {

/// The client, as the system names it (SO_PEERCRED): ids of the process that connected.
struct HttpPeer {
  std::uint32_t uid = 0, gid = 0;
  std::int32_t pid = 0;
  friend bool operator==(const HttpPeer&, const HttpPeer&) = default;
};

/// The user of whom nothing is known yet: (uid_t)-1, which the system gives to nobody.
inline constexpr std::uint32_t unknown_user = UINT32_MAX;

/// Where requests do not come from a unix socket, what their header says that decides about them.
/// A name that comes twice is joined by ", ".
struct HttpWebHead {
  std::string method, target;  // "GET", "/v1/jobs?limit=3"
  std::optional<std::string> host, origin, fetch_site, page_mark, cookie, authorization;
  std::string encodings, known_tags;  // Accept-Encoding, If-None-Match
};

/// By what a request over TCP acts as a user: a token, or a session that was opened with it.
struct HttpPass {
  HttpPeer peer;
  std::int64_t token = 0, session = 0;  // their numbers; 0: no session
  Duration until{};                     // on the steady clock
};

/// What a request over TCP has besides.
struct HttpWebPart {
  HttpWebHead head;
  std::optional<HttpPass> pass;
};

/// One complete request.
struct HttpRequest {
  HttpPeer peer;
  std::string method;  // "GET"
  std::string path;    // "/v1/jobs/12", decoded
  std::map<std::string, std::string, std::less<>>
      query;  // decoded; a key that occurs twice is refused
  // Headers of these names; usually there are none. One that comes twice is joined by ", ".
  std::string last_event_id;
  std::optional<std::string> idempotency_key;
  std::string body;
  std::optional<HttpWebPart> web = {};  // nothing: it came by the unix socket
};

/// An answer that stays open, so that text can be added until it is closed. Texts are shared: one
/// that goes to many clients is kept once.
class HttpStream {
 public:
  virtual ~HttpStream() = default;
  /// Returns false if it is closed, or was closed now because the client does not read.
  virtual bool send(std::shared_ptr<const std::string> text) = 0;
  /// Bytes that the system has not accepted yet.
  [[nodiscard]] virtual std::size_t waiting() const = 0;
  [[nodiscard]] virtual bool closed() const = 0;
  /// Closes after everything that waits was sent.
  virtual void close() = 0;
  /// `call` is called whenever everything was accepted; on the loop, never from within send().
  virtual void when_empty(std::function<void()> call) = 0;
};

/// An answer, or the beginning of a stream.
struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;  // besides the usual ones
  std::string body;
  /// If set, the answer is a stream: it is called once with the stream, after `body` was written.
  std::function<void(std::shared_ptr<HttpStream>)> stream;
};

/// What becomes of a request over TCP, decided from its header.
struct HttpAdmission {
  std::optional<HttpPass> pass;              // nothing: of a user who is not known
  std::optional<HttpResponse> refusal = {};  // the answer, if it is not served
};

/// Where the answer to one request goes, now or later. Copies stand for the same request, and the
/// first answer counts. If the last copy is destroyed without an answer, the client gets a 500.
/// Used on the loop's thread only; may outlive the server.
class HttpAnswer {
 public:
  /// What takes the answer: a connection, or a test's stand-in.
  class Target {
   public:
    virtual ~Target() = default;
    virtual void answer(HttpResponse response) = 0;
    [[nodiscard]] virtual bool gone() const = 0;
    [[nodiscard]] virtual bool fits(std::size_t bytes) const = 0;
  };
  HttpAnswer() = default;
  explicit HttpAnswer(std::shared_ptr<Target> target) : target_(std::move(target)) {}
  void operator()(HttpResponse response) const {
    if (target_) target_->answer(std::move(response));
  }
  /// Whether the client no longer waits for it.
  [[nodiscard]] bool gone() const { return !target_ || target_->gone(); }
  /// Whether an answer of this size would be accepted now; asked before long work on one.
  [[nodiscard]] bool fits(std::size_t bytes) const { return target_ && target_->fits(bytes); }

 private:
  std::shared_ptr<Target> target_;
};

using HttpHandler = std::function<void(HttpRequest, HttpAnswer)>;

/// How requests over TCP are met.
struct HttpGate {
  /// Called once for each, as soon as its header is there.
  std::function<HttpAdmission(const HttpWebHead&)> admit;
  /// What every answer has; Cache-Control: no-store is added to those without one.
  std::vector<std::pair<std::string, std::string>> headers;
};

/// {"error": {...}}; `kind` as name(ErrorKind) gives it.
HttpResponse http_error(int status, std::string_view kind, std::string_view place,
                        std::string_view message, std::string_view remedy = {});
/// "Not Found"; empty for a status that is not in the table.
std::string_view http_reason(int status);

/// The parts of "/v1/jobs?limit=3", decoded.
struct HttpTarget {
  std::string path;
  std::map<std::string, std::string, std::less<>> query;
};
/// Nothing if it is not a path, an escape is broken, a decoded character is a control character,
/// the text is not UTF-8, or a key occurs twice.
[[nodiscard]] std::optional<HttpTarget> parse_http_target(std::string_view target);

/// Limits of the server, each explained in the sample configuration.
struct HttpLimits {
  std::size_t header_bytes = 16 << 10;     // of one request
  std::size_t body_bytes = 4 << 20;        // likewise: environments may be large
  std::size_t connections = 1024;          // in all; root and the daemon's own user have 16 more
  std::size_t connections_per_user = 512;  // likewise
  std::size_t unknown_connections = 64;    // over TCP, of users who are not known yet
  std::size_t bytes_per_user = 64 << 20;   // held for all connections of a user, in and out
  std::size_t stream_bytes = 256 << 10;    // waiting for one reader of a stream
  Duration request_time = std::chrono::seconds(10);  // from its first byte to its last
  Duration idle_time =
      std::chrono::seconds(60);  // between requests, or without progress of an answer
  Duration heartbeat = std::chrono::seconds(15);  // of a stream without events
  double requests_per_s = 5000;                   // of one user
  double burst = 10000;                           // of one user at once
  double bytes_per_s = 4 << 20;                   // read from all connections of one user
};

}  // namespace cleave
