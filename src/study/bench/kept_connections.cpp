#include "study/bench/kept_connections.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

using Clock = std::chrono::steady_clock;
constexpr int answer_patience_ms = 60'000;

std::string question(const std::string& method, const std::string& target,
                     const std::string& body) {
  std::string text = fmt::format("{} {} HTTP/1.1\r\nHost: cleave\r\n", method, target);
  if (!body.empty() || method == "POST")
    text += fmt::format("Content-Type: application/json\r\nContent-Length: {}\r\n", body.size());
  return text + "\r\n" + body;
}

std::unexpected<Error> broken(const std::string& what) {
  return fail(ErrorKind::infeasible, "the daemon", what);
}

}  // namespace

struct KeptConnections::One {
  int socket = -1;
  std::string in;
  std::size_t next = 0;  // which question is under way
  bool waits = false;
  Clock::time_point sent{};
  std::optional<Clock::time_point> first;

  One() = default;
  One(One&& other) noexcept : One() { *this = std::move(other); }
  One& operator=(One&& other) noexcept {
    std::swap(socket, other.socket);
    in = std::move(other.in);
    return *this;
  }
  One(const One&) = delete;
  One& operator=(const One&) = delete;
  ~One() {
    if (socket >= 0) ::close(socket);
  }

  Result<void> send(const std::string& text) {
    sent = Clock::now();
    first.reset();
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t put = ::send(socket, text.data() + done, text.size() - done, MSG_NOSIGNAL);
      if (put < 0 && errno == EAGAIN) {
        pollfd wanted{socket, POLLOUT, 0};
        if (::poll(&wanted, 1, answer_patience_ms) > 0) continue;
      }
      if (put < 0) return broken("a question could not be sent");
      done += static_cast<std::size_t>(put);
    }
    return {};
  }

  /// What has come; false when the daemon has closed.
  bool read() {
    char buffer[1 << 16];
    for (;;) {
      const ssize_t got = ::recv(socket, buffer, sizeof buffer, MSG_DONTWAIT);
      if (got <= 0) return got < 0 && errno == EAGAIN;
      if (!first) first = Clock::now();
      in.append(buffer, static_cast<std::size_t>(got));
    }
  }

  /// The answer, when it is there whole.
  std::optional<KeptAnswer> take() {
    const std::size_t head = in.find("\r\n\r\n");
    if (head == std::string::npos) return std::nullopt;
    constexpr std::string_view key = "Content-Length: ";
    const std::size_t at = in.find(key);
    std::size_t length = 0;
    if (at != std::string::npos && at < head)
      length = std::strtoul(in.c_str() + at + key.size(), nullptr, 10);
    if (in.size() < head + 4 + length) return std::nullopt;
    KeptAnswer answer;
    answer.status = std::atoi(in.c_str() + std::strlen("HTTP/1.1 "));
    answer.body = in.substr(head + 4, length);
    answer.first_byte = *first - sent;
    answer.last_byte = Clock::now() - sent;
    in.erase(0, head + 4 + length);
    return answer;
  }
};

KeptConnections::KeptConnections() = default;
KeptConnections::~KeptConnections() = default;

Result<std::unique_ptr<KeptConnections>> KeptConnections::open(const std::filesystem::path& socket,
                                                               std::size_t count) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (socket.string().size() >= sizeof name.sun_path)
    return fail(ErrorKind::bad_input, socket.string(), "the name is too long for a socket");
  std::strcpy(name.sun_path, socket.c_str());
  std::unique_ptr<KeptConnections> connections(new KeptConnections);
  for (std::size_t i = 0; i < count; ++i) {
    One one;
    one.socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (one.socket < 0 ||
        ::connect(one.socket, reinterpret_cast<sockaddr*>(&name), sizeof name) != 0)
      return fail(ErrorKind::infeasible, socket.string(), "no daemon answers there");
    ::fcntl(one.socket, F_SETFL, O_NONBLOCK);
    connections->all_.push_back(std::move(one));
  }
  return connections;
}

Result<KeptAnswer> KeptConnections::ask(const std::string& method, const std::string& target,
                                        const std::string& body) {
  One& one = all_.front();
  if (const auto sent = one.send(question(method, target, body)); !sent)
    return std::unexpected(sent.error());
  for (;;) {
    pollfd wanted{one.socket, POLLIN, 0};
    if (::poll(&wanted, 1, answer_patience_ms) <= 0) return broken("no answer came");
    if (!one.read()) return broken("it closed the connection");
    auto answer = one.take();
    if (!answer) continue;
    if (answer->status >= 400)
      return broken(fmt::format("{} {}: {}", method, target, shown(answer->body, 500)));
    return std::move(*answer);
  }
}

Result<std::vector<std::chrono::nanoseconds>> KeptConnections::post_all(
    const std::string& target, std::size_t count,
    const std::function<std::string(std::size_t)>& body) {
  std::vector<std::chrono::nanoseconds> times;
  times.reserve(count);
  std::size_t next = 0;
  const auto ask_next = [&](One& one) -> Result<void> {
    one.waits = next < count;
    if (!one.waits) return {};
    return one.send(question("POST", target, body(next++)));
  };
  for (One& one : all_)
    if (const auto sent = ask_next(one); !sent) return std::unexpected(sent.error());
  std::vector<pollfd> wanted(all_.size());
  while (times.size() < count) {
    for (std::size_t i = 0; i < all_.size(); ++i)
      wanted[i] = {all_[i].waits ? all_[i].socket : -1, POLLIN, 0};
    if (::poll(wanted.data(), wanted.size(), answer_patience_ms) <= 0)
      return broken("no answer came");
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (wanted[i].revents == 0) continue;
      if (!all_[i].read()) return broken("it closed a connection");
      const auto answer = all_[i].take();
      if (!answer) continue;
      if (answer->status >= 400) return broken(shown(answer->body, 500));
      times.push_back(answer->last_byte);
      if (const auto sent = ask_next(all_[i]); !sent) return std::unexpected(sent.error());
    }
  }
  return times;
}

Result<void> KeptConnections::ask_on_all(const std::string& target) {
  for (One& one : all_)
    if (const auto sent = one.send(question("GET", target, {})); !sent) return sent;
  return {};
}

std::size_t KeptConnections::drain(std::size_t from) {
  std::size_t bytes = 0;
  for (std::size_t i = from; i < all_.size(); ++i) {
    (void)all_[i].read();
    bytes += all_[i].in.size();
    all_[i].in.clear();
  }
  return bytes;
}

}  // namespace cleave
