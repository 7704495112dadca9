#include "devices.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "base/format.hpp"
#include "base/text.hpp"
#include "model/profile_set.hpp"

namespace cleave::cases {

namespace {

struct Device {
  std::string_view name, model, profiles;
};

// "A100-40GB" leaves out the +me profile and "A100-80GB" does not: they are the tables of two
// papers.
constexpr Device devices[] = {
    {"A30", "A30-24GB", "plain"},
    {"A100-40GB", "A100-40GB", "plain"},
    {"A100-40GB/five", "A100-40GB", "five"},
    {"A100-40GB/four", "A100-40GB", "four"},
    {"A100-80GB", "A100-80GB", "all"},
    {"A100-80GB/six", "A100-80GB", "plain"},
};

}  // namespace

Result<std::shared_ptr<const StateGraph>> find_device(std::string_view name) {
  const auto* const device = std::ranges::find(devices, name, &Device::name);
  if (device == std::end(devices)) {
    std::vector<std::string> known;
    for (const Device& other : devices) known.emplace_back(other.name);
    return fail(ErrorKind::bad_input, "", fmt::format("the cases have no device '{}'", shown(name)),
                suggestion(name, known));
  }
  const auto model = find_gpu_model(device->model);
  if (!model) return std::unexpected(model.error());
  const auto profiles = ProfileChoice::parse(device->profiles);
  if (!profiles) return std::unexpected(profiles.error());
  return StateGraph::of(**model, profiles->on(**model));
}

}  // namespace cleave::cases
