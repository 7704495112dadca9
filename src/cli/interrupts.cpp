#include "cli/interrupts.hpp"

#include <signal.h>

#include <array>
#include <atomic>

namespace cleave::cli {

namespace {

std::atomic<int> signal_that_came{0};
constexpr auto noted = std::to_array({SIGINT, SIGTERM, SIGHUP});
std::array<struct sigaction, noted.size()> as_it_was;

extern "C" void note_signal(int number) {
  signal_that_came.store(number);
}

}  // namespace

Interrupts::Interrupts(Waiting waiting) {
  signal_that_came.store(0);
  struct sigaction action = {};
  action.sa_handler = note_signal;
  if (waiting == Waiting::goes_on) action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < noted.size(); ++i) {
    ::sigaction(noted[i], nullptr, &as_it_was[i]);
    if (as_it_was[i].sa_handler != SIG_IGN) ::sigaction(noted[i], &action, nullptr);
  }
}

Interrupts::~Interrupts() {
  for (std::size_t i = 0; i < noted.size(); ++i) ::sigaction(noted[i], &as_it_was[i], nullptr);
}

int Interrupts::came() {
  return signal_that_came.load();
}

int Interrupts::take() {
  return signal_that_came.exchange(0);
}

}  // namespace cleave::cli
