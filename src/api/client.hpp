#pragma once
// A client of the daemon's API: HTTP/1.1 over a unix socket, one question at a time. The connection
// is made with the first question and kept; if the daemon has closed it meanwhile, it is made
// again. Nothing here waits longer than it is told, and everything can be stopped from outside.
//
// Not for several threads: two questions at a time take two clients.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/event_stream.hpp"
#include "api/socket_place.hpp"
#include "base/json_fwd.hpp"
#include "base/result.hpp"

namespace cleave {

/// What the daemon answered.
struct ApiAnswer {
  int status = 200;  // below 400: what the daemon refuses is an Error
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  /// The header's text, whatever the case of its name; empty where there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const;
};

/// One connection to the daemon, and the questions asked over it.
class ApiClient {
 public:
  struct Settings {
    std::chrono::milliseconds patience =
        std::chrono::seconds(60);        // until an answer is there whole
    std::size_t most_bytes = 64U << 20;  // of an answer
    /// Asked ten times a second while it waits; true makes it fail at once.
    std::function<bool()> stop;
  };
  /// Tries the places in their order. Where a place was not chosen by the user, only this user or
  /// root may listen there; anyone else could be after what is sent.
  ApiClient(std::vector<SocketPlace> places, Settings settings);
  explicit ApiClient(std::vector<SocketPlace> places);
  ~ApiClient();
  ApiClient(ApiClient&&) noexcept;
  ApiClient& operator=(ApiClient&&) noexcept;

  /// An empty body is none; others are JSON. `patience` is added to that of the settings, for
  /// questions that let the daemon wait. Fails where no daemon answers, and with the daemon's own
  /// error where it refuses.
  ///
  /// A question whose connection breaks is asked once more where that does no harm: a submission is
  /// not, once any of it was sent, since it may have been taken. One with a key (submit) is.
  [[nodiscard]] Result<ApiAnswer> ask(std::string_view method, const std::string& target,
                                      const std::string& body = {},
                                      std::chrono::milliseconds patience = {});
  /// The same for an answer in JSON.
  [[nodiscard]] Result<Json> ask_json(std::string_view method, const std::string& target,
                                      const std::string& body = {},
                                      std::chrono::milliseconds patience = {});

  /// Submits a job under this key, so that it is taken once however often this is called; the
  /// answer's status is 200 where it had been taken before, else 201.
  [[nodiscard]] Result<ApiAnswer> submit(const std::string& body, const std::string& key);
  /// The same of several, {"submissions": [...], "common": {...}}: all are taken or none, and the
  /// answer is {"jobs": [number, ...]}.
  [[nodiscard]] Result<ApiAnswer> submit_several(const std::string& body, const std::string& key);

  /// Follows server-sent events until `on_event` says false, the stream ends or breaks (an error),
  /// or `stop`. `last_id` is sent as Last-Event-ID where it is not empty, and kept up to date, so
  /// that calling again goes on where it was.
  [[nodiscard]] Result<void> follow(const std::string& target, std::string& last_id,
                                    const std::function<bool(const ServerEvent&)>& on_event);

  /// Whether the last failure was that no daemon answered, or its connection broke: it may be back
  /// soon.
  [[nodiscard]] bool unreachable() const;
  /// Whether the last question had been sent, or a part of it, when its connection broke: it may
  /// have been carried out.
  [[nodiscard]] bool may_be_taken() const;
  /// Whether the last failure was that `stop` said so.
  [[nodiscard]] bool stopped() const;

 private:
  class Connection;
  std::unique_ptr<Connection> connection_;
};

/// A part of a path or query with everything but letters, digits and -._~ as %XX.
[[nodiscard]] std::string percent_encoded(std::string_view text);

}  // namespace cleave
