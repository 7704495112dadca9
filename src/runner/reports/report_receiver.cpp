#include "runner/reports/report_receiver.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "runner/job_directory.hpp"
#include "runner/reports/memory_report_line.hpp"

namespace cleave {

namespace {

constexpr int most_at_once = 64;
constexpr int deepest_tree = 1000;

struct Datagram {
  ssize_t length = -1;
  bool cut = false;
  ucred sender{};
};

Datagram read_datagram(int socket, char* into, std::size_t room) {
  iovec where{into, room};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))] = {};
  msghdr message{};
  message.msg_iov = &where;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  Datagram read;
  read.length = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  read.cut = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
  read.sender.uid = static_cast<uid_t>(-1);
  for (cmsghdr* at = CMSG_FIRSTHDR(&message); read.length >= 0 && at != nullptr;
       at = CMSG_NXTHDR(&message, at))
    if (at->cmsg_level == SOL_SOCKET && at->cmsg_type == SCM_CREDENTIALS)
      std::memcpy(&read.sender, CMSG_DATA(at), sizeof read.sender);
  return read;
}

/// Walks up the parents; empty if the process is gone.
std::optional<bool> is_below(pid_t process, pid_t root) {
  pid_t at = process;
  for (int depth = 0; depth < deepest_tree && at > 1; ++depth) {
    const auto facts = facts_of(at);
    if (!facts) return std::nullopt;
    if (facts->parent == root) return true;
    at = facts->parent;
  }
  return false;
}

}  // namespace

ReportReceiver::ReportReceiver(Descriptor socket, uid_t user)
    : socket_(std::move(socket)), user_(user), rate_(ReportRate::Clock::now()) {}

Result<ReportReceiver> ReportReceiver::open(uid_t user) {
  Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, report_socket);
  const int on = 1;
  if (!socket || ::setsockopt(socket.number(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0 ||
      ::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return system_error_at(report_socket, "cannot be made");
  return ReportReceiver(std::move(socket), user);
}

bool ReportReceiver::is_of_the_job(pid_t sender) {
  const auto now = ReportRate::Clock::now();
  if (sender == known_sender_ && now < known_until_) return true;
  const auto below = is_below(sender, ::getpid());
  if (below && *below) {
    known_sender_ = sender;
    known_until_ = now + std::chrono::seconds(1);
  }
  return below.value_or(true);
}

void ReportReceiver::receive(ReportSeries& into) {
  char line[longest_report_line + 1];
  for (int i = 0; i < most_at_once; ++i) {
    const Datagram datagram = read_datagram(socket_.number(), line, sizeof line);
    if (datagram.length < 0) return;
    if (datagram.cut || datagram.sender.uid != user_ || !is_of_the_job(datagram.sender.pid)) {
      ++refused_;
      continue;
    }
    std::string text(line, static_cast<std::size_t>(datagram.length));
    if (rate_.take(ReportRate::Clock::now())) {
      if (held_back_) ++refused_;
      held_back_.reset();
      take(text, into);
    } else {
      if (held_back_) ++refused_;
      held_back_ = std::move(text);
    }
  }
}

void ReportReceiver::take(const std::string& line, ReportSeries& into) {
  const auto report = parse_report_line(line, report_socket);
  if (report) {
    into.add(*report);
  } else {
    ++refused_;
  }
}

void ReportReceiver::take_held_back(ReportSeries& into, bool at_once) {
  if (!held_back_ || (!at_once && !rate_.take(ReportRate::Clock::now()))) return;
  take(*held_back_, into);
  held_back_.reset();
}

std::optional<ReportRate::Clock::time_point> ReportReceiver::wake_at() const {
  if (!held_back_) return std::nullopt;
  return rate_.next();
}

}  // namespace cleave
