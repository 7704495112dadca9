#include "control/book/stored_settings.hpp"

#include <charconv>
#include <string_view>

#include "base/format.hpp"
#include "base/text.hpp"
#include "control/book/stored_health.hpp"
#include "control/record_text.hpp"

namespace cleave {

namespace {

constexpr std::string_view drained_prefix = "drained ", need_prefix = "need ",
                           health_prefix = "health ", faults_prefix = "faults ",
                           user_prefix = "user ", meter_prefix = "meter ", claim_prefix = "claim ";

void read_need(std::string_view rest, const std::string& value, ApplicationNeeds& needs) {
  const std::size_t space = rest.find(' ');
  if (space == std::string_view::npos) return;
  const auto uid = parse_integer(rest.substr(0, space));
  const auto mib = parse_integer(value);
  if (!uid || !mib || *uid < 0 || *uid > UINT32_MAX) return;
  needs[{static_cast<std::uint32_t>(*uid), std::string(rest.substr(space + 1))}] = MiB{*mib};
}

/// Nothing where the key has another prefix.
std::optional<std::string> after(std::string_view prefix, std::string_view key) {
  if (!key.starts_with(prefix)) return {};
  return std::string(key.substr(prefix.size()));
}

void read_health(const std::string& key, const std::string& value, StoredSettings& parsed) {
  if (const auto gpu = after(health_prefix, key)) parsed.conditions[*gpu] = parse_conditions(value);
  if (const auto text = after(faults_prefix, key))
    if (const auto job = parse_integer(*text)) parsed.faults[*job] = parse_job_faults(value);
  if (const auto device = after(user_prefix, key)) {
    const auto uid = parse_integer(value);
    if (uid && *uid >= 0 && *uid <= UINT32_MAX)
      parsed.users[*device] = static_cast<std::uint32_t>(*uid);
    if (value == no_user) parsed.users[*device] = std::nullopt;
  }
}

void read_meter(const std::string& gpu, std::string_view value, StoredSettings& parsed) {
  const std::size_t space = value.find(' ');
  if (space == std::string_view::npos) return;
  const std::string_view counter = value.substr(0, space);
  MeterReading reading;
  if (counter != "-") {
    std::uint64_t shown = 0;
    const auto read = std::from_chars(counter.begin(), counter.end(), shown);
    if (read.ec != std::errc() || read.ptr != counter.end()) return;
    reading.millijoules = shown;
  }
  const auto at = parse_integer(value.substr(space + 1));
  if (!at) return;
  reading.at = Instant{Duration{*at}};
  parsed.meters[gpu] = reading;
}

}  // namespace

std::string claim_key(const std::string& key) {
  return fmt::format("{}{}", claim_prefix, key);
}

std::string meter_key(const std::string& gpu) {
  return fmt::format("{}{}", meter_prefix, gpu);
}

std::string meter_text(const MeterReading& reading) {
  return fmt::format("{} {}", reading.millijoules ? fmt::format("{}", *reading.millijoules) : "-",
                     reading.at.time_since_epoch().count());
}

std::string health_key(const std::string& gpu) {
  return fmt::format("{}{}", health_prefix, gpu);
}

std::string faults_key(JobNumber job) {
  return fmt::format("{}{}", faults_prefix, job);
}

std::string user_key(const std::string& device) {
  return fmt::format("{}{}", user_prefix, device);
}

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
    read_health(key, value, parsed);
    if (const auto gpu = after(meter_prefix, key)) read_meter(*gpu, value, parsed);
    if (const auto name = after(claim_prefix, key))
      if (auto claim = parse_claim(value, key)) parsed.claims[*name] = std::move(*claim);
  }
  return parsed;
}

}  // namespace cleave
