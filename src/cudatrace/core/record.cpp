#include "cudatrace/core/record.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <type_traits>

namespace cleave::cuda {

namespace {

static_assert(std::is_trivially_destructible_v<Record>);
static_assert(std::atomic<std::int64_t>::is_always_lock_free, "processes share them");

Record* mapped(int file, int flags) {
  void* const at = ::mmap(nullptr, sizeof(Record), PROT_READ | PROT_WRITE, flags, file, 0);
  if (at == MAP_FAILED) return nullptr;
  // Zeros are a record of nothing, so no process need be the first.
  auto* const record = static_cast<Record*>(at);
  std::uint64_t none = 0;
  if (record->version.compare_exchange_strong(none, Record::of_this_version) ||
      none == Record::of_this_version)
    return record;
  ::munmap(at, sizeof(Record));
  errno = EPROTO;
  return nullptr;
}

}  // namespace

Record* map_record(const char* path) {
  const int file = ::open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return nullptr;
  struct stat found {};
  Record* record = nullptr;
  // A file of another size is somebody else's; growing a new one twice is harmless.
  if (::fstat(file, &found) == 0 && S_ISREG(found.st_mode) &&
      (found.st_size == static_cast<off_t>(sizeof(Record)) ||
       (found.st_size == 0 && ::ftruncate(file, sizeof(Record)) == 0)))
    record = mapped(file, MAP_SHARED);
  else
    errno = EPROTO;
  const int why = errno;
  ::close(file);
  errno = why;
  return record;
}

Record* private_record() {
  return mapped(-1, MAP_SHARED | MAP_ANONYMOUS);
}

void unmap_record(Record* record) {
  if (record != nullptr) ::munmap(record, sizeof(Record));
}

void note_unanswered(Record& record, const char* name) {
  for (UnansweredRow& row : record.unanswered) {
    std::uint32_t state = row.state.load(std::memory_order_acquire);
    if (state == LaunchRow::unused &&
        row.state.compare_exchange_strong(state, LaunchRow::being_written)) {
      std::snprintf(row.name.data(), row.name.size(), "%s", name);
      row.state.store(LaunchRow::written, std::memory_order_release);
      return;
    }
    // Its writer needs a moment, unless it was killed just then.
    constexpr int patience = 5000;
    for (int turns = 0; state != LaunchRow::written && turns < patience; ++turns) {
      ::sched_yield();
      state = row.state.load(std::memory_order_acquire);
    }
    if (state == LaunchRow::written &&
        std::strncmp(row.name.data(), name, row.name.size() - 1) == 0)
      return;
  }
}

std::optional<std::uint64_t> start_of(std::int32_t pid) {
  if (::kill(pid, 0) != 0 && errno == ESRCH) return 0;
  char path[32], text[1024];
  std::snprintf(path, sizeof(path), "/proc/%d/stat", pid);
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  const ssize_t size = ::read(file, text, sizeof(text) - 1);
  ::close(file);
  if (size <= 0) return std::nullopt;
  text[size] = 0;
  // The name before may contain anything, also brackets and blanks.
  const char* const behind_name = std::strrchr(text, ')');
  char state = 0;
  long threads = 0;
  unsigned long long started = 0;
  constexpr int fields = 3;
  if (behind_name == nullptr ||
      std::sscanf(behind_name + 1,
                  " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld %*s "
                  "%llu",
                  &state, &threads, &started) != fields)
    return std::nullopt;
  // The first thread may end before the others.
  const bool ended = (state == 'Z' || state == 'X') && threads <= 1;
  return ended ? 0 : started;
}

namespace {

bool is_gone(const ProcessRow& row, std::int32_t pid) {
  const std::uint64_t expected = row.started.load();
  const auto started = start_of(pid);
  return started && (*started == 0 || (expected != 0 && *started != expected));
}

}  // namespace

void sweep_dead(Record& record) {
  const int before = errno;
  for (ProcessRow& row : record.process) {
    std::int32_t pid = row.pid.load();
    if (pid <= 0 || !is_gone(row, pid)) continue;
    // The thread that takes the number out takes the memory off.
    if (!row.pid.compare_exchange_strong(pid, -1)) continue;
    for (std::size_t kind = 0; kind < memory_kinds; ++kind) {
      const std::int64_t held = row.held[kind].exchange(0);
      record.held_of[kind].fetch_sub(held);
      if (on_gpu(static_cast<MemoryKind>(kind))) record.held.fetch_sub(held);
    }
    record.contexts.fetch_sub(1);
    row.started.store(0);
    row.pid.store(0);
  }
  errno = before;
}

}  // namespace cleave::cuda
