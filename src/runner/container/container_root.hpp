#pragma once
// The root file system that podman is given for an image's folder. The folder is not changed and
// may be somebody else's, so that no mount point can be made in it: a new root is put together of
// mounts of the folder's entries, with made folders where mount points are missing.

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace cleave {

/// A place in the new root that must be there.
struct RootPoint {
  std::string path;  // absolute, in the container
  bool is_folder = true;
  friend bool operator==(const RootPoint&, const RootPoint&) = default;
};

/// A folder that is made anew: of its entries these are made or made anew themselves, and all
/// others are the image's.
struct RootFolder {
  bool is_file = false;
  std::map<std::string, RootFolder> inside;
  friend bool operator==(const RootFolder&, const RootFolder&) = default;
};

/// What a symbolic link in the image says, by its path there; nothing where it is not one.
using ReadLink = std::function<std::optional<std::string>(const std::string&)>;
/// The path without symbolic links, which lead no further up than the image's root.
[[nodiscard]] std::string resolved_in_image(std::string_view path, const ReadLink& read_link);
/// The folders that the points need, by where they really are.
[[nodiscard]] RootFolder root_of(std::span<const RootPoint> points, const ReadLink& read_link);

/// What podman itself mounts or writes in every root.
[[nodiscard]] std::span<const RootPoint> points_of_podman();

/// Makes the new root in the empty folder `root`, in a mount namespace of this process's own.
[[nodiscard]] Result<void> make_root(const std::string& image, const std::string& root,
                                     std::span<const RootPoint> points);

}  // namespace cleave
