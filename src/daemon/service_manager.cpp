#include "daemon/service_manager.hpp"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "runner/descriptor.hpp"

namespace cleave {

void tell_service_manager(std::string_view text) {
  const char* where = std::getenv("NOTIFY_SOCKET");
  if (where == nullptr || (*where != '/' && *where != '@')) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t length = std::strlen(where);
  if (length >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, where, length);
  if (*where == '@') address.sun_path[0] = '\0';  // a name that no file system has
  const Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  (void)::sendto(socket.number(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                 reinterpret_cast<const sockaddr*>(&address), size);
}

std::uint64_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t before = std::exchange(limit.rlim_cur, limit.rlim_max);
  if (before >= limit.rlim_max || ::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return before;
}

}  // namespace cleave
