#pragma once
// The cache of shared libraries that ldconfig writes (/etc/ld.so.cache, glibc's format 1.1): the
// libraries of this machine by the names under which programs ask for them.

#include <string>
#include <string_view>
#include <vector>

namespace cleave {

/// A library of this machine's usual 64-bit kind.
struct CachedLibrary {
  std::string name;  // "libcuda.so.1"
  std::string path;
  friend bool operator==(const CachedLibrary&, const CachedLibrary&) = default;
};
/// In the order of the cache; what is not in its format is left out.
[[nodiscard]] std::vector<CachedLibrary> libraries_in_cache(std::string_view cache);

}  // namespace cleave
