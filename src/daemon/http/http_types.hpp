#pragma once
// What passes between the server and whoever answers: requests, answers and streams, without a word
// about sockets.

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

/// Who is at the other end, as the system says (SO_PEERCRED): those of the process that connected.
struct HttpPeer {
  std::uint32_t uid = 0, gid = 0;
  std::int32_t pid = 0;
  friend bool operator==(const HttpPeer&, const HttpPeer&) = default;
};

struct HttpRequest {
  HttpPeer peer;
  std::string method;  // "GET"
  std::string path;    // "/v1/jobs/12", decoded
  std::map<std::string, std::string, std::less<>>
      query;                  // decoded; a key that is there twice is refused
  std::string last_event_id;  // the header of that name; mostly empty
  std::string body;
};

/// An open answer to which one may add until it is closed. Texts are shared: what many hear is kept
/// once.
class HttpStream {
 public:
  virtual ~HttpStream() = default;
  /// False: it is closed, or was closed now because the other end does not read.
  virtual bool send(std::shared_ptr<const std::string> text) = 0;
  /// Bytes that the system has not taken yet.
  [[nodiscard]] virtual std::size_t waiting() const = 0;
  [[nodiscard]] virtual bool closed() const = 0;
  /// After what waits was sent.
  virtual void close() = 0;
  /// Called whenever everything was taken; from the loop, never from within send().
  virtual void when_empty(std::function<void()> call) = 0;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;  // besides the usual ones
  std::string body;
  /// Where it is set the answer has no end: it is called once with what the rest is sent to. `body`
  /// comes first.
  std::function<void(std::shared_ptr<HttpStream>)> stream;
};

/// Where the answer to one request goes, now or later. Copies are of the same request; the first
/// answer counts, and where the last copy goes without one, that is told the client as 500. Only
/// used on the loop's thread, and it may outlive the server.
class HttpAnswer {
 public:
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
  /// Nobody waits for it any more.
  [[nodiscard]] bool gone() const { return !target_ || target_->gone(); }
  /// An answer of so many bytes would be taken now; for those who work long at one.
  [[nodiscard]] bool fits(std::size_t bytes) const { return target_ && target_->fits(bytes); }

 private:
  std::shared_ptr<Target> target_;
};

using HttpHandler = std::function<void(HttpRequest, HttpAnswer)>;

/// {"error": {...}}; `kind` as name(ErrorKind) gives it.
HttpResponse http_error(int status, std::string_view kind, std::string_view place,
                        std::string_view message, std::string_view remedy = {});
/// "Not Found"; empty where it has no name here.
std::string_view http_reason(int status);

/// "/v1/jobs?limit=3" in its parts. Nothing where it is no path, an escape is broken, a decoded
/// character is a control character, the text is not UTF-8, or a key is there twice.
struct HttpTarget {
  std::string path;
  std::map<std::string, std::string, std::less<>> query;
};
[[nodiscard]] std::optional<HttpTarget> parse_http_target(std::string_view target);

/// Bounds of the server, each documented in the sample configuration.
struct HttpLimits {
  std::size_t header_bytes = 16 << 10;     // of one request
  std::size_t body_bytes = 4 << 20;        // likewise: environments may be large
  std::size_t connections = 512;           // in all; root and the daemon's own user have 16 more
  std::size_t connections_per_user = 256;  // likewise
  std::size_t bytes_per_user = 64 << 20;   // held for all connections of a user, in and out
  std::size_t stream_bytes = 256 << 10;    // that wait for one reader of a stream
  Duration request_time = std::chrono::seconds(10);  // from its first byte to its last
  Duration idle_time =
      std::chrono::seconds(60);  // between requests, and without any progress of an answer
  Duration heartbeat = std::chrono::seconds(15);  // of streams on which nothing happens
  double requests_per_s = 5000;                   // of one user
  double burst = 10000;                           // so many at once
};

}  // namespace cleave
