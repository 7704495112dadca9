#include "runner/system_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "runner/descriptor.hpp"

namespace cleave {

std::string read_system_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char piece[4096];
  ssize_t got = 0;
  while (file &&
         ((got = ::read(file.number(), piece, sizeof piece)) > 0 || (got < 0 && errno == EINTR)))
    if (got > 0) text.append(piece, static_cast<std::size_t>(got));
  return text;
}

bool write_system_file(const std::string& path, std::string_view text) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file &&
         ::write(file.number(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

}  // namespace cleave
