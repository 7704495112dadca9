#include "cli/daemon/top_terminal.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <string_view>

#include "base/format.hpp"
#include "cli/interrupts.hpp"

namespace cleave::cli {

namespace {

std::atomic<bool> stop_asked{false}, size_changed{false};

extern "C" void note_stop(int /*number*/) {
  stop_asked.store(true);
}
extern "C" void note_size(int /*number*/) {
  size_changed.store(true);
}

void handle(int number, void (*handler)(int), struct sigaction& before) {
  struct sigaction action = {};
  action.sa_handler = handler;
  ::sigaction(number, &action, &before);
}

/// The terminal may be gone.
void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

TopTerminal::TopTerminal() {
  struct termios now = {};
  if (::isatty(STDIN_FILENO) == 1 && ::tcgetattr(STDIN_FILENO, &now) == 0) before_ = now;
  reads_ = before_.has_value();
  handle(SIGTSTP, note_stop, stop_before_);
  handle(SIGWINCH, note_size, size_before_);
  std::fflush(stdout);
  enter();
}

TopTerminal::~TopTerminal() {
  leave();
  ::sigaction(SIGTSTP, &stop_before_, nullptr);
  ::sigaction(SIGWINCH, &size_before_, nullptr);
}

void TopTerminal::enter() {
  if (before_) {
    struct termios raw = *before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    // Ctrl-\ would end the program with the terminal like this.
    raw.c_cc[VQUIT] = _POSIX_VDISABLE;
    ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  }
  write_all("\x1b[?1049h\x1b[?25l");
  entered_ = true;
}

void TopTerminal::leave() {
  if (!entered_) return;
  entered_ = false;
  if (before_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &*before_);
  write_all("\x1b[?25h\x1b[?1049l");
}

void TopTerminal::stop() {
  leave();
  struct sigaction ours = {};
  ::sigaction(SIGTSTP, &stop_before_, &ours);
  ::raise(SIGTSTP);  // and here it goes on
  ::sigaction(SIGTSTP, &ours, nullptr);
  enter();
}

void TopTerminal::show(const std::vector<std::string>& lines) {
  std::string screen = "\x1b[H";
  for (std::size_t i = 0; i < lines.size(); ++i)
    screen += fmt::format("{}{}\x1b[K", i == 0 ? "" : "\r\n", lines[i]);
  write_all(screen + "\x1b[J");
}

std::string TopTerminal::typed_within(double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  while (Interrupts::came() == 0) {
    if (stop_asked.exchange(false)) {
      stop();
      return {};
    }
    if (size_changed.exchange(false)) return {};
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return {};
    // A signal between the questions above and the call below is seen after a moment.
    constexpr long moment = 100;
    struct pollfd input = {reads_ ? STDIN_FILENO : -1, POLLIN, 0};
    const int ready = ::poll(&input, 1, static_cast<int>(std::min<long>(left, moment)));
    if (ready <= 0 || (input.revents & (POLLIN | POLLHUP)) == 0) continue;
    char bytes[256];
    const ssize_t got = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (got > 0) return {bytes, static_cast<std::size_t>(got)};
    if (got == 0 || (errno != EINTR && errno != EAGAIN)) reads_ = false;  // it is gone
  }
  return {};
}

}  // namespace cleave::cli
