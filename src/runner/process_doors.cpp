#include "runner/process_doors.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/format.hpp"
#include "runner/job_checkpoint.hpp"

namespace cleave {

namespace {

struct SignalName {
  std::string_view name;
  int number;
};
constexpr SignalName signal_names[] = {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"HUP", SIGHUP}};

/// A job that was suspended for longer does not catch up.
constexpr auto most_late = std::chrono::milliseconds(50);

timespec left_until(std::chrono::steady_clock::time_point end) {
  const auto left =
      std::max(end - std::chrono::steady_clock::now(), std::chrono::steady_clock::duration(0));
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(left);
  return {whole.count(), static_cast<long>(std::chrono::nanoseconds(left - whole).count())};
}

}  // namespace

JobSignals::JobSignals(int signal) : checkpoint_signal_(signal) {
  ::sigemptyset(&waited_for_);
  ::sigaddset(&waited_for_, SIGTERM);
  ::sigaddset(&waited_for_, SIGINT);
  if (signal != 0) ::sigaddset(&waited_for_, signal);
  ::pthread_sigmask(SIG_BLOCK, &waited_for_, &before_);
}

JobSignals::~JobSignals() {
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

SimulatedJobRequest JobSignals::wait_until(std::chrono::steady_clock::time_point end) {
  while (true) {
    const timespec left = left_until(end);
    const int signal = ::sigtimedwait(&waited_for_, nullptr, &left);
    if (signal > 0 && signal == checkpoint_signal_) return SimulatedJobRequest::checkpoint;
    if (signal > 0) {
      stopped_by_ = signal;
      return SimulatedJobRequest::stop;
    }
    if (errno == EAGAIN && std::chrono::steady_clock::now() >= end)
      return SimulatedJobRequest::none;
  }
}

int checkpoint_signal(std::string_view name) {
  const auto found = std::ranges::find(signal_names, name, &SignalName::name);
  return found == std::end(signal_names) ? 0 : found->number;
}

ProcessDoors::ProcessDoors(SimProcess& process, JobSignals& signals, ReportSender& reports,
                           Settings settings)
    : process_(&process),
      signals_(&signals),
      reports_(&reports),
      settings_(std::move(settings)),
      until_(std::chrono::steady_clock::now()) {}

Result<bool> ProcessDoors::hold(MiB memory) {
  return process_->hold(memory);
}

Worked ProcessDoors::work(Duration time) {
  const auto begun = std::max(until_, std::chrono::steady_clock::now() - most_late);
  const auto end = begun + time;
  const SimulatedJobRequest request = signals_->wait_until(end);
  const auto now = std::chrono::steady_clock::now();
  until_ = request == SimulatedJobRequest::none ? end : now;
  return {request, std::max(Duration::zero(), Duration(end - until_))};
}

void ProcessDoors::report(const MemoryReport& report) {
  reports_->send(report);
  if (settings_.quiet) return;
  fmt::print("iteration {}/{}: {} MiB\n", report.iteration, settings_.iterations,
             report.held().value);
  std::fflush(stdout);
}

Result<void> ProcessDoors::keep(std::int64_t done) {
  if (settings_.checkpoint.empty()) return {};
  const auto kept = write_checkpoint(settings_.checkpoint, settings_.iterations, done);
  if (kept && !settings_.quiet) {
    fmt::print("checkpoint: {} of {} iterations in {}\n", done, settings_.iterations,
               settings_.checkpoint);
    std::fflush(stdout);
  }
  return kept;
}

}  // namespace cleave
