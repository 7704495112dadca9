#include "base/places_test.hpp"

namespace cleave {

const std::string& source_dir() {
  static const std::string place = CLEAVE_SOURCE_DIR;
  return place;
}

const std::string& binary_dir() {
  static const std::string place = CLEAVE_BINARY_DIR;
  return place;
}

}  // namespace cleave
