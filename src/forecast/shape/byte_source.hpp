#pragma once
// A file as its readers see it: how long it is and a way to get a few of its bytes. Whoever opens
// files is further out; headers of files with many gigabytes of weights are read without loading
// those.

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.hpp"

namespace cleave {

struct ByteSource {
  std::string place;  // the file's name, for errors
  std::uint64_t size = 0;
  /// Exactly `length` bytes from `offset` on. Only asked for what lies within `size`.
  std::function<Result<std::string>(std::uint64_t offset, std::size_t length)> read;
};

}  // namespace cleave
