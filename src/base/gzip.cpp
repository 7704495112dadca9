#include "base/gzip.hpp"

#include <zlib.h>

#include <limits>

namespace cleave {

std::string gzipped(std::string_view text) {
  constexpr int with_gzip_header = 15 + 16, most_memory = 9;
  if (text.size() > std::numeric_limits<uInt>::max() / 2) return {};
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, with_gzip_header, most_memory,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    return {};
  std::string small(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  // zlib reads through this pointer only.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(small.data());
  stream.avail_out = static_cast<uInt>(small.size());
  const bool whole = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  small.resize(stream.total_out);
  static_cast<void>(deflateEnd(&stream));
  return whole ? small : std::string();
}

}  // namespace cleave
