// ldconfig's cache of libraries.

#include "runner/container/library_cache.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::library_cache_target {
namespace {

bool read_input(const std::string& text) {
  const auto all = libraries_in_cache(text);
  for (const CachedLibrary& each : all)
    require(!each.name.empty() && !each.path.empty() && text.contains(each.name) &&
                text.contains(each.path),
            "what is read is there");
  return !all.empty();
}

}  // namespace
}  // namespace cleave::fuzz::library_cache_target

CLEAVE_FUZZ_TARGET(library_cache, counted)
