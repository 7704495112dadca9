#pragma once
// Where this tree and this build lie. Tests ask here and not the compiler's command line, so that
// no object but one names a machine's path and the compiler cache serves every clone of the same
// tree (tests/places.cpp).

#include <string>

namespace cleave {

/// The root of the repository: no slash at its end.
[[nodiscard]] const std::string& source_dir();

/// The folder of this build, build/release for one: it has bin/ and lib/.
[[nodiscard]] const std::string& binary_dir();

}  // namespace cleave
