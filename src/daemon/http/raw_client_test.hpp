#pragma once
// For tests: HTTP as bytes on a unix socket or on one of TCP, so that a test can send whatever it
// likes.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "base/format.hpp"
#include "base/text.hpp"
#include "runner/descriptor.hpp"

namespace cleave {

/// One answer as it arrived.
struct RawReply {
  int status = 0;
  std::string head, body;
  /// A header's value; empty if it is absent.
  [[nodiscard]] std::string header(std::string_view name) const {
    for (const std::string_view line : split(head, '\n')) {
      const std::size_t colon = line.find(':');
      if (colon != std::string_view::npos && lowercase(line.substr(0, colon)) == lowercase(name))
        return std::string(trimmed(line.substr(colon + 1)));
    }
    return {};
  }
};

/// A connection that sends and receives raw bytes.
class RawClient {
 public:
  using Milliseconds = std::chrono::milliseconds;

  explicit RawClient(const std::string& path) {
    socket_ = Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof address.sun_path - 1));
    if (::connect(socket_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
        0)
      socket_.close();
  }
  /// At this port of 127.0.0.1.
  explicit RawClient(std::uint16_t port) : host_(fmt::format("127.0.0.1:{}", port)) {
    socket_ = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
        0)
      socket_.close();
  }
  [[nodiscard]] bool connected() const { return static_cast<bool>(socket_); }
  [[nodiscard]] int number() const { return socket_.number(); }
  void hang_up() { socket_.close(); }
  /// What its requests have as Host.
  [[nodiscard]] const std::string& host() const { return host_; }

  /// Sends what the other end takes within the time; returns whether that was everything.
  bool send(std::string_view text, Milliseconds at_most = Milliseconds(5000)) {
    const auto end = std::chrono::steady_clock::now() + at_most;
    while (!text.empty()) {
      pollfd asked{socket_.number(), POLLOUT, 0};
      const auto left =
          std::chrono::duration_cast<Milliseconds>(end - std::chrono::steady_clock::now()).count();
      if (left <= 0 || ::poll(&asked, 1, static_cast<int>(left)) <= 0) return false;
      const ssize_t sent =
          ::send(socket_.number(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno == EAGAIN) continue;
      if (sent < 0) return false;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  /// Receives one more piece; false: the other end closed, or the time is up.
  bool receive(Milliseconds at_most = Milliseconds(5000)) {
    pollfd asked{socket_.number(), POLLIN, 0};
    if (::poll(&asked, 1, static_cast<int>(at_most.count())) <= 0) return false;
    char piece[16384];
    const ssize_t got = ::recv(socket_.number(), piece, sizeof piece, 0);
    if (got <= 0) {
      ended_ = true;
      return false;
    }
    have_.append(piece, static_cast<std::size_t>(got));
    return true;
  }

  /// The next whole answer.
  std::optional<RawReply> reply(Milliseconds at_most = Milliseconds(5000)) {
    const auto end = std::chrono::steady_clock::now() + at_most;
    while (true) {
      if (auto whole = taken()) return whole;
      const auto left =
          std::chrono::duration_cast<Milliseconds>(end - std::chrono::steady_clock::now());
      if (left.count() <= 0 || !receive(left)) return std::nullopt;
    }
  }

  std::optional<RawReply> ask(std::string_view method, std::string_view target,
                              std::string_view body = {}, std::string_view headers = {}) {
    std::string text =
        fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n{}", method, target, host_, headers);
    if (!body.empty() || method != "GET")
      text += fmt::format("Content-Length: {}\r\n", body.size());
    text += "\r\n";
    text += body;
    if (!send(text)) return std::nullopt;
    return reply(Milliseconds(20000));
  }

  /// What arrived and was not taken by reply().
  std::string& have() { return have_; }
  [[nodiscard]] bool ended() const { return ended_; }
  /// Whether the other end closes within this time; what arrives is kept.
  bool ends_within(Milliseconds at_most) {
    const auto end = std::chrono::steady_clock::now() + at_most;
    while (!ended_) {
      const auto left =
          std::chrono::duration_cast<Milliseconds>(end - std::chrono::steady_clock::now());
      if (left.count() <= 0) return false;
      (void)receive(left);
    }
    return true;
  }

 private:
  std::optional<RawReply> taken() {
    const std::size_t end = have_.find("\r\n\r\n");
    if (end == std::string::npos) return std::nullopt;
    RawReply reply;
    reply.head = have_.substr(0, end);
    if (reply.head.size() > 12) reply.status = std::atoi(reply.head.c_str() + 9);
    const std::string length = reply.header("content-length");
    const std::size_t bytes =
        length.empty() ? 0 : static_cast<std::size_t>(std::atoll(length.c_str()));
    if (have_.size() < end + 4 + bytes) return std::nullopt;
    reply.body = have_.substr(end + 4, bytes);
    have_.erase(0, end + 4 + bytes);
    return reply;
  }

  Descriptor socket_;
  std::string host_ = "cleave";
  std::string have_;
  bool ended_ = false;
};

}  // namespace cleave
