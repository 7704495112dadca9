#pragma once
// What each user takes of the server: connections, memory, requests and bytes per second, so that
// no user takes another's share. It has no clock: times are passed in.

#include <cstdint>
#include <unordered_map>

#include "base/time.hpp"
#include "daemon/http/http_types.hpp"

namespace cleave {

/// The accounts of all users.
class HttpUsers {
 public:
  /// `own`: the daemon's user. That user and root can still connect when the server is full.
  HttpUsers(const HttpLimits& limits, std::uint32_t own) : limits_(limits), own_(own) {}

  void set_limits(const HttpLimits& limits) { limits_ = limits; }
  /// Counts a connection, or refuses it.
  [[nodiscard]] bool connect(std::uint32_t uid, Duration now);
  void disconnect(std::uint32_t uid);
  /// A connection that holds nothing becomes another user's, or is refused to that user and stays.
  [[nodiscard]] bool move(std::uint32_t from, std::uint32_t to, Duration now);
  /// Counts a request, or refuses it.
  [[nodiscard]] bool request(std::uint32_t uid, Duration now);
  /// A connection that held `before` bytes wants to hold `after`. If that exceeds the user's share,
  /// it is refused and nothing changes.
  [[nodiscard]] bool hold(std::uint32_t uid, std::size_t before, std::size_t after);
  /// So much was read from a connection of the user: what is read must also be parsed and written,
  /// by the loop that serves everybody.
  void received(std::uint32_t uid, std::size_t bytes, Duration now);
  /// How long nothing more is to be read from the user's connections; zero: not at all.
  [[nodiscard]] Duration rest(std::uint32_t uid, Duration now);
  /// Whether the user may hold this many more bytes.
  [[nodiscard]] bool fits(std::uint32_t uid, std::size_t more) const;
  /// Forgets users who have no connections and have their whole share again.
  void tidy(Duration now);

  [[nodiscard]] std::size_t connections() const { return connections_; }
  [[nodiscard]] std::size_t known() const { return users_.size(); }

 private:
  struct User {
    std::size_t connections = 0, bytes = 0;
    double tokens = 0;   // requests
    double to_read = 0;  // bytes; below zero: this number too many were read
    Duration filled{};
  };
  User& user(std::uint32_t uid, Duration now);
  void fill(User& user, Duration now) const;
  [[nodiscard]] std::size_t most_connections(std::uint32_t uid) const;
  /// What may be read at once.
  [[nodiscard]] double most_to_read() const { return limits_.bytes_per_s / 4; }

  HttpLimits limits_;
  std::uint32_t own_;
  std::size_t connections_ = 0;
  std::unordered_map<std::uint32_t, User> users_;
};

}  // namespace cleave
