#pragma once
// The 19 maximal layouts of an A100-40GB with the profiles `five`, and the pairs of them: a job on
// every instance of the first and on every instance of the second; matched by profile in the order
// of their starts. Jobs without a partner end or are new.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/format.hpp"
#include "base/json.hpp"
#include "replay.hpp"
#include "scene.hpp"

namespace cleave::plans {

using FiveLayout = std::vector<Instance>;  // by start

inline void add_layouts(const GpuModel& model, const std::vector<Instance>& positions,
                        std::size_t from, FiveLayout& so_far, std::vector<FiveLayout>& found) {
  const auto fits = [&](const Instance& each) {
    so_far.push_back(each);
    const bool lawful = unlawful(model, so_far).empty();
    so_far.pop_back();
    return lawful;
  };
  if (std::ranges::none_of(positions, fits)) found.push_back(so_far);
  for (std::size_t i = from; i < positions.size(); ++i)
    if (fits(positions[i])) {
      so_far.push_back(positions[i]);
      add_layouts(model, positions, i + 1, so_far, found);
      so_far.pop_back();
    }
}

inline std::vector<FiveLayout> five_layouts() {
  const GpuModel& model = **find_gpu_model("A100-40GB");
  std::vector<Instance> positions;
  for (const Profile& profile : model.profiles)
    if (profile.attribute == Attribute::none && !profile.double_memory)
      for (const int start : profile.starts.ascending()) positions.push_back({&profile, start});
  std::ranges::sort(positions, {}, &Instance::start);
  std::vector<FiveLayout> found;
  FiveLayout so_far;
  add_layouts(model, positions, 0, so_far, found);
  return found;
}

inline std::string text_of(const FiveLayout& layout) {
  std::string text;
  for (const Instance& each : layout)
    text += fmt::format("{}{}@{}", text.empty() ? "" : ",", each.profile->name, each.start);
  return text;
}

/// Two maximal layouts as a problem with its goal.
struct FivePair {
  Question now;
  End end;
};

/// With `spare` free GPUs beside it.
inline FivePair five_pair(const FiveLayout& from, const FiveLayout& to, std::size_t spare) {
  const auto name_of = [](std::map<const Profile*, int>& count, const Instance& each) {
    return fmt::format("{}/{}", each.profile->name, count[each.profile]++);
  };
  std::map<const Profile*, int> here, there;
  Json instances = Json::array(), waiting = Json::array();
  for (const Instance& each : from)
    instances.push_back({{"profile", std::string(each.profile->name)},
                         {"start", each.start},
                         {"workload", name_of(here, each)}});
  std::map<std::string, Position> seats;
  for (const Instance& each : to) {
    const bool fresh = there[each.profile] >= here[each.profile];
    const std::string work = name_of(there, each);
    seats.insert({work, {0, each}});
    if (fresh)
      waiting.push_back({{"workload", work}, {"profile", std::string(each.profile->name)}});
  }
  Json document = {{"gpus", {{{"name", "n0/0"}, {"model", "A100-40GB"}, {"instances", instances}}}},
                   {"waiting", waiting}};
  for (std::size_t i = 1; i <= spare; ++i)
    document["gpus"].push_back({{"name", fmt::format("n0/{}", i)}, {"model", "A100-40GB"}});
  FivePair pair{{document.dump(), Task::joint, {}, {}, true}, {}};
  const Scene scene = *read_scene(pair.now);
  pair.end.idle.resize(scene.gpus.size());
  for (const Work& work : scene.works) {
    const auto seat = seats.find(work.name);
    pair.end.seats.push_back(seat == seats.end() ? std::nullopt : std::optional(seat->second));
  }
  return pair;
}

}  // namespace cleave::plans
