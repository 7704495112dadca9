#include "cli/live/host_mounts.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <memory>
#include <system_error>

#include "base/format.hpp"

namespace cleave::cli {

namespace fs = std::filesystem;

namespace {

std::unexpected<Error> refused(const std::string& place, std::string_view what) {
  return fail(
      ErrorKind::infeasible, place,
      fmt::format("{}: {}", what, std::generic_category().message(errno)),
      "this needs root, or user namespaces of one's own: sysctl user.max_user_namespaces above 0, "
      "and 0 in kernel.apparmor_restrict_unprivileged_userns where there is such a setting; "
      "`cleave sim-node root` writes the files into a folder without");
}

Result<void> write_to(const char* file, const std::string& text) {
  const int opened = ::open(file, O_WRONLY | O_CLOEXEC);
  const bool written = opened >= 0 && ::write(opened, text.data(), text.size()) == std::ssize(text);
  const int why = errno;
  if (opened >= 0) ::close(opened);
  errno = why;
  if (!written) return refused(file, "it cannot be written");
  return {};
}

/// An open folder.
class Folder {
 public:
  explicit Folder(int file) : entries_(file < 0 ? nullptr : ::fdopendir(file)) {}
  ~Folder() {
    if (entries_ != nullptr) ::closedir(entries_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] int file() const { return entries_ == nullptr ? -1 : ::dirfd(entries_); }
  /// The next name; null at the end.
  [[nodiscard]] const char* next() const {
    for (;;) {
      const dirent* entry = entries_ == nullptr ? nullptr : ::readdir(entries_);
      if (entry == nullptr) return nullptr;
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") return entry->d_name;
    }
  }

 private:
  DIR* entries_;
};

int open_folder(int from, const char* name) {
  return ::openat(from, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

bool is_nvidias(int folder, const char* name) {
  std::ifstream vendor(fmt::format("/proc/self/fd/{}/{}/vendor", folder, name));
  std::string id;
  return vendor >> id && id == "0x10de";
}

/// Shows one entry of a folder in another. What cannot be shown is left out: it may have gone.
void show_entry(int from, const char* name, const fs::path& to) {
  struct stat status {};
  if (::fstatat(from, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return;
  const std::string source = fmt::format("/proc/self/fd/{}/{}", from, name);
  if (S_ISLNK(status.st_mode)) {
    std::error_code failed;
    const fs::path target = fs::read_symlink(source, failed);
    if (!failed) fs::create_symlink(target, to, failed);
    return;
  }
  if (S_ISDIR(status.st_mode)) {
    ::mkdir(to.c_str(), 0755);
  } else {
    const int made = ::open(to.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (made >= 0) ::close(made);
  }
  ::mount(source.c_str(), to.c_str(), nullptr, MS_BIND | MS_REC, nullptr);
}

/// Whether one of the folders is below this one.
bool leads_to(std::string_view folder, const std::vector<std::string>& folders) {
  return std::ranges::any_of(folders, [&](const std::string& each) {
    return each.size() > folder.size() && each.starts_with(folder) && each[folder.size()] == '/';
  });
}
bool is_one_of(std::string_view folder, const std::vector<std::string>& folders) {
  return std::ranges::find(folders, folder) != folders.end();
}

void fill(int from, const std::string& folder, const std::vector<std::string>& folders,
          std::string_view hidden) {
  const Folder real(from);
  while (const char* name = real.next()) {
    const std::string path = fmt::format("{}/{}", folder, name);
    if (std::string_view(name).starts_with(hidden)) continue;
    if (folder.ends_with("pci/devices") && is_nvidias(real.file(), name)) continue;
    if (!is_one_of(path, folders) && !leads_to(path, folders)) {
      show_entry(real.file(), name, "/" + path);
      continue;
    }
    ::mkdir(("/" + path).c_str(), 0755);
    fill(open_folder(real.file(), name), path, folders, hidden);
  }
}

Result<void> cover_one(const std::string& folder, const std::vector<std::string>& folders,
                       std::string_view hidden) {
  const std::string path = "/" + folder;
  const int real = open_folder(AT_FDCWD, path.c_str());
  if (real < 0) return refused(path, "it cannot be read");
  struct stat status {};
  ::fstat(real, &status);
  const std::string mode = fmt::format("mode={:o}", status.st_mode & 0777U);
  if (::mount("cleave-sim-node", path.c_str(), "tmpfs", MS_NOSUID, mode.c_str()) != 0) {
    const auto why = refused(path, "it cannot be covered");
    ::close(real);
    return why;
  }
  fill(real, folder, folders, hidden);
  return {};
}

/// The folder, or the nearest above it that is there; empty if that is one which cannot be covered.
std::string coverable(std::string folder) {
  std::error_code failed;
  while (!fs::is_directory("/" + folder, failed)) folder = fs::path(folder).parent_path().string();
  return folder.find('/') == std::string::npos && folder != "dev" ? std::string() : folder;
}

}  // namespace

Result<void> enter_own_mounts() {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  const bool alone = user == 0 && ::unshare(CLONE_NEWNS) == 0;
  if (!alone) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
      return refused("user namespace", "this system does not give one");
    if (const auto done = write_to("/proc/self/setgroups", "deny"); !done) return done;
    if (const auto done = write_to("/proc/self/uid_map", fmt::format("{0} {0} 1", user)); !done)
      return done;
    if (const auto done = write_to("/proc/self/gid_map", fmt::format("{0} {0} 1", group)); !done)
      return done;
  }
  // Nothing that is mounted from here on is seen outside.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return refused("/", "its mounts cannot be made private");
  return {};
}

Result<std::vector<std::string>> cover(const std::vector<std::string>& folders,
                                       std::string_view hidden) {
  std::vector<std::string> covered;
  for (const std::string& each : folders) {
    const std::string found = coverable(each);
    if (!found.empty() && !is_one_of(found, covered)) covered.push_back(found);
  }
  std::erase_if(covered, [&](const std::string& each) {
    return std::ranges::any_of(covered, [&](const std::string& above) {
      return each.size() > above.size() && each.starts_with(above) && each[above.size()] == '/';
    });
  });
  for (const std::string& each : covered)
    if (const auto done = cover_one(each, folders, hidden); !done)
      return std::unexpected(done.error());
  return covered;
}

Result<void> show_instead(const fs::path& file, const fs::path& place) {
  if (::mount(file.c_str(), place.c_str(), nullptr, MS_BIND, nullptr) != 0)
    return refused(place.string(), "it cannot be covered");
  return {};
}

}  // namespace cleave::cli
