#include "kube/claim_cdi.hpp"

#include "base/format.hpp"
#include "base/json.hpp"

namespace cleave {

namespace {

constexpr std::string_view cdi_class = "cleave.gpu/claim", cdi_prefix = "cleave.gpu-claim_",
                           cdi_suffix = ".json", cdi_spec_version = "0.6.0";

std::string device_of(const std::string& uid, std::size_t number) {
  return fmt::format("{}-{}", uid, number);
}

/// The schema has no empty lists.
Json nodes_json(const std::vector<std::string>& nodes) {
  Json edits = Json::object();
  for (const std::string& each : nodes)
    edits["deviceNodes"].push_back({{"path", each}, {"hostPath", each}, {"permissions", "rw"}});
  return edits;
}

}  // namespace

std::string cdi_file_name(const std::string& uid) {
  return fmt::format("{}{}{}", cdi_prefix, uid, cdi_suffix);
}

std::optional<std::string> uid_of_cdi_file(std::string_view name) {
  if (!name.starts_with(cdi_prefix) || !name.ends_with(cdi_suffix)) return std::nullopt;
  name.remove_prefix(cdi_prefix.size());
  name.remove_suffix(cdi_suffix.size());
  if (!claim_key_of(name)) return std::nullopt;
  return std::string(name);
}

std::string cdi_device_id(const std::string& uid, std::size_t number) {
  return fmt::format("{}={}", cdi_class, device_of(uid, number));
}

std::string claim_cdi_text(const KubeClaim& claim, const std::vector<KubeInstance>& instances,
                           const KubeGifts& gifts) {
  std::vector<std::string> uuids;
  for (const KubeInstance& each : instances) uuids.push_back(each.uuid);
  std::vector<std::string> environment = gifts.environment;
  environment.push_back(fmt::format("CUDA_VISIBLE_DEVICES={}", fmt::join(uuids, ",")));
  // So that NVIDIA's own runtime, where it is the default one, adds no GPUs of its choice.
  environment.emplace_back("NVIDIA_VISIBLE_DEVICES=void");
  Json common = {{"env", environment}};
  for (const KubeMount& each : gifts.mounts)
    common["mounts"].push_back(
        {{"hostPath", each.from},
         {"containerPath", each.to},
         {"options", {"bind", each.read_only ? "ro" : "rw", "nosuid", "nodev"}}});
  Json devices = Json::array();
  for (std::size_t i = 0; i < instances.size(); ++i) {
    Json edits = nodes_json(instances[i].nodes);
    edits["env"] = {fmt::format("CLEAVE_CLAIM={}/{}", claim.at.space, claim.at.name)};
    devices.push_back({{"name", device_of(claim.uid, i)}, {"containerEdits", std::move(edits)}});
  }
  const Json specification = {{"cdiVersion", cdi_spec_version},
                              {"kind", cdi_class},
                              {"devices", std::move(devices)},
                              {"containerEdits", std::move(common)}};
  return specification.dump(2) + "\n";
}

}  // namespace cleave
