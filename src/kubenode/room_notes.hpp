#pragma once
// Places that are kept for one pod, as the controller writes them into a ConfigMap and the nodes
// read them: of the devices that share slices with such a place only it itself is to be had.

#include <cstdint>
#include <string>
#include <vector>

#include "base/json_fwd.hpp"

namespace cleave {

/// A device whose place is kept, until then. A controller that is gone renews it no more.
struct KeptRoom {
  std::string node, device;
  std::int64_t until_s = 0;  // since 1970
  friend bool operator==(const KeptRoom&, const KeptRoom&) = default;
};

inline constexpr const char *notes_name = "cleave-compaction",  // of the ConfigMap
    *kept_room_key = "kept";

/// What cannot be read is as good as not there.
[[nodiscard]] std::vector<KeptRoom> read_kept_room(const Json& config_map);
[[nodiscard]] std::string kept_room_text(const std::vector<KeptRoom>& kept);

}  // namespace cleave
