#include "runner/container/container_root.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <deque>
#include <memory>

#include "base/format.hpp"
#include "base/text.hpp"
#include "runner/descriptor.hpp"

namespace cleave {

namespace {

constexpr int most_links = 40;

const std::array<RootPoint, 12> podmans = {
    RootPoint{"/proc"},
    RootPoint{"/sys"},
    RootPoint{"/dev"},
    RootPoint{"/run"},
    RootPoint{"/tmp"},
    RootPoint{"/var/tmp"},
    RootPoint{"/etc/hosts", false},
    RootPoint{"/etc/hostname", false},
    RootPoint{"/etc/resolv.conf", false},
    RootPoint{"/etc/passwd", false},
    RootPoint{"/etc/group", false},
    RootPoint{"/etc/mtab", false},
};

std::deque<std::string> parts_of(std::string_view path) {
  std::deque<std::string> parts;
  for (const std::string_view each : split(path, '/'))
    if (!each.empty() && each != ".") parts.emplace_back(each);
  return parts;
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

/// One new root, being made.
class RootMaker {
 public:
  RootMaker(std::string image, std::string root)
      : image_(std::move(image)), root_(std::move(root)) {}

  Result<void> make(const std::string& path, const RootFolder& folder) {
    std::vector<std::string> there;
    if (const auto listed = list(path, there); !listed) return listed;
    for (const std::string& each : there)
      if (const auto made = take_over(path, each, folder); !made) return made;
    for (const auto& [name, inside] : folder.inside) {
      const std::string to = fmt::format("{}{}/{}", root_, path, name);
      struct stat facts {};
      if (::lstat(to.c_str(), &facts) == 0) continue;
      if (const auto made = inside.is_file ? make_file(to) : make_folder(to); !made) return made;
      if (inside.is_file) continue;
      if (const auto made = make(fmt::format("{}/{}", path, name), inside); !made) return made;
    }
    return {};
  }

 private:
  /// Nothing is there where the image has no such folder.
  Result<void> list(const std::string& path, std::vector<std::string>& into) const {
    const std::string from = image_ + path;
    const std::unique_ptr<DIR, CloseFolder> folder(::opendir(from.c_str()));
    if (!folder && path.empty()) return system_error_at(from, "cannot be read");
    if (!folder) return {};
    while (const dirent* entry = ::readdir(folder.get())) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") into.emplace_back(name);
    }
    return {};
  }

  /// An entry of the image: a link is made again, what is to be made anew is left for make(), and
  /// everything else is mounted.
  Result<void> take_over(const std::string& path, const std::string& name,
                         const RootFolder& folder) const {
    const std::string from = fmt::format("{}{}/{}", image_, path, name),
                      to = fmt::format("{}{}/{}", root_, path, name);
    struct stat facts {};
    if (::lstat(from.c_str(), &facts) != 0) return {};
    const auto anew = folder.inside.find(name);
    const bool is_anew = anew != folder.inside.end();
    if (is_anew && S_ISDIR(facts.st_mode) && !anew->second.inside.empty()) return {};
    if (is_anew && anew->second.is_file && !S_ISREG(facts.st_mode)) return {};
    if (S_ISLNK(facts.st_mode)) return copy_link(from, to);
    if (const auto made = S_ISDIR(facts.st_mode) ? make_folder(to) : make_file(to); !made)
      return made;
    if (::mount(from.c_str(), to.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
      return system_error_at(from, "cannot be mounted");
    return {};
  }

  static Result<void> copy_link(const std::string& from, const std::string& to) {
    char text[4096];
    const ssize_t length = ::readlink(from.c_str(), text, sizeof text - 1);
    if (length < 0) return system_error_at(from, "cannot be read");
    text[length] = '\0';
    if (::symlink(text, to.c_str()) != 0) return system_error_at(to, "cannot be made");
    return {};
  }
  static Result<void> make_folder(const std::string& path) {
    if (::mkdir(path.c_str(), 0755) != 0) return system_error_at(path, "cannot be made");
    return {};
  }
  static Result<void> make_file(const std::string& path) {
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (!file) return system_error_at(path, "cannot be made");
    return {};
  }

  std::string image_, root_;
};

}  // namespace

std::span<const RootPoint> points_of_podman() {
  return podmans;
}

std::string resolved_in_image(std::string_view path, const ReadLink& read_link) {
  std::deque<std::string> left = parts_of(path);
  std::vector<std::string> done;
  int links = 0;
  while (!left.empty()) {
    const std::string part = left.front();
    left.pop_front();
    if (part == "..") {
      if (!done.empty()) done.pop_back();
      continue;
    }
    done.push_back(part);
    const std::string here = fmt::format("/{}", fmt::join(done, "/"));
    const auto target = links < most_links ? read_link(here) : std::nullopt;
    if (!target) continue;
    ++links;
    done.pop_back();
    if (target->starts_with('/')) done.clear();
    const auto parts = parts_of(*target);
    left.insert(left.begin(), parts.begin(), parts.end());
  }
  return fmt::format("/{}", fmt::join(done, "/"));
}

RootFolder root_of(std::span<const RootPoint> points, const ReadLink& read_link) {
  RootFolder root;
  for (const RootPoint& point : points) {
    // A file that is a link in the image is made anew, wherever the link leads.
    const std::size_t slash = point.path.rfind('/');
    std::string path = point.is_folder ? resolved_in_image(point.path, read_link)
                                       : resolved_in_image(point.path.substr(0, slash), read_link);
    if (!point.is_folder) path += point.path.substr(slash);
    RootFolder* at = &root;
    const auto parts = parts_of(path);
    for (const std::string& each : parts) at = &at->inside[each];
    at->is_file = !point.is_folder;
  }
  return root;
}

Result<void> make_root(const std::string& image, const std::string& root,
                       std::span<const RootPoint> points) {
  const auto read_link = [&](const std::string& path) -> std::optional<std::string> {
    char text[4096];
    const ssize_t length = ::readlink((image + path).c_str(), text, sizeof text);
    if (length < 0) return std::nullopt;
    return std::string(text, static_cast<std::size_t>(length));
  };
  return RootMaker(image, root).make("", root_of(points, read_link));
}

}  // namespace cleave
