#include "runner/job_checkpoint.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/format.hpp"
#include "base/json.hpp"

namespace cleave {

namespace {

constexpr std::size_t most_bytes = 4096;

/// Writes and syncs all of it; returns the errno of a failure, or 0.
int write_synced(const std::string& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return errno;
  int error = 0;
  for (std::size_t at = 0; at < text.size() && error == 0;) {
    const ssize_t wrote = ::write(file, text.data() + at, text.size() - at);
    if (wrote >= 0) {
      at += static_cast<std::size_t>(wrote);
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (error == 0 && ::fsync(file) != 0) error = errno;
  if (::close(file) != 0 && error == 0) error = errno;
  return error;
}

}  // namespace

Result<void> write_checkpoint(const std::string& path, std::int64_t iterations, std::int64_t done) {
  const std::string beside = fmt::format("{}.{}", path, ::getpid());
  int error = write_synced(beside, Json{{"iterations", iterations}, {"done", done}}.dump() + "\n");
  if (error == 0 && std::rename(beside.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return {};
  ::unlink(beside.c_str());
  return fail(ErrorKind::infeasible, path, std::generic_category().message(error),
              "the job's progress could not be kept");
}

Result<void> can_keep_checkpoint(const std::string& path) {
  const std::string beside = fmt::format("{}.{}", path, ::getpid());
  const int error = write_synced(beside, "");
  ::unlink(beside.c_str());
  if (error != 0)
    return fail(ErrorKind::bad_input, path,
                fmt::format("no checkpoint can be written there: {}",
                            std::generic_category().message(error)),
                "name a file in an existing folder that can be written");
  if (std::error_code unknown; std::filesystem::is_directory(path, unknown))
    return fail(ErrorKind::bad_input, path, "it is a folder", "name a file");
  return {};
}

Result<std::int64_t> read_checkpoint(const std::string& path, std::int64_t iterations) {
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown) && !unknown) return 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(most_bytes, '\0');
  if (!file.read(text.data(), static_cast<std::streamsize>(most_bytes)) && !file.eof())
    return fail(ErrorKind::bad_input, path, "the checkpoint cannot be read");
  text.resize(static_cast<std::size_t>(file.gcount()));
  const auto document = parse_json(text, path);
  if (!document) return std::unexpected(document.error());
  std::optional<Error> error;
  JsonReader in(*document, path, error);
  const std::int64_t all = in.integer("iterations", 1, INT64_MAX);
  const std::int64_t done = in.integer("done", 0, INT64_MAX);
  in.done();
  if (!error && (all != iterations || done > all))
    in.refuse("",
              fmt::format("this is the checkpoint of another job: {} of {} iterations, not of {}",
                          done, all, iterations),
              "name another file, or remove it to start from the beginning");
  if (error) return std::unexpected(*error);
  return done;
}

}  // namespace cleave
