#include "physics/migration.hpp"

#include "base/quantity.hpp"

namespace cleave {

Duration transfer_time(Link link, std::int64_t mib) {
  const double bytes_per_second = link == Link::host ? 24e9 : 12.5e9;
  return Duration(
      static_cast<std::int64_t>(static_cast<double>(mib) * bytes_per_mib / bytes_per_second * 1e9));
}

}  // namespace cleave
