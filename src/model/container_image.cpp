#include "model/container_image.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"

namespace cleave {

namespace {

constexpr std::size_t longest_path = 4095;

/// Top-level folders that are the image's own.
constexpr std::array<std::string_view, 14> folders_of_the_image = {
    "/",      "/bin",  "/boot", "/dev",  "/etc", "/lib", "/lib32",
    "/lib64", "/proc", "/run",  "/sbin", "/sys", "/usr", "/var"};

}  // namespace

ImageKind image_kind(std::string_view image) {
  if (!image.starts_with('/')) return ImageKind::name;
  return image.ends_with(".sif") ? ImageKind::archive : ImageKind::folder;
}

bool is_mountable(std::string_view path) {
  if (!path.starts_with('/') || path.size() > longest_path) return false;
  if (std::ranges::any_of(path, [](unsigned char c) {
        return c < ' ' || c == 0x7f || c == ':' || c == ',' || c == '"' || c == '\\';
      }))
    return false;
  const auto parts = split(path.substr(1), '/');
  return std::ranges::find(parts, "..") == parts.end();
}

bool is_shared_folder(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return std::ranges::find(folders_of_the_image, path) == folders_of_the_image.end();
}

std::optional<BindMount> parse_bind(std::string_view text) {
  BindMount bind;
  constexpr std::string_view read_only = ":ro";
  if (text.ends_with(read_only)) {
    bind.read_only = true;
    text.remove_suffix(read_only.size());
  }
  const std::size_t colon = text.find(':');
  bind.from = text.substr(0, colon);
  bind.to = colon == std::string_view::npos ? bind.from : std::string(text.substr(colon + 1));
  if (!is_mountable(bind.from) || !is_mountable(bind.to) || !is_shared_folder(bind.to))
    return std::nullopt;
  return bind;
}

}  // namespace cleave
