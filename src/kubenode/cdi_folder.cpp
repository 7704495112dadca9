#include "kubenode/cdi_folder.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/format.hpp"
#include "base/read_text.hpp"
#include "kube/claim_cdi.hpp"

namespace cleave {

namespace fs = std::filesystem;

namespace {

std::unexpected<Error> cannot(const fs::path& file, const std::string& what, int number) {
  return fail(ErrorKind::infeasible, file.string(),
              fmt::format("{}: {}", what, std::generic_category().message(number)));
}

/// To the disk, so that a file with its name is whole after a loss of power too.
bool write_whole(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = ::write(descriptor, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(done));
  }
  return ::fsync(descriptor) == 0;
}

}  // namespace

Result<void> CdiFolder::make() const {
  std::error_code failed;
  fs::create_directories(folder_, failed);
  if (failed) return cannot(folder_, "the folder cannot be made", failed.value());
  return {};
}

std::optional<std::string> CdiFolder::read(const std::string& uid) const {
  auto text = read_text((folder_ / cdi_file_name(uid)).string());
  return text ? std::optional(std::move(*text)) : std::nullopt;
}

Result<void> CdiFolder::write(const std::string& uid, const std::string& text) const {
  const fs::path file = folder_ / cdi_file_name(uid), next = file.string() + ".new";
  const int descriptor = ::open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) return cannot(next, "it cannot be made", errno);
  const bool whole = write_whole(descriptor, text);
  const int number = errno;
  ::close(descriptor);
  if (!whole) {
    ::unlink(next.c_str());
    return cannot(next, "it cannot be written", number);
  }
  if (::rename(next.c_str(), file.c_str()) != 0) return cannot(file, "it cannot be made", errno);
  return {};
}

Result<void> CdiFolder::remove(const std::string& uid) const {
  const fs::path file = folder_ / cdi_file_name(uid);
  if (::unlink(file.c_str()) != 0 && errno != ENOENT)
    return cannot(file, "it cannot be removed", errno);
  return {};
}

std::vector<std::string> CdiFolder::uids() const {
  std::vector<std::string> found;
  std::error_code failed;
  for (const auto& each : fs::directory_iterator(folder_, failed))
    if (auto uid = uid_of_cdi_file(each.path().filename().string())) found.push_back(*uid);
  return found;
}

}  // namespace cleave
