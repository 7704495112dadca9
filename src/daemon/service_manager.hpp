#pragma once
// What the service manager that started this program is told, where one did (sd_notify(3), without
// its library), and what the program asks of the system for itself.

#include <cstdint>
#include <string_view>

namespace cleave {

/// "READY=1"; nothing happens where NOTIFY_SOCKET is not set.
void tell_service_manager(std::string_view text);

/// As many descriptors as it may have: a connection and a supervisor take one each. The soft limit
/// that it began with, which its jobs get; 0 where nothing was changed.
std::uint64_t raise_descriptor_limit();

}  // namespace cleave
