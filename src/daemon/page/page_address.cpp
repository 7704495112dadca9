#include "daemon/page/page_address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

constexpr const char* example = "such as 127.0.0.1:8790, or [::1]:8790";

bool is_loopback(const in_addr& address) {
  return ntohl(address.s_addr) >> 24 == 127;
}

/// The address as the system takes it; its length is 0 if it is none of this machine's own.
socklen_t system_address(const PageAddress& address, sockaddr_storage& to) {
  to = {};
  if (address.host.starts_with('[')) {
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(address.port);
    const std::string bare = address.host.substr(1, address.host.size() - 2);
    if (::inet_pton(AF_INET6, bare.c_str(), &six.sin6_addr) != 1 ||
        !IN6_IS_ADDR_LOOPBACK(&six.sin6_addr))
      return 0;
    std::memcpy(&to, &six, sizeof six);
    return sizeof six;
  }
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(address.port);
  if (::inet_pton(AF_INET, address.host.c_str(), &four.sin_addr) != 1 ||
      !is_loopback(four.sin_addr))
    return 0;
  std::memcpy(&to, &four, sizeof four);
  return sizeof four;
}

std::unexpected<Error> cannot_listen(const PageAddress& address) {
  const int error = errno;
  return fail(ErrorKind::infeasible, "page",
              fmt::format("{}: {}", address.text(), std::strerror(error)),
              error == EADDRINUSE ? "another program listens there; end it, or name another port"
                                  : "name another address or port");
}

}  // namespace

std::string PageAddress::text() const {
  return fmt::format("{}:{}", host, port);
}

std::string PageAddress::origin() const {
  return fmt::format("http://{}:{}", host, port);
}

Result<PageAddress> parse_page_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const auto number =
      colon == std::string_view::npos ? std::nullopt : parse_integer(text.substr(colon + 1));
  if (!number || *number < 0 || *number > 65535)
    return fail(ErrorKind::bad_input, "", fmt::format("'{}' is not ADDRESS:PORT", shown(text)),
                example);
  PageAddress address{std::string(text.substr(0, colon)), static_cast<std::uint16_t>(*number)};
  if (address.host == "localhost") address.host = "127.0.0.1";
  if (address.host == "[::1]" || address.host == "::1") {
    address.host = "[::1]";
    return address;
  }
  sockaddr_storage unused{};
  if (system_address(address, unused) == 0)
    return fail(ErrorKind::bad_input, "",
                fmt::format("'{}' is not an address of the loopback interface", shown(text)),
                "name one, such as 127.0.0.1:8790; from elsewhere, have ssh forward the port");
  return address;
}

Result<PageListener> PageListener::listen(const PageAddress& address) {
  sockaddr_storage where{};
  const socklen_t size = system_address(address, where);
  PageListener listener;
  listener.address = address;
  listener.socket =
      Descriptor(::socket(where.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int socket = listener.socket.number(), on = 1;
  if (!listener.socket) return cannot_listen(address);
  // After a restart the connections of before may still be there.
  (void)::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&where), size) != 0 ||
      ::listen(socket, SOMAXCONN) != 0)
    return cannot_listen(address);
  socklen_t room = sizeof where;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&where), &room) != 0)
    return cannot_listen(address);
  in_port_t port = 0;
  if (where.ss_family == AF_INET6) {
    sockaddr_in6 six{};
    std::memcpy(&six, &where, sizeof six);
    port = six.sin6_port;
  } else {
    sockaddr_in four{};
    std::memcpy(&four, &where, sizeof four);
    port = four.sin_port;
  }
  listener.address.port = ntohs(port);
  return listener;
}

}  // namespace cleave
