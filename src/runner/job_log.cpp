#include "runner/job_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/format.hpp"

namespace cleave {

namespace {

// Always of the same length, so that it can be overwritten in place.
std::string cut_line(std::int64_t dropped) {
  return fmt::format("[cleave: {:>20} bytes before this line were dropped]\n", dropped);
}

}  // namespace

JobLog::JobLog(int folder, std::string name, std::int64_t limit)
    : folder_(folder), name_(std::move(name)), half_(limit / 2) {
  (void)open_fresh();
}

bool JobLog::open_fresh() {
  const std::string path = fmt::format("{}.log", name_);
  file_ = Descriptor(
      ::openat(folder_, path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file_) refusal_ = errno;
  size_ = from_job_ = 0;
  marked_ = false;
  return static_cast<bool>(file_);
}

void JobLog::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto piece = bytes.substr(0, static_cast<std::size_t>(half_) / 2);
    append_within_half(piece);
    bytes.remove_prefix(piece.size());
  }
}

void JobLog::append_within_half(std::string_view bytes) {
  if (size_ + static_cast<std::int64_t>(bytes.size()) > half_) begin_next();
  if (!file_ && !open_fresh()) {
    refused_ += static_cast<std::int64_t>(bytes.size());
    refused_in_all_ += static_cast<std::int64_t>(bytes.size());
    return;
  }
  if (refused_ > 0) say_what_was_refused();
  (void)write(bytes, true);
}

bool JobLog::write(std::string_view bytes, bool of_the_job) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.number(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      refusal_ = errno;
      if (!of_the_job) return false;
      refused_ += static_cast<std::int64_t>(bytes.size());
      refused_in_all_ += static_cast<std::int64_t>(bytes.size());
      return false;
    }
    size_ += written;
    if (of_the_job) from_job_ += written;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

void JobLog::say_what_was_refused() {
  const std::string line = fmt::format("\n[cleave: {} bytes could not be written here: {}]\n",
                                       refused_, std::generic_category().message(refusal_));
  if (write(line, false)) refused_ = 0;
}

/// Drops the older file; the current one takes its place and now says what is missing before it.
void JobLog::begin_next() {
  dropped_ += std::exchange(old_from_job_, from_job_);
  if (file_ && marked_) {
    const std::string line = cut_line(dropped_);
    (void)!::pwrite(file_.number(), line.data(), line.size(), 0);
  }
  file_.close();
  const std::string path = fmt::format("{}.log", name_), old = fmt::format("{}.old.log", name_);
  (void)::renameat(folder_, path.c_str(), folder_, old.c_str());
  if (open_fresh()) marked_ = write(cut_line(0), false);
}

}  // namespace cleave
