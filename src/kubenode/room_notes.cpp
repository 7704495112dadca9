#include "kubenode/room_notes.hpp"

#include "base/json.hpp"

namespace cleave {

std::vector<KeptRoom> read_kept_room(const Json& config_map) {
  std::vector<KeptRoom> kept;
  const auto data = config_map.find("data");
  if (data == config_map.end() || !data->is_object()) return kept;
  const auto text = data->find(kept_room_key);
  if (text == data->end() || !text->is_string()) return kept;
  const auto list = parse_json(text->get<std::string>(), "kept places");
  if (!list || !list->is_array()) return kept;
  for (const Json& each : *list) {
    std::optional<Error> error;
    JsonReader in(each, "kept place", error);
    KeptRoom room{in.text("node"), in.text("device"), in.integer("until_s", 0, INT64_MAX)};
    if (!error) kept.push_back(std::move(room));
  }
  return kept;
}

std::string kept_room_text(const std::vector<KeptRoom>& kept) {
  Json list = Json::array();
  for (const KeptRoom& each : kept)
    list.push_back({{"node", each.node}, {"device", each.device}, {"until_s", each.until_s}});
  return list.dump();
}

}  // namespace cleave
