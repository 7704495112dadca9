#include "daemon/store/store_reserve.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>

namespace cleave {

namespace {

/// Of the file system with this file; 0 where that cannot be said.
std::int64_t free_bytes_beside(const std::filesystem::path& path) {
  struct statvfs facts {};
  if (::statvfs(path.c_str(), &facts) != 0) return 0;
  return static_cast<std::int64_t>(facts.f_bavail) * static_cast<std::int64_t>(facts.f_frsize);
}

std::int64_t bounded(const std::filesystem::path& path, std::int64_t bytes) {
  struct statvfs facts {};
  if (::statvfs(path.c_str(), &facts) != 0) return 0;
  const auto whole =
      static_cast<std::int64_t>(facts.f_blocks) * static_cast<std::int64_t>(facts.f_frsize);
  return std::min(bytes, whole / 8);
}

}  // namespace

StoreReserve::StoreReserve(const std::filesystem::path& database, std::int64_t bytes)
    : bytes_(bounded(database, bytes)) {
  database_.path = database;
  log_.path = database.string() + "-wal";
}

/// Whether it is open, and still the file of that name. One that is open stays so where SQLite may
/// have locks on it.
bool StoreReserve::open(Holder& holder) {
  struct stat facts {};
  if (::lstat(holder.path.c_str(), &facts) != 0) return false;
  if (holder.file && holder.inode == facts.st_ino) return true;
  if (holder.file && &holder == &database_) return false;
  auto file = FileHandle::open(holder.path, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
  if (!file) return false;
  holder.file = std::move(*file);
  holder.inode = facts.st_ino;
  holder.end = -1;
  return true;
}

void StoreReserve::hold() {
  if (bytes_ == 0) return;
  for (Holder* each : {&database_, &log_}) {
    struct stat facts {};
    if (!open(*each) || ::fstat(each->file.descriptor(), &facts) != 0) continue;
    // The log is written anew from its beginning, and so its room begins there.
    const std::int64_t end = each == &log_ ? 0 : facts.st_size;
    if (end == each->end && (each != &log_ || facts.st_size > 0)) continue;
    if (::fallocate(each->file.descriptor(), FALLOC_FL_KEEP_SIZE, end, bytes_ / 2) == 0)
      each->end = end;
  }
}

bool StoreReserve::is_needed() const {
  return bytes_ > 0 && free_bytes_beside(database_.path) < bytes_;
}

}  // namespace cleave
