#include "base/read_text.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/text.hpp"

namespace cleave {

namespace {

constexpr std::size_t most_bytes = std::size_t{4} << 30;

struct Closer {
  void operator()(gzFile_s* file) const { gzclose(file); }
};

std::unexpected<Error> cannot_read(const std::string& path, int error) {
  if (path.empty())
    return fail(ErrorKind::bad_input, "", "the name of a file is empty", "name a file");
  return fail(ErrorKind::bad_input, shown(path, 200), std::strerror(error),
              error == ENOENT   ? "check the name"
              : error == EISDIR ? "name a file in it"
                                : "");
}

}  // namespace

Result<std::string> read_text(const std::string& path) {
  const bool standard_input = path == "-";
  const std::string place = standard_input ? "standard input" : shown(path, 200);
  const int descriptor =
      standard_input ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return cannot_read(path, errno);
  struct stat status {};
  if (::fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode)) {
    ::close(descriptor);
    return cannot_read(path, EISDIR);
  }
  const std::unique_ptr<gzFile_s, Closer> file(gzdopen(descriptor, "rb"));
  if (!file) {
    ::close(descriptor);
    return cannot_read(path, ENOMEM);
  }
  gzbuffer(file.get(), 1U << 18);
  std::string text;
  const auto chunk = std::make_unique<char[]>(1U << 18);
  while (true) {
    const int got = gzread(file.get(), chunk.get(), 1U << 18);
    int code = Z_OK;
    const char* why = gzerror(file.get(), &code);
    // A truncated gzip file lacks its trailer, which zlib reports as a buffer error at the end.
    if (got < 0 || code == Z_BUF_ERROR)
      return fail(ErrorKind::bad_input, place,
                  code == Z_ERRNO ? std::strerror(errno) : std::string("broken gzip: ") + why,
                  "the file may be cut off; fetch it again");
    if (got == 0) return text;
    if (text.size() + static_cast<std::size_t>(got) > most_bytes)
      return fail(ErrorKind::bad_input, place, "the file holds more than 4 GiB of text");
    text.append(chunk.get(), static_cast<std::size_t>(got));
  }
}

Result<std::optional<NamedText>> read_if_named(const std::string& path) {
  if (path.empty()) return std::nullopt;
  auto text = read_text(path);
  if (!text) return std::unexpected(text.error());
  return NamedText{path == "-" ? "standard input" : shown(path, 200), std::move(*text)};
}

}  // namespace cleave
