#include "daemon/log_output.hpp"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <spdlog/sinks/base_sink.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

#include "base/format.hpp"

namespace cleave {

namespace {

/// Whether a write of at most PIPE_BUF bytes would not wait.
bool takes_bytes(int descriptor) {
  pollfd wanted{descriptor, POLLOUT, 0};
  return ::poll(&wanted, 1, 0) == 1;
}

}  // namespace

LogOutput::LogOutput(int descriptor) : descriptor_(descriptor) {
  // That there is room is known for this moment only: another program may write there too. Its own
  // way of writing is not to be changed, so the file is opened once more. A socket cannot be.
  struct stat facts {};
  if (::fstat(descriptor, &facts) != 0 || !(S_ISFIFO(facts.st_mode) || S_ISCHR(facts.st_mode)))
    return;
  own_ = Descriptor(::open(fmt::format("/proc/self/fd/{}", descriptor).c_str(),
                           O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (own_) descriptor_ = own_.number();
}

bool LogOutput::write(std::string_view line) {
  flush();
  if (kept_.size() + line.size() > most_kept) {
    ++dropped_;
    return false;
  }
  kept_ += line;
  flush();
  return true;
}

void LogOutput::flush() {
  while (!kept_.empty() && takes_bytes(descriptor_)) {
    const ssize_t written =
        ::write(descriptor_, kept_.data(), std::min<std::size_t>(kept_.size(), PIPE_BUF));
    if (written < 0 && errno == EINTR) continue;
    // Where it cannot be written at all, as on a full disk, what is kept goes when there is too
    // much of it.
    if (written <= 0) return;
    kept_.erase(0, static_cast<std::size_t>(written));
  }
}

std::size_t LogOutput::take_dropped() {
  flush();
  return kept_.size() > most_kept / 2 ? 0 : std::exchange(dropped_, 0);
}

namespace {

class StandardError final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  StandardError() : output_(STDERR_FILENO) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (const std::size_t dropped = output_.take_dropped(); dropped > 0)
      write({message.logger_name, spdlog::level::warn,
             fmt::format("here {} line{} of the log {} dropped: nobody read them", dropped,
                         dropped == 1 ? "" : "s", dropped == 1 ? "was" : "were")});
    write(message);
  }
  void flush_() override { output_.flush(); }

 private:
  void write(const spdlog::details::log_msg& message) {
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    static_cast<void>(output_.write({text.data(), text.size()}));
  }

  LogOutput output_;
};

}  // namespace

std::shared_ptr<spdlog::sinks::sink> log_to_standard_error() {
  return std::make_shared<StandardError>();
}

}  // namespace cleave
