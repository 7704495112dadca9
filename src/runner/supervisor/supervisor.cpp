#include "runner/supervisor/supervisor.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>

#include <algorithm>

namespace cleave {

namespace {

constexpr auto far_away = std::chrono::hours(1);

/// Blocks all signals: those of terminals, of process groups and of a service manager that stops
/// the daemon are not for the supervisor. It only receives those about its children.
Result<Descriptor> hear_children_only() {
  sigset_t all, children;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  ::sigemptyset(&children);
  ::sigaddset(&children, SIGCHLD);
  Descriptor heard(::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!heard) return system_error_at("supervisor", "signals cannot be received");
  return heard;
}

}  // namespace

Result<Supervisor> Supervisor::open(Launch launch, SupervisorPlaces& places) {
  auto signals = hear_children_only();
  if (!signals) return std::unexpected(signals.error());
  auto reports = ReportReceiver::open(launch.uid);
  if (!reports) return std::unexpected(reports.error());
  return Supervisor(std::move(launch), std::move(places), std::move(*signals), std::move(*reports));
}

Supervisor::Supervisor(Launch launch, SupervisorPlaces places, Descriptor signals,
                       ReportReceiver reports)
    : launch_(std::move(launch)),
      places_(std::move(places)),
      signals_(std::move(signals)),
      receiver_(std::move(reports)) {
  Peer& daemon = peers_.emplace_back();
  daemon.socket = std::move(places_.first);
  daemon.follows = true;
}

void Supervisor::run() {
  begin();
  while (phase_ != Phase::ended) turn(next_deadline());
  finish();
}

Supervisor::Clock::time_point Supervisor::next_deadline() const {
  Clock::time_point next = Clock::now() + far_away;
  for (const auto& each : {kill_at_, to_run_by_, look_at_, tidy_until_})
    if (each) next = std::min(next, *each);
  if (saver_ && !saver_->out_of_time) next = std::min(next, saver_->until);
  if (const auto wake = receiver_.wake_at()) next = std::min(next, *wake);
  return next;
}

void Supervisor::keep_deadlines() {
  receiver_.take_held_back(series_);
  const auto now = Clock::now();
  if (look_at_ && now >= *look_at_) look_into_container();
  if (to_run_by_ && now >= *to_run_by_) give_up_start();
  if (tidy_until_ && now >= *tidy_until_) end_leftovers();
  if (saver_ && !saver_->out_of_time && now >= saver_->until) give_up_saving();
  if (!kill_at_ || now < *kill_at_) return;
  end_tree(SIGKILL);
  constexpr Clock::duration shortest = std::chrono::milliseconds(5),
                            longest = std::chrono::seconds(1);
  kill_again_after_ = std::clamp(kill_again_after_ * 2, shortest, longest);
  kill_at_ = now + kill_again_after_;
}

/// Waits for the next event and handles it.
void Supervisor::turn(Clock::time_point until) {
  std::vector<pollfd> polled;
  const auto want = [&](int descriptor, short events) {
    if (descriptor >= 0) polled.push_back({descriptor, events, 0});
  };
  for (const int each :
       {signals_.number(), places_.control.number(), receiver_.descriptor(), job_.exec.number()})
    want(each, POLLIN);
  for (const auto* output : {&out_, &err_})
    if (*output) want((*output)->pipe.number(), POLLIN);
  if (saver_)
    for (const auto* pipe : {&saver_->process.out, &saver_->process.err, &saver_->process.exec})
      want(pipe->number(), POLLIN);
  for (const Peer& peer : peers_) {
    const bool has_more = peer.follows && peer.sent < series_.last();
    want(peer.socket.number(), static_cast<short>(has_more ? POLLIN | POLLOUT : POLLIN));
  }
  const auto left = std::max(until - Clock::now(), Clock::duration::zero());
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  const timespec wait{seconds.count(),
                      static_cast<long>(std::chrono::nanoseconds(left - seconds).count())};
  if (::ppoll(polled.data(), polled.size(), &wait, nullptr) > 0)
    for (const pollfd& each : polled)
      if (each.revents != 0) answer(each.fd);
  keep_deadlines();
  for (Peer& peer : peers_)
    if (peer.follows) send_reports(peer);
  std::erase_if(peers_, [](const Peer& peer) { return !peer.socket; });
}

void Supervisor::answer(int descriptor) {
  if (descriptor == signals_.number()) return reap();
  if (descriptor == places_.control.number()) return accept_peer();
  if (descriptor == receiver_.descriptor()) return receiver_.receive(series_);
  if (descriptor == job_.exec.number()) return hear_exec();
  if (out_ && descriptor == out_->pipe.number()) return void(read_output(*out_, false));
  if (err_ && descriptor == err_->pipe.number()) return void(read_output(*err_, true));
  if (saver_)
    for (const auto* pipe : {&saver_->process.out, &saver_->process.err, &saver_->process.exec})
      if (pipe->number() == descriptor) return hear_saver();
  for (Peer& peer : peers_)
    if (peer.socket.number() == descriptor) {
      return hear(peer);
    }
}

}  // namespace cleave
