#pragma once
// How the files of NvmlDoor call functions of NVML.

#include <algorithm>
#include <span>

#include "base/text.hpp"
#include "device/door.hpp"

namespace cleave {

/// A function of NVML and its name; null if the library lacks it.
template <class Function>
struct NvmlCall {
  Function function;
  const char* name;

  template <class... Arguments>
  [[nodiscard]] DriverAnswer<void> operator()(Arguments... arguments) const {
    if (function == nullptr)
      return std::unexpected(Refusal{nvml::Return::function_not_found, name});
    const nvml::Return answer = function(arguments...);
    if (answer != nvml::Return::success) return std::unexpected(Refusal{answer, name});
    return {};
  }
};

/// Longer than any list of NVML: a driver that asks for more room than this has wrong counts.
inline constexpr std::uint32_t nvml_list_most = 1U << 20;

/// A list whose length only the call knows: `ask(buffer, &count)` takes the room in count, and is
/// called again with more room until the list fits.
template <class Item, class Ask>
DriverAnswer<std::vector<Item>> nvml_list(std::uint32_t room, Ask ask) {
  for (;;) {
    std::vector<Item> items(room);
    std::uint32_t count = room;
    const DriverAnswer<void> done = ask(items.data(), &count);
    if (done) {
      items.resize(std::min(count, room));
      return items;
    }
    if (done.error().code != nvml::Return::insufficient_size || room >= nvml_list_most)
      return std::unexpected(done.error());
    room = std::min(std::max(count, 2 * room), nvml_list_most);
  }
}

/// A text in a buffer that the driver filled, up to its end or the buffer's, made safe to show.
inline std::string nvml_text(std::span<const char> buffer) {
  const auto end = std::ranges::find(buffer, '\0');
  const std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.begin()));
  return shown(valid_utf8(text) ? text : std::string_view("?"), buffer.size());
}

inline bool refused_with(const Refusal& refusal, std::initializer_list<nvml::Return> codes) {
  return std::ranges::find(codes, refusal.code) != codes.end();
}

}  // namespace cleave

/// In a member of NvmlDoor: CLEAVE_NVML(nvmlDeviceGetName)(device, ...).
#define CLEAVE_NVML(name) \
  NvmlCall {              \
    nvml_->name, #name    \
  }
