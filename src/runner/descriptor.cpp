#include "runner/descriptor.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

Descriptor::~Descriptor() {
  close();
}

Descriptor::Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

void Descriptor::close() {
  if (number_ >= 0) ::close(std::exchange(number_, -1));
}

int Descriptor::release() {
  return std::exchange(number_, -1);
}

std::unexpected<Error> system_error_at(const std::string& place, std::string_view what) {
  return fail(ErrorKind::infeasible, shown(place, 200),
              fmt::format("{}: {}", what, std::generic_category().message(errno)));
}

Result<Descriptor> open_folder(const std::string& path) {
  return open_folder_in(AT_FDCWD, path);
}

Result<Descriptor> open_folder_in(int folder, const std::string& name) {
  Descriptor opened(
      ::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!opened) return system_error_at(name, "cannot be opened as a folder");
  return opened;
}

Result<std::string> read_file_in(int folder, const std::string& name, uid_t owner,
                                 std::int64_t most_bytes) {
  const Descriptor file(
      ::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) return system_error_at(name, "cannot be opened");
  struct stat facts {};
  if (::fstat(file.number(), &facts) != 0) return system_error_at(name, "cannot be examined");
  if (!S_ISREG(facts.st_mode) || facts.st_nlink != 1)
    return fail(ErrorKind::bad_input, name, "it is not a regular file with one link");
  if (facts.st_uid != owner)
    return fail(ErrorKind::bad_input, name,
                fmt::format("it belongs to user {}, not {}", facts.st_uid, owner));
  if (facts.st_size > most_bytes)
    return fail(ErrorKind::bad_input, name, fmt::format("{} bytes are too many", facts.st_size));
  // One byte more than allowed shows a file that grows while it is read.
  std::string text(static_cast<std::size_t>(facts.st_size) + 1, '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t got = ::read(file.number(), text.data() + have, text.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error_at(name, "cannot be read");
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  text.resize(have);
  return text;
}

bool leads_to(const std::string& path, int folder) {
  struct stat by_path {
  }, held{};
  return ::stat(path.c_str(), &by_path) == 0 && ::fstat(folder, &held) == 0 &&
         by_path.st_dev == held.st_dev && by_path.st_ino == held.st_ino;
}

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

Result<void> write_new_file_in(int folder, const std::string& name, std::string_view text) {
  const Descriptor file(
      ::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return system_error_at(name, "cannot be made");
  if (!write_all(file.number(), text)) return system_error_at(name, "cannot be written");
  return {};
}

}  // namespace cleave
