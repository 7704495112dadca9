// The supervisor's connections: the daemon and root.

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/format.hpp"
#include "runner/job_directory.hpp"
#include "runner/supervisor/supervisor.hpp"

namespace cleave {

namespace {

constexpr std::size_t most_peers = 8;
constexpr int most_asks_at_once = 16;
constexpr std::size_t longest_ask = 1024;
constexpr int waiting_peers = 16;

}  // namespace

Result<Descriptor> listen_for_peers() {
  Descriptor listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, control_socket);
  if (!listener ||
      ::bind(listener.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener.number(), waiting_peers) != 0)
    return system_error_at(control_socket, "cannot be made");
  return listener;
}

void Supervisor::accept_peer() {
  Descriptor socket(
      ::accept4(places_.control.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  ucred peer{};
  socklen_t length = sizeof peer;
  if (!socket || ::getsockopt(socket.number(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
    return;
  // The mode of the socket already excludes all other users.
  if (peer.uid != 0 && peer.uid != places_.daemon_uid) return;
  if (peers_.size() >= most_peers) peers_.pop_front();
  peers_.emplace_back().socket = std::move(socket);
}

void Supervisor::hear(Peer& peer) {
  char text[longest_ask];
  for (int i = 0; i < most_asks_at_once && peer.socket; ++i) {
    const ssize_t got = ::recv(peer.socket.number(), text, sizeof text, MSG_DONTWAIT | MSG_TRUNC);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0 || static_cast<std::size_t>(got) > sizeof text) return peer.socket.close();
    const auto ask = parse_ask({text, static_cast<std::size_t>(got)});
    if (!ask) {
      send(peer, SupervisorAnswer{ask.error().text()});
      continue;
    }
    if (ask->what == SupervisorAsk::What::state) {
      send(peer, state());
    } else if (ask->what == SupervisorAsk::What::follow) {
      follow(peer);
    } else {
      send(peer, SupervisorAnswer{obey(*ask)});
    }
  }
}

/// Carries out the request; returns why not, or an empty text.
std::string Supervisor::obey(const SupervisorAsk& ask) {
  if (ask.what == SupervisorAsk::What::stop) stop(ask.grace);
  if (main_gone_) return "the job has ended";
  if (ask.what == SupervisorAsk::What::stop) return {};
  if (ask.what == SupervisorAsk::What::checkpoint) return checkpoint(*ask.grace);
  if (signal_job(ask.signal)) return {};
  return system_error_at(fmt::format("process group {}", job_pid()), "cannot be signalled")
      .error()
      .text();
}

void Supervisor::follow(Peer& peer) {
  peer.follows = true;
  if (began_) send(peer, JobBegan{job_pid()});
  if (outcome_.out_of_memory) send(peer, *outcome_.out_of_memory);
  if (not_checkpointed_) send(peer, *not_checkpointed_);
}

void Supervisor::send(Peer& peer, const SupervisorMessage& message) {
  if (!peer.socket) return;
  const std::string text = message_text(message);
  if (::send(peer.socket.number(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
    peer.socket.close();
}

/// Sends as many reports as fit; the rest when the peer has read.
void Supervisor::send_reports(Peer& peer) {
  while (peer.socket && peer.sent < series_.last()) {
    auto next = series_.after(peer.sent);
    next = next.first(std::min(next.size(), most_reports_in_packet));
    const std::string text = message_text(JobReports{{next.begin(), next.end()}});
    if (::send(peer.socket.number(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
      if (errno != EAGAIN) peer.socket.close();
      return;
    }
    peer.sent = next.back().sequence;
  }
}

void Supervisor::tell_all(const SupervisorMessage& message) {
  for (Peer& peer : peers_)
    if (peer.follows) send(peer, message);
}

SupervisorState Supervisor::state() const {
  constexpr const char* names[] = {"starting", "running", "stopping", "ending", "ended"};
  SupervisorState now;
  now.phase = names[static_cast<int>(phase_)];
  now.pid = job_pid();
  now.out_dropped = out_ ? out_->log.dropped() : 0;
  now.err_dropped = err_ ? err_->log.dropped() : 0;
  now.reports_refused = receiver_.refused();
  now.trouble = trouble_;
  return now;
}

}  // namespace cleave
