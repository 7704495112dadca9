#include "runner/container/library_cache.hpp"

#include <cstdint>
#include <cstring>
#include <optional>

namespace cleave {

namespace {

constexpr std::string_view magic = "glibc-ld.so.cache1.1";
constexpr std::size_t header_size = 48, entry_size = 24;
constexpr std::uint32_t kind_mask = 0xff00;
#ifdef __aarch64__
constexpr std::uint32_t usual_kind = 0x0a00;
#else
constexpr std::uint32_t usual_kind = 0x0300;
#endif

/// In the byte order of this machine, whose cache it is.
std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t number = 0;
  if (at + sizeof number <= bytes.size()) std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

std::optional<std::string> text_at(std::string_view bytes, std::size_t at) {
  if (at >= bytes.size()) return std::nullopt;
  const std::string_view rest = bytes.substr(at);
  const std::size_t end = rest.find('\0');
  if (end == std::string_view::npos || end == 0 || end > 4095) return std::nullopt;
  return std::string(rest.substr(0, end));
}

}  // namespace

std::vector<CachedLibrary> libraries_in_cache(std::string_view cache) {
  std::vector<CachedLibrary> all;
  // An older part may come first; places of texts count from the beginning of this one.
  const std::size_t begin = cache.find(magic);
  if (begin == std::string_view::npos) return all;
  cache.remove_prefix(begin);
  const std::size_t count = number_at(cache, magic.size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = header_size + i * entry_size;
    if (at + entry_size > cache.size()) break;
    if ((number_at(cache, at) & kind_mask) != usual_kind) continue;
    const auto name = text_at(cache, number_at(cache, at + 4));
    const auto path = text_at(cache, number_at(cache, at + 8));
    if (name && path) all.push_back({*name, *path});
  }
  return all;
}

}  // namespace cleave
