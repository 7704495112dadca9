#include "daemon/http/http_users.hpp"

#include <algorithm>
#include <iterator>

namespace cleave {

namespace {

constexpr std::size_t kept_for_operators = 16;
/// For how long may be read after a rest, at least.
constexpr double least_read_s = 0.01;

}  // namespace

void HttpUsers::fill(User& user, Duration now) const {
  const double passed = in_seconds(std::max(now - user.filled, Duration::zero()));
  user.tokens = std::min(limits_.burst, user.tokens + passed * limits_.requests_per_s);
  user.to_read = std::min(most_to_read(), user.to_read + passed * limits_.bytes_per_s);
  user.filled = std::max(now, user.filled);
}

HttpUsers::User& HttpUsers::user(std::uint32_t uid, Duration now) {
  const auto [found, is_new] = users_.try_emplace(uid);
  if (is_new) {
    found->second.tokens = limits_.burst;
    found->second.to_read = most_to_read();
    found->second.filled = now;
  }
  return found->second;
}

std::size_t HttpUsers::most_connections(std::uint32_t uid) const {
  if (uid == unknown_user) return limits_.unknown_connections;
  return limits_.connections_per_user + (uid == 0 || uid == own_ ? kept_for_operators : 0);
}

bool HttpUsers::connect(std::uint32_t uid, Duration now) {
  const std::size_t more = uid == 0 || uid == own_ ? kept_for_operators : 0;
  User& who = user(uid, now);
  if (connections_ >= limits_.connections + more || who.connections >= most_connections(uid))
    return false;
  ++who.connections;
  ++connections_;
  return true;
}

bool HttpUsers::move(std::uint32_t from, std::uint32_t to, Duration now) {
  if (user(to, now).connections >= most_connections(to)) return false;
  disconnect(from);
  ++user(to, now).connections;
  ++connections_;
  return true;
}

void HttpUsers::disconnect(std::uint32_t uid) {
  const auto found = users_.find(uid);
  if (found == users_.end() || found->second.connections == 0) return;
  --found->second.connections;
  --connections_;
}

bool HttpUsers::request(std::uint32_t uid, Duration now) {
  User& who = user(uid, now);
  fill(who, now);
  if (who.tokens < 1) return false;
  who.tokens -= 1;
  return true;
}

bool HttpUsers::hold(std::uint32_t uid, std::size_t before, std::size_t after) {
  const auto found = users_.find(uid);
  if (found == users_.end()) return after <= before;
  std::size_t& bytes = found->second.bytes;
  if (after > before && bytes - before + after > limits_.bytes_per_user) return false;
  bytes = bytes - before + after;
  return true;
}

void HttpUsers::received(std::uint32_t uid, std::size_t bytes, Duration now) {
  User& who = user(uid, now);
  fill(who, now);
  who.to_read -= static_cast<double>(bytes);
}

Duration HttpUsers::rest(std::uint32_t uid, Duration now) {
  User& who = user(uid, now);
  fill(who, now);
  if (who.to_read > 0) return {};
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(least_read_s - who.to_read / limits_.bytes_per_s));
}

bool HttpUsers::fits(std::uint32_t uid, std::size_t more) const {
  const auto found = users_.find(uid);
  return found != users_.end() && found->second.bytes + more <= limits_.bytes_per_user;
}

void HttpUsers::tidy(Duration now) {
  for (auto each = users_.begin(); each != users_.end();) {
    User& who = each->second;
    fill(who, now);
    const bool idle = who.connections == 0 && who.bytes == 0 && who.tokens >= limits_.burst &&
                      who.to_read >= most_to_read();
    each = idle ? users_.erase(each) : std::next(each);
  }
}

}  // namespace cleave
