#pragma once
// What each user takes of the server: connections, memory and requests a second, so that nobody
// takes the others' share. Knows no clock: times are given.

#include <cstdint>
#include <unordered_map>

#include "base/time.hpp"
#include "daemon/http/http_types.hpp"

namespace cleave {

class HttpUsers {
 public:
  /// `own`: the daemon's user; he and root get in where the server is full of others.
  HttpUsers(const HttpLimits& limits, std::uint32_t own) : limits_(limits), own_(own) {}

  void set_limits(const HttpLimits& limits) { limits_ = limits; }
  /// Takes a connection, or refuses it.
  [[nodiscard]] bool connect(std::uint32_t uid, Duration now);
  void disconnect(std::uint32_t uid);
  /// Takes one request of his share, or refuses it.
  [[nodiscard]] bool request(std::uint32_t uid, Duration now);
  /// A connection that held `before` bytes wants to hold `after`. Refused where it grows beyond the
  /// share; nothing changes then.
  [[nodiscard]] bool hold(std::uint32_t uid, std::size_t before, std::size_t after);
  /// Whether so many bytes more would be held.
  [[nodiscard]] bool fits(std::uint32_t uid, std::size_t more) const;
  /// Forgets users who have no connection and their whole share again.
  void tidy(Duration now);

  [[nodiscard]] std::size_t connections() const { return connections_; }
  [[nodiscard]] std::size_t known() const { return users_.size(); }

 private:
  struct User {
    std::size_t connections = 0, bytes = 0;
    double tokens = 0;
    Duration filled{};
  };
  User& user(std::uint32_t uid, Duration now);
  void fill(User& user, Duration now) const;

  HttpLimits limits_;
  std::uint32_t own_;
  std::size_t connections_ = 0;
  std::unordered_map<std::uint32_t, User> users_;
};

}  // namespace cleave
