#include "base/demangle.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace cleave {

std::string in_source(const std::string& mangled) {
  constexpr std::size_t longest = 4096;
  if (mangled.size() > longest) return mangled;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0 || plain == nullptr) return mangled;
  return plain.get();
}

}  // namespace cleave
