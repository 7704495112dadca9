#pragma once
// A daemon for tests of its clients: a unix socket, plain HTTP/1.1 and the answers that a test
// gives it.

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/format.hpp"

namespace cleave {

struct StubRequest {
  std::string method, target, head, body;
  [[nodiscard]] std::string path() const { return target.substr(0, target.find('?')); }
  /// Of the query; empty where it is not there.
  [[nodiscard]] std::string query(const std::string& key) const {
    const std::string text =
        "&" + target.substr(std::min(target.find('?'), target.size() - 1) + 1) + "&";
    const std::size_t at = text.find("&" + key + "=");
    if (at == std::string::npos) return {};
    const std::size_t begin = at + key.size() + 2;
    return text.substr(begin, text.find('&', begin) - begin);
  }
};

struct StubReply {
  int status = 200;
  std::string body;
  std::string headers;  // each with \r\n
  bool close = false;   // after the answer
  /// Instead of an answer: these bytes, and the connection ends.
  std::string raw;
  /// After the head of a stream without length: sends until it is told false.
  std::function<void(const std::function<bool(std::string_view)>& send)> stream;
};

class StubDaemon {
 public:
  using Handler = std::function<StubReply(const StubRequest&)>;
  StubDaemon(std::string path, Handler handler)
      : path_(std::move(path)), handler_(std::move(handler)) {
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address {};
    address.sun_family = AF_UNIX;
    path_.copy(&address.sun_path[0], sizeof address.sun_path - 1);
    ::unlink(path_.c_str());
    const bool bound = ::bind(listener_, reinterpret_cast<const struct sockaddr*>(&address),
                              sizeof address) == 0 &&
                       ::listen(listener_, 64) == 0;
    if (!bound) std::abort();
    acceptor_ = std::thread([this] { accept(); });
  }
  ~StubDaemon() {
    ending_ = true;
    acceptor_.join();
    drop_connections();
    for (std::thread& thread : threads_) thread.join();
    ::close(listener_);
    ::unlink(path_.c_str());
  }
  StubDaemon(const StubDaemon&) = delete;
  StubDaemon& operator=(const StubDaemon&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Ends all connections, as a daemon that is restarted does.
  void drop_connections() {
    const std::lock_guard lock(mutex_);
    for (const int each : open_) ::shutdown(each, SHUT_RDWR);
  }
  [[nodiscard]] int connections() const { return connections_; }
  /// "GET /v1/jobs", in order.
  [[nodiscard]] std::vector<std::string> asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  [[nodiscard]] bool was_asked(const std::string& what) {
    const auto all = asked();
    return std::ranges::find(all, what) != all.end();
  }
  [[nodiscard]] bool ending() const { return ending_; }

 private:
  void accept() {
    while (!ending_) {
      struct pollfd waiting = {listener_, POLLIN, 0};
      if (::poll(&waiting, 1, 20) <= 0) continue;
      const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) continue;
      ++connections_;
      const std::lock_guard lock(mutex_);
      open_.push_back(socket);
      threads_.emplace_back([this, socket] { serve(socket); });
    }
  }

  static bool send(int socket, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  /// The next request; false at the end of the connection. `bytes` keeps what came too early.
  static bool receive(int socket, std::string& bytes, StubRequest& request) {
    std::size_t end = std::string::npos, length = 0;
    while (end == std::string::npos || bytes.size() < end + 4 + length) {
      char part[65536];
      const bool whole_head = end != std::string::npos;
      if (!whole_head) {
        end = bytes.find("\r\n\r\n");
        const std::size_t at = bytes.find("Content-Length: ");
        if (end != std::string::npos && at < end) length = std::stoul(bytes.substr(at + 16));
        if (end != std::string::npos) continue;
      }
      const ssize_t got = ::recv(socket, part, sizeof part, 0);
      if (got <= 0) return false;
      bytes.append(part, static_cast<std::size_t>(got));
    }
    request.head = bytes.substr(0, end);
    request.body = bytes.substr(end + 4, length);
    bytes.erase(0, end + 4 + length);
    const std::size_t first = request.head.find(' '), second = request.head.find(' ', first + 1);
    request.method = request.head.substr(0, first);
    request.target = request.head.substr(first + 1, second - first - 1);
    return true;
  }

  static bool answer(int socket, const StubReply& reply) {
    if (!reply.raw.empty()) {
      send(socket, reply.raw);
      return false;
    }
    if (reply.stream) {
      send(socket,
           "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n");
      reply.stream([socket](std::string_view bytes) { return send(socket, bytes); });
      return false;
    }
    return send(socket, fmt::format("HTTP/1.1 {} Status\r\nContent-Length: {}\r\n{}{}\r\n{}",
                                    reply.status, reply.body.size(), reply.headers,
                                    reply.close ? "Connection: close\r\n" : "", reply.body)) &&
           !reply.close;
  }

  void serve(int socket) {
    std::string bytes;
    StubRequest request;
    while (receive(socket, bytes, request)) {
      {
        const std::lock_guard lock(mutex_);
        asked_.push_back(request.method + " " + request.target);
      }
      if (!answer(socket, handler_(request))) break;
    }
    const std::lock_guard lock(mutex_);
    std::erase(open_, socket);
    ::close(socket);
  }

  std::string path_;
  Handler handler_;
  int listener_ = -1;
  std::atomic<bool> ending_{false};
  std::atomic<int> connections_{0};
  std::mutex mutex_;
  std::vector<int> open_;
  std::vector<std::string> asked_;
  std::list<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace cleave
