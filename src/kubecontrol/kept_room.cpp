#include "kubecontrol/kept_room.hpp"

#include <chrono>

#include "base/json.hpp"
#include "kubecontrol/cluster_objects.hpp"

namespace cleave {

namespace {

constexpr const char* evicted_key = "evicted";

std::int64_t unix_seconds(Instant at) {
  return std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count();
}

}  // namespace

ControlNotes read_notes(const Json& config_map) {
  ControlNotes notes;
  notes.kept = read_kept_room(config_map);
  const auto list = parse_json(text_below(config_map, {"data", evicted_key}), "evictions");
  if (!list || !list->is_array()) return notes;
  for (const Json& each : *list) {
    const Json& at = json_below(each, {"at"});
    if (at.is_number_integer())
      notes.evicted.emplace(text_below(each, {"owner"}),
                            Instant(std::chrono::seconds(at.get<std::int64_t>())));
  }
  return notes;
}

Json notes_data(const ControlNotes& notes, Instant since) {
  Json evicted = Json::array();
  for (const auto& [owner, at] : notes.evicted)
    if (at >= since) evicted.push_back({{"owner", owner}, {"at", unix_seconds(at)}});
  return {{kept_room_key, kept_room_text(notes.kept)}, {evicted_key, evicted.dump()}};
}

}  // namespace cleave
