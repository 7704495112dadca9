#include "runner/container/container.hpp"

#include <algorithm>
#include <array>

#include "base/json.hpp"

namespace cleave {

namespace {

constexpr std::array<std::string_view, 2> names = {"podman", "apptainer"};

Json mounts_json(const std::vector<BindMount>& mounts) {
  Json all = Json::array();
  for (const BindMount& each : mounts)
    all.push_back({{"from", each.from}, {"to", each.to}, {"read_only", each.read_only}});
  return all;
}

std::string read_path(JsonReader& in, const char* key) {
  std::string path = in.text(key);
  if (!is_mountable(path)) in.refuse(key, "it cannot be given to a container program");
  return path;
}

std::vector<BindMount> read_mounts(JsonReader& in) {
  std::vector<BindMount> mounts;
  for (JsonReader& each : in.objects("mounts")) {
    BindMount mount;
    mount.from = read_path(each, "from");
    mount.to = read_path(each, "to");
    mount.read_only = each.flag("read_only", false);
    each.done();
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

}  // namespace

std::string_view name(ContainerProgram program) {
  return names[static_cast<std::size_t>(program)];
}

Json to_json(const Container& container) {
  Json nodes = Json::array();
  for (const ContainerNode& each : container.instance.nodes)
    nodes.push_back({{"from", each.from}, {"to", each.to}});
  return {{"by", name(container.by)},
          {"program", container.program},
          {"image", container.image},
          {"home", container.home},
          {"mounts", mounts_json(container.mounts)},
          {"instance",
           {{"nodes", std::move(nodes)},
            {"mounts", mounts_json(container.instance.mounts)},
            {"environment", container.instance.environment}}}};
}

Container read_container(JsonReader& in) {
  Container container;
  const std::string by = in.text("by");
  const auto* const found = std::ranges::find(names, by);
  if (found == names.end()) {
    in.refuse("by", "expected podman or apptainer");
  } else {
    container.by = static_cast<ContainerProgram>(found - names.begin());
  }
  container.program = read_path(in, "program");
  container.image = in.text("image");
  if (image_kind(container.image) != ImageKind::name && !is_mountable(container.image))
    in.refuse("image", "it cannot be given to a container program");
  if (container.image.empty() || container.image.front() == '-' ||
      container.image.find('\0') != std::string::npos)
    in.refuse("image", "it is not an image");
  container.home = read_path(in, "home");
  container.mounts = read_mounts(in);
  if (auto instance = in.object_if("instance")) {
    for (JsonReader& each : instance->objects("nodes")) {
      ContainerNode node;
      node.from = read_path(each, "from");
      node.to = read_path(each, "to");
      each.done();
      container.instance.nodes.push_back(std::move(node));
    }
    container.instance.mounts = read_mounts(*instance);
    container.instance.environment = instance->texts("environment");
    for (const std::string& each : container.instance.environment)
      if (each.find('=') == std::string::npos || each.starts_with('='))
        instance->refuse("environment", "expected NAME=value");
    instance->done();
  }
  in.done();
  return container;
}

}  // namespace cleave
