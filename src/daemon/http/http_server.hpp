#pragma once
// HTTP/1.1 on a unix stream socket, for programs on this machine, and on one of TCP for browsers.
// One thread, one event loop: no connection waits for another. Connections are kept alive, and
// requests may be pipelined; they are answered in order.
//
// On the unix socket the system says which user connects; over TCP each request must have a pass,
// which an HttpGate looks for in its header. HttpLimits bounds what a user takes. A client that
// breaks a rule loses its connection and nothing else: malformed is 400, too large 413 or 431, too
// slow 408, too much 429.
//
// Boost.Beast does the parsing.

#include <cstddef>
#include <functional>
#include <memory>

#include "daemon/http/http_types.hpp"

namespace boost::asio {
class io_context;
}

namespace cleave {

/// The server: accepts connections and passes every complete request to a handler.
class HttpServer {
 public:
  /// The caller keeps `listening` and the loop alive. `handler` is called on the loop for every
  /// complete request. `own`: the daemon's user.
  HttpServer(boost::asio::io_context& loop, int listening, HttpLimits limits, std::uint32_t own,
             HttpHandler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Accepts on this socket from now on, in place of the one before; as that of the constructor.
  /// False where no descriptor is left for it: then nobody is accepted.
  [[nodiscard]] bool listen_on(int listening);
  /// Accepts on this TCP socket too, until stop(); as that of the constructor. Requests have their
  /// HttpRequest::web.
  [[nodiscard]] bool listen_over_tcp(int listening, HttpGate gate);
  /// These passes are no longer valid: what is served by them is closed.
  void end_passes(const std::function<bool(const HttpPass&)>& which);
  /// Applies to connections and requests from now on.
  void set_limits(const HttpLimits& limits);
  /// Accepts no more connections, closes idle ones and streams at once, and others after their
  /// answer.
  void stop();
  [[nodiscard]] std::size_t connections() const;
  /// Takes over a connected unix socket as if it had been accepted.
  void adopt(int connected);

  class Inside;

 private:
  std::shared_ptr<Inside> inside_;
};

}  // namespace cleave
