#include "cudatrace/core/report_line.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace cleave::cuda {

std::string_view write_report_line(const ReportedMemory& memory, std::span<char> room) {
  char total[40] = "";
  if (memory.iterations >= memory.iteration)
    std::snprintf(total, sizeof(total), "\"iterations\":%lld,",
                  static_cast<long long>(memory.iterations));
  // What is requested of the driver is what it holds: there is no allocator between that reuses.
  const int length = std::snprintf(
      room.data(), room.size(),
      "{\"iteration\":%lld,%s\"requested_bytes\":%lld,\"allocated_bytes\":%lld,"
      "\"context_bytes\":%lld,\"workspace_bytes\":0}",
      static_cast<long long>(memory.iteration), total, static_cast<long long>(memory.held),
      static_cast<long long>(memory.held), static_cast<long long>(memory.context));
  if (length < 0 || static_cast<std::size_t>(length) >= room.size()) return {};
  return {room.data(), static_cast<std::size_t>(length)};
}

bool send_report(const char* path, std::string_view line) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (line.empty() || std::strlen(path) >= sizeof(address.sun_path)) return false;
  std::strcpy(address.sun_path, path);
  const int before = errno;
  // Opened for each line: programs close descriptors that they do not know.
  const int out = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const bool sent = out >= 0 && ::sendto(out, line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                                         reinterpret_cast<const sockaddr*>(&address),
                                         sizeof(address)) == static_cast<ssize_t>(line.size());
  if (out >= 0) ::close(out);
  errno = before;
  return sent;
}

}  // namespace cleave::cuda
