#include "control/book/stored_settings.hpp"

#include <string_view>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

constexpr std::string_view drained_prefix = "drained ", need_prefix = "need ";

void read_need(std::string_view rest, const std::string& value, ApplicationNeeds& needs) {
  const std::size_t space = rest.find(' ');
  if (space == std::string_view::npos) return;
  const auto uid = parse_integer(rest.substr(0, space));
  const auto mib = parse_integer(value);
  if (!uid || !mib || *uid < 0 || *uid > UINT32_MAX) return;
  needs[{static_cast<std::uint32_t>(*uid), std::string(rest.substr(space + 1))}] = MiB{*mib};
}

}  // namespace

std::string drained_key(const std::string& uuid) {
  return fmt::format("{}{}", drained_prefix, uuid);
}

std::string need_key(const UserApplication& application) {
  return fmt::format("{}{} {}", need_prefix, application.uid, application.name);
}

StoredSettings parse_settings(const std::map<std::string, std::string>& settings) {
  StoredSettings parsed;
  for (const auto& [key, value] : settings) {
    const std::string_view text = key;
    if (key == paused_key) parsed.paused = true;
    if (key == boot_key) parsed.boot = value;
    if (key == scheduler_key) parsed.scheduler = value;
    if (text.starts_with(drained_prefix))
      parsed.drained.emplace(text.substr(drained_prefix.size()));
    if (text.starts_with(need_prefix))
      read_need(text.substr(need_prefix.size()), value, parsed.needs);
  }
  return parsed;
}

}  // namespace cleave
