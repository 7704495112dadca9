#include "daemon/http/http_server.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <unordered_map>
#include <vector>

#include "base/format.hpp"
#include "daemon/http/http_connection.hpp"

namespace cleave {

using boost::system::error_code;

namespace {

constexpr auto look_every = std::chrono::milliseconds(250);
constexpr auto rest_when_full = std::chrono::milliseconds(100);  // when descriptors have run out
constexpr int most_accepted_at_once = 64;

std::optional<HttpPeer> peer_of(int connected) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(connected, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return HttpPeer{peer.uid, peer.gid, peer.pid};
}

}  // namespace

class HttpServer::Inside : public std::enable_shared_from_this<HttpServer::Inside> {
 public:
  Inside(boost::asio::io_context& loop, int listening, HttpLimits limits, std::uint32_t own,
         HttpHandler handler)
      : loop_(loop),
        listening_(loop),
        clock_(loop),
        rest_(loop),
        house_(std::make_shared<HttpHouse>(
            HttpHouse{limits, HttpUsers(limits, own), {}, std::move(handler), {}, false})) {
    if (listening >= 0) listening_.assign(::fcntl(listening, F_DUPFD_CLOEXEC, 0));
    house_->left = [this](HttpConnection* connection) { connections_.erase(connection); };
  }
  ~Inside() { house_->left = nullptr; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  void start() {
    if (listening_.is_open()) accept();
    look();
  }

  [[nodiscard]] bool listen_on(int listening) {
    error_code failed;
    listening_.close(failed);
    rest_.cancel();
    listening_.assign(::fcntl(listening, F_DUPFD_CLOEXEC, 0), failed);
    if (!failed) accept();
    return !failed;
  }

  void adopt(int connected) {
    const auto peer = peer_of(connected);
    error_code failed;
    HttpConnection::Socket socket(loop_);
    socket.assign(boost::asio::local::stream_protocol(), connected, failed);
    if (!failed) socket.non_blocking(true, failed);
    if (failed || !peer) {
      if (!socket.is_open()) ::close(connected);
      return;
    }
    if (!house_->users.connect(peer->uid, http_now())) return turn_away(socket);
    const auto connection = std::make_shared<HttpConnection>(std::move(socket), *peer, house_);
    connections_.emplace(connection.get(), connection);
    connection->start();
  }

  void set_limits(const HttpLimits& limits) {
    house_->limits = limits;
    house_->users.set_limits(limits);
  }

  void stop() {
    house_->stopping = true;
    error_code ignored;
    listening_.close(ignored);
    for (const auto& each : all()) each->stop();
  }

  /// Closes everything; no callback is called afterwards.
  void end() {
    ended_ = true;
    stop();
    house_->left = nullptr;
    for (const auto& each : all()) each->drop();
    connections_.clear();
    house_->handler = nullptr;
    clock_.cancel();
    rest_.cancel();
  }

  [[nodiscard]] std::size_t connections() const { return connections_.size(); }

 private:
  [[nodiscard]] std::vector<std::shared_ptr<HttpConnection>> all() const {
    std::vector<std::shared_ptr<HttpConnection>> list;
    list.reserve(connections_.size());
    for (const auto& [address, connection] : connections_) list.push_back(connection);
    return list;
  }

  /// Sends what the system takes at once, and closes.
  static void turn_away(HttpConnection::Socket& socket) {
    const std::string body =
        http_error(429, "infeasible", "", "too many connections", "close some").body;
    const std::string text = fmt::format(
        "HTTP/1.1 429 {}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: "
        "{}\r\n\r\n{}",
        http_reason(429), body.size(), body);
    error_code ignored;
    socket.write_some(boost::asio::buffer(text), ignored);
    socket.shutdown(HttpConnection::Socket::shutdown_send, ignored);
  }

  void accept() {
    listening_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                          [self = shared_from_this()](const error_code& failed) {
                            if (failed || self->ended_ || self->house_->stopping) return;
                            self->accept_waiting();
                          });
  }

  void accept_waiting() {
    for (int taken = 0; taken < most_accepted_at_once; ++taken) {
      const int connected =
          ::accept4(listening_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (connected >= 0) {
        adopt(connected);
        continue;
      }
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN) break;
      // Out of descriptors or memory: further connections stay in the backlog for a moment.
      rest_.expires_after(rest_when_full);
      rest_.async_wait([self = shared_from_this()](const error_code& failed) {
        if (!failed && !self->ended_ && !self->house_->stopping) self->accept();
      });
      return;
    }
    accept();
  }

  void look() {
    clock_.expires_after(look_every);
    clock_.async_wait([self = shared_from_this()](const error_code& failed) {
      if (failed || self->ended_) return;
      const Duration now = http_now();
      for (const auto& each : self->all()) each->look_at_the_clock(now);
      self->house_->users.tidy(now);
      self->look();
    });
  }

  boost::asio::io_context& loop_;
  boost::asio::posix::stream_descriptor listening_;
  boost::asio::steady_timer clock_, rest_;
  std::shared_ptr<HttpHouse> house_;
  std::unordered_map<HttpConnection*, std::shared_ptr<HttpConnection>> connections_;
  bool ended_ = false;
};

HttpServer::HttpServer(boost::asio::io_context& loop, int listening, HttpLimits limits,
                       std::uint32_t own, HttpHandler handler)
    : inside_(std::make_shared<Inside>(loop, listening, limits, own, std::move(handler))) {
  inside_->start();
}

HttpServer::~HttpServer() {
  inside_->end();
}

bool HttpServer::listen_on(int listening) {
  return inside_->listen_on(listening);
}
void HttpServer::set_limits(const HttpLimits& limits) {
  inside_->set_limits(limits);
}
void HttpServer::stop() {
  inside_->stop();
}
std::size_t HttpServer::connections() const {
  return inside_->connections();
}
void HttpServer::adopt(int connected) {
  inside_->adopt(connected);
}

}  // namespace cleave
