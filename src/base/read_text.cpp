#define ZLIB_CONST  // input is not changed
#include "base/read_text.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/format.hpp"
#include "base/read_limits.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 18;
constexpr std::string_view gzip_begins = "\x1f\x8b";

std::unexpected<Error> cannot_read(const std::string& path, int error) {
  if (path.empty())
    return fail(ErrorKind::bad_input, "", "the name of a file is empty", "name a file");
  return fail(ErrorKind::bad_input, shown(path, 200), std::strerror(error),
              error == ENOENT   ? "check the name"
              : error == EISDIR ? "name a file in it"
                                : "");
}

std::string in_words(std::size_t bytes) {
  constexpr std::size_t kib = 1024;
  if (bytes % (kib * kib * kib) == 0) return fmt::format("{} GiB", bytes / (kib * kib * kib));
  if (bytes % (kib * kib) == 0) return fmt::format("{} MiB", bytes / (kib * kib));
  return fmt::format("{} bytes", bytes);
}

/// Whether the text begins as programs of Windows write it, with a mark or ASCII in two bytes each.
bool begins_as_utf16(std::string_view text) {
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) return true;
  return text.size() >= 4 && (text[0] == 0) == (text[2] == 0) && (text[1] == 0) == (text[3] == 0) &&
         (text[0] == 0) != (text[1] == 0);
}

/// An open file, closed with the object.
class Source {
 public:
  explicit Source(int descriptor) : descriptor_(descriptor) {}
  ~Source() { ::close(descriptor_); }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  /// Bytes of a plain file; nothing is known of others.
  [[nodiscard]] std::optional<std::size_t> size() const {
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    return static_cast<std::size_t>(status.st_size);
  }
  [[nodiscard]] bool is_folder() const {
    struct stat status {};
    return ::fstat(descriptor_, &status) == 0 && S_ISDIR(status.st_mode);
  }
  /// Fills the chunk unless the file ends before; the number of bytes, or -1 with errno.
  [[nodiscard]] ssize_t read(char* into) const {
    std::size_t got = 0;
    while (got < chunk_bytes) {
      const ssize_t more = ::read(descriptor_, into + got, chunk_bytes - got);
      if (more < 0 && errno == EINTR) continue;
      if (more < 0) return -1;
      if (more == 0) break;
      got += static_cast<std::size_t>(more);
    }
    return static_cast<ssize_t>(got);
  }

 private:
  int descriptor_;
};

/// Reads one file up to its limits.
class TextReader {
 public:
  TextReader(const Source& source, std::string place, const ReadLimits& limits)
      : source_(source), place_(std::move(place)), limits_(limits) {}

  [[nodiscard]] Result<std::string> read() {
    auto chunk = next_chunk();
    if (!chunk) return std::unexpected(chunk.error());
    if (chunk->starts_with(gzip_begins)) return inflated(*chunk);
    const auto size = source_.size();
    if (size && *size > limits_.bytes) return too_long();
    text_.reserve(size.value_or(0));
    for (; !chunk->empty(); chunk = next_chunk()) {
      if (auto taken = take(*chunk); !taken) return std::unexpected(taken.error());
      if (chunk->size() < chunk_bytes) break;
    }
    if (!chunk) return std::unexpected(chunk.error());
    return std::move(text_);
  }

 private:
  /// The next bytes of the file, as many as a chunk has unless it ends.
  [[nodiscard]] Result<std::string_view> next_chunk() {
    const ssize_t got = source_.read(chunk_.get());
    if (got < 0) return cannot_read(place_, errno);
    compressed_ += static_cast<std::size_t>(got);
    return std::string_view(chunk_.get(), static_cast<std::size_t>(got));
  }

