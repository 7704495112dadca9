#include "runner/container/cdi.hpp"

#include "base/json.hpp"

namespace cleave {

std::string cdi_text(const ContainerEdits& edits, const std::string& name) {
  // The schema has no empty lists.
  Json changes = Json::object();
  if (!edits.environment.empty()) changes["env"] = edits.environment;
  for (const ContainerNode& each : edits.nodes)
    changes["deviceNodes"].push_back(
        {{"path", each.to}, {"hostPath", each.from}, {"permissions", "rw"}});
  for (const BindMount& each : edits.mounts)
    changes["mounts"].push_back(
        {{"hostPath", each.from},
         {"containerPath", each.to},
         {"options", {"bind", each.read_only ? "ro" : "rw", "nosuid", "nodev"}}});
  const Json device = {{"name", name}, {"containerEdits", std::move(changes)}};
  const Json specification = {
      {"cdiVersion", cdi_version}, {"kind", cdi_kind}, {"devices", Json::array({device})}};
  return specification.dump(2) + "\n";
}

}  // namespace cleave
