#include "device/file_handle.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

std::unexpected<Error> system_failure(const std::filesystem::path& path, std::string_view what) {
  const int why = errno;
  const bool forbidden = why == EACCES || why == EPERM || why == EROFS;
  return fail(
      ErrorKind::infeasible, shown(path.string(), 200),
      fmt::format("{}: {}", what, std::generic_category().message(why)),
      forbidden ? "run it as the user who owns it, or name another directory with --state" : "");
}

FileHandle::~FileHandle() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

FileHandle::FileHandle(FileHandle&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

FileHandle& FileHandle::operator=(FileHandle&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

namespace {

int open_patiently(const std::filesystem::path& path, int flags) {
  int descriptor = -1;
  do descriptor = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

}  // namespace

Result<FileHandle> FileHandle::open(const std::filesystem::path& path, int flags) {
  const int descriptor = open_patiently(path, flags);
  if (descriptor < 0) return system_failure(path, "cannot be opened");
  return FileHandle(descriptor);
}

Result<FileHandle> FileHandle::open_if_there(const std::filesystem::path& path, int flags) {
  const int descriptor = open_patiently(path, flags);
  if (descriptor < 0 && errno != ENOENT) return system_failure(path, "cannot be opened");
  return FileHandle(descriptor);
}

Result<std::string> FileHandle::read_from(std::int64_t offset,
                                          const std::filesystem::path& path) const {
  std::string text;
  std::array<char, 65536> piece;
  while (true) {
    const ssize_t got = ::pread(descriptor_, piece.data(), piece.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_failure(path, "cannot be read");
    if (got == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(got));
    offset += got;
  }
}

Result<void> FileHandle::write_whole(std::string_view text,
                                     const std::filesystem::path& path) const {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_failure(path, "cannot be written");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> FileHandle::sync(const std::filesystem::path& path) const {
  if (::fsync(descriptor_) != 0) return system_failure(path, "cannot be synced to the disk");
  return {};
}

Result<void> sync_directory(const std::filesystem::path& directory) {
  const auto handle = FileHandle::open(directory, O_RDONLY | O_DIRECTORY);
  if (!handle) return std::unexpected(handle.error());
  return handle->sync(directory);
}

}  // namespace cleave
