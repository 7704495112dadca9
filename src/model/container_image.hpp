#pragma once
// The image in which a job's command runs, and what of the host is in the container besides, as
// submissions name them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cleave {

/// What an image's text names.
enum class ImageKind : std::uint8_t {
  folder,   // a root file system, by its absolute path
  archive,  // a .sif file, by its absolute path
  name,     // an image in the store of the user's podman, such as localhost/train:2
};
[[nodiscard]] ImageKind image_kind(std::string_view image);

/// A file or folder of the host that a container has.
struct BindMount {
  std::string from, to;  // absolute; on the host, and in the container
  bool read_only = false;
  friend bool operator==(const BindMount&, const BindMount&) = default;
};
/// HOST, HOST:INSIDE, and either followed by :ro; the paths are absolute. Nothing where it is not
/// one.
[[nodiscard]] std::optional<BindMount> parse_bind(std::string_view text);

/// Absolute, without the characters that separate the parts of a mount, and without "..".
[[nodiscard]] bool is_mountable(std::string_view path);
/// Whether a container has a folder of the host's at the same place: not where the image has its
/// own, as in /usr.
[[nodiscard]] bool is_shared_folder(std::string_view path);

}  // namespace cleave
