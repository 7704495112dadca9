#include "daemon/http/http_server.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/generic/stream_protocol.hpp>
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

int family_of(int socket) {
  int family = AF_UNSPEC;
  socklen_t size = sizeof family;
  return ::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &size) == 0 ? family : AF_UNSPEC;
}

/// Events are small, and each is written when it is there.
void send_at_once(int socket) {
  const int on = 1;
  (void)::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/// A socket that accepts.
struct HttpListener {
  explicit HttpListener(boost::asio::io_context& loop) : socket(loop), rest(loop) {}
  boost::asio::posix::stream_descriptor socket;
  boost::asio::steady_timer rest;

  [[nodiscard]] bool take(int listening) {
    error_code failed;
    static_cast<void>(socket.close(failed));
    rest.cancel();
    static_cast<void>(socket.assign(::fcntl(listening, F_DUPFD_CLOEXEC, 0), failed));
    return !failed;
  }
  void close() {
    error_code ignored;
    static_cast<void>(socket.close(ignored));
    rest.cancel();
  }
};

}  // namespace

class HttpServer::Inside : public std::enable_shared_from_this<HttpServer::Inside> {
 public:
  Inside(boost::asio::io_context& loop, int listening, HttpLimits limits, std::uint32_t own,
         HttpHandler handler)
      : loop_(loop),
        local_(loop),
        web_(loop),
        clock_(loop),
        house_(std::make_shared<HttpHouse>(
            HttpHouse{limits, HttpUsers(limits, own), {}, std::move(handler), {}, {}, false})) {
    if (listening >= 0) local_.socket.assign(::fcntl(listening, F_DUPFD_CLOEXEC, 0));
    house_->left = [this](HttpConnection* connection) { connections_.erase(connection); };
  }
  ~Inside() { house_->left = nullptr; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  void start() {
    if (local_.socket.is_open()) accept(local_);
    look();
  }

  [[nodiscard]] bool listen_on(int listening) {
    if (!local_.take(listening)) return false;
    accept(local_);
    return true;
  }

  [[nodiscard]] bool listen_over_tcp(int listening, HttpGate gate) {
    house_->gate = std::move(gate);
    if (!web_.take(listening)) return false;
    accept(web_);
    return true;
  }

  void adopt(int connected) {
    const int family = family_of(connected);
    const auto peer = family == AF_UNIX ? peer_of(connected) : std::nullopt;
    error_code failed;
    HttpConnection::Socket socket(loop_);
    static_cast<void>(
        socket.assign(boost::asio::generic::stream_protocol(family, 0), connected, failed));
    if (!failed) static_cast<void>(socket.non_blocking(true, failed));
    if (failed || (family == AF_UNIX && !peer)) {
      if (!socket.is_open()) ::close(connected);
      return;
    }
    if (!peer) send_at_once(connected);
    if (!has_room_for(peer)) return turn_away(socket, !peer);
    const auto connection = std::make_shared<HttpConnection>(std::move(socket), peer, house_);
    connections_.emplace(connection.get(), connection);
    connection->start();
  }

  void end_passes(const std::function<bool(const HttpPass&)>& which) {
    for (const auto& each : all())
      if (each->pass() && which(*each->pass())) each->end_pass();
  }

  void set_limits(const HttpLimits& limits) {
    house_->limits = limits;
    house_->users.set_limits(limits);
  }

  void stop() {
    house_->stopping = true;
    local_.close();
    web_.close();
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
    house_->gate = {};
    clock_.cancel();
  }

  [[nodiscard]] std::size_t connections() const { return connections_.size(); }

 private:
  [[nodiscard]] std::vector<std::shared_ptr<HttpConnection>> all() const {
    std::vector<std::shared_ptr<HttpConnection>> list;
    list.reserve(connections_.size());
    for (const auto& [address, connection] : connections_) list.push_back(connection);
    return list;
  }

  /// Of the connections that may be anybody's, the oldest makes room: those of people who log in
  /// are such for a moment only.
  [[nodiscard]] bool has_room_for(const std::optional<HttpPeer>& peer) {
    const std::uint32_t uid = peer ? peer->uid : unknown_user;
    if (house_->users.connect(uid, http_now())) return true;
    if (peer) return false;
    std::shared_ptr<HttpConnection> oldest;
    for (const auto& [address, each] : connections_)
      if (each->is_unknown() && (!oldest || each->began() < oldest->began())) oldest = each;
    if (!oldest) return false;
    oldest->drop();
    return house_->users.connect(uid, http_now());
  }

  /// Sends what the system takes at once, and closes.
  void turn_away(HttpConnection::Socket& socket, bool over_tcp) const {
    const std::string body =
        http_error(429, "infeasible", "", "too many connections", "close some").body;
    std::string more;
    if (over_tcp)
      for (const auto& [name, value] : house_->gate.headers)
        more += fmt::format("{}: {}\r\n", name, value);
    const std::string text = fmt::format(
        "HTTP/1.1 429 {}\r\nContent-Type: application/json\r\n{}Connection: close\r\n"
        "Content-Length: {}\r\n\r\n{}",
        http_reason(429), more, body.size(), body);
    error_code ignored;
    socket.write_some(boost::asio::buffer(text), ignored);
    (void)socket.shutdown(HttpConnection::Socket::shutdown_send, ignored);
  }

  void accept(HttpListener& listener) {
    listener.socket.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                               [self = shared_from_this(), &listener](const error_code& failed) {
                                 if (failed || self->ended_ || self->house_->stopping) return;
                                 self->accept_waiting(listener);
                               });
  }

  void accept_waiting(HttpListener& listener) {
    for (int taken = 0; taken < most_accepted_at_once; ++taken) {
      const int connected = ::accept4(listener.socket.native_handle(), nullptr, nullptr,
                                      SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (connected >= 0) {
        adopt(connected);
        continue;
      }
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN) break;
      // Out of descriptors or memory: further connections stay in the backlog for a moment.
      listener.rest.expires_after(rest_when_full);
      listener.rest.async_wait([self = shared_from_this(), &listener](const error_code& failed) {
        if (!failed && !self->ended_ && !self->house_->stopping) self->accept(listener);
      });
      return;
    }
    accept(listener);
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
  HttpListener local_, web_;
  boost::asio::steady_timer clock_;
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
bool HttpServer::listen_over_tcp(int listening, HttpGate gate) {
  return inside_->listen_over_tcp(listening, std::move(gate));
}
void HttpServer::end_passes(const std::function<bool(const HttpPass&)>& which) {
  inside_->end_passes(which);
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
