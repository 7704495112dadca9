#pragma once
// HTTP/1.1 on a unix stream socket, for programs of this machine. One thread, one loop: whatever
// comes in is read as far as it goes, and nobody waits for anybody else. Connections are kept, and
// requests may be sent without waiting for the answers before; they are answered in order.
//
// Who connects is known by the system. What a user takes is bounded by HttpLimits, and whoever
// breaks a rule loses his connection and nothing else: malformed is 400, too large 413 or 431, too
// slow 408, too much 429.
//
// Parsing is Boost.Beast's.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "daemon/http/http_types.hpp"

namespace boost::asio {
class io_context;
}

namespace cleave {

class HttpServer {
 public:
  /// `listening` stays the caller's, as the loop does; `handler` is called on the loop for every
  /// complete request. `own`: the daemon's user.
  HttpServer(boost::asio::io_context& loop, int listening, HttpLimits limits, std::uint32_t own,
             HttpHandler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// For connections and requests from now on.
  void set_limits(const HttpLimits& limits);
  /// Takes no more connections and closes those that are idle; the others when they are answered,
  /// streams at once.
  void stop();
  [[nodiscard]] std::size_t connections() const;
  /// Takes a connected socket as if it had come in; the number is the server's from here on.
  void adopt(int connected);

  class Inside;

 private:
  std::shared_ptr<Inside> inside_;
};

}  // namespace cleave