  /// All members of a gzip file, the first bytes of which are `bytes`. What follows them and is not
  /// another member is ignored, as gzip does.
  [[nodiscard]] Result<std::string> inflated(std::string_view bytes) {
    z_stream stream{};
    constexpr int gzip_alone = 16 + MAX_WBITS;
    if (inflateInit2(&stream, gzip_alone) != Z_OK) return broken_gzip("out of memory");
    const std::unique_ptr<z_stream, void (*)(z_stream*)> end(&stream,
                                                             [](z_stream* s) { inflateEnd(s); });
    const auto out = std::make_unique<char[]>(chunk_bytes);
    for (bool inside = true;;) {
      if (bytes.empty()) {
        const auto more = next_chunk();
        if (!more) return std::unexpected(more.error());
        if (more->empty() && inside) return broken_gzip("unexpected end of file");
        if (more->empty()) return std::move(text_);
        bytes = *more;
      }
      if (!inside && bytes.front() != gzip_begins.front()) return std::move(text_);
      if (!inside) inflateReset(&stream);
      stream.next_in = reinterpret_cast<const Bytef*>(bytes.data());
      stream.avail_in = static_cast<uInt>(bytes.size());
      stream.next_out = reinterpret_cast<Bytef*>(out.get());
      stream.avail_out = static_cast<uInt>(chunk_bytes);
      const int code = inflate(&stream, Z_NO_FLUSH);
      // A buffer error says that there was nothing left to write of what was read.
      if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
        return broken_gzip(stream.msg == nullptr ? "it cannot be inflated" : stream.msg);
      bytes.remove_prefix(bytes.size() - stream.avail_in);
      inside = code != Z_STREAM_END;
      const auto taken = take({out.get(), chunk_bytes - stream.avail_out});
      if (!taken) return std::unexpected(taken.error());
      const std::size_t consumed = compressed_ - bytes.size();
      if (text_.size() > limits_.inflates_freely && text_.size() / limits_.inflation > consumed)
        return fail(
            ErrorKind::bad_input, place_,
            fmt::format("this gzip file inflates to more than {} times its size",
                        limits_.inflation),
            "text inflates 5 to 50 times; if the file is to be trusted, inflate it with gunzip");
    }
  }

  [[nodiscard]] Result<void> take(std::string_view bytes) {
    if (bytes.size() > limits_.bytes - text_.size()) return too_long();
    const bool first = text_.empty();
    text_.append(bytes);
    if (first && begins_as_utf16(text_))
      return fail(ErrorKind::bad_input, place_, "the file is UTF-16, not UTF-8",
                  "convert it, as `iconv -f UTF-16 -t UTF-8` does");
    if (const std::size_t zero = bytes.find('\0'); zero != std::string_view::npos) {
      const auto until = text_.end() - static_cast<std::ptrdiff_t>(bytes.size() - zero);
      return fail(ErrorKind::bad_input,
                  fmt::format("{}:{}", place_, 1 + std::count(text_.begin(), until, '\n')),
                  "the line holds a byte of zero, which no text does",
                  "is it the right file? Name a file of text");
    }
    return {};
  }

  [[nodiscard]] std::unexpected<Error> too_long() const {
    return fail(
        ErrorKind::bad_input, place_,
        fmt::format("it is longer than {}, the most that is read here", in_words(limits_.bytes)),
        "is it the right file? A long table can be cut into several");
  }
  [[nodiscard]] std::unexpected<Error> broken_gzip(std::string_view why) const {
    return fail(ErrorKind::bad_input, place_, fmt::format("broken gzip: {}", why),
                "the file may be cut off; fetch it again");
  }

  const Source& source_;
  std::string place_;
  ReadLimits limits_;
  std::unique_ptr<char[]> chunk_ = std::make_unique<char[]>(chunk_bytes);
  std::size_t compressed_ = 0;  // bytes of the file so far
  std::string text_;
};

}  // namespace

Result<std::string> read_text(const std::string& path, const ReadLimits& limits) {
  const bool standard_input = path == "-";
  const int descriptor =
      standard_input ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return cannot_read(path, errno);
  const Source source(descriptor);
  if (source.is_folder()) return cannot_read(path, EISDIR);
  return TextReader(source, standard_input ? "standard input" : shown(path, 200), limits).read();
}

Result<std::string> read_text(const std::string& path) {
  return read_text(path, ReadLimits());
}

Result<std::optional<NamedText>> read_if_named(const std::string& path) {
  if (path.empty()) return std::nullopt;
  auto text = read_text(path);
  if (!text) return std::unexpected(text.error());
  return NamedText{path == "-" ? "standard input" : shown(path, 200), std::move(*text)};
}

}  // namespace cleave
