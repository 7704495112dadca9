#pragma once
// Messages to the service manager that started this program, if one did (sd_notify(3), without its
// library), and the program's own limits.

#include <cstdint>
#include <string_view>

namespace cleave {

/// Sends "READY=1" or the like; does nothing if NOTIFY_SOCKET is not set.
void tell_service_manager(std::string_view text);

/// Raises the soft limit on descriptors to the hard one: each connection and each supervisor takes
/// one. Returns the limit before, which jobs get; 0 if nothing was changed.
std::uint64_t raise_descriptor_limit();

}  // namespace cleave
