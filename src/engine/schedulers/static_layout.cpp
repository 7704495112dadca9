#include "engine/schedulers/static_layout.hpp"

#include <optional>

#include "base/format.hpp"
#include "base/text.hpp"
#include "model/layout_text.hpp"

namespace cleave {

namespace {

/// "2g.10gb@0+1g.5gb+me@2": a part ends with its start, so that a '+' in a name separates nothing.
std::vector<std::string> layout_parts(std::string_view text) {
  std::vector<std::string> parts;
  for (const std::string_view piece : split(text, '+')) {
    if (!parts.empty() && parts.back().find('@') == std::string::npos) {
      parts.back() += '+';
      parts.back() += piece;
    } else {
      parts.emplace_back(piece);
    }
  }
  return parts;
}

/// A part, MODEL: taken off; nullopt for a model that it is not for.
std::optional<std::string_view> part_for(const Geometry& geometry, std::string_view part) {
  const std::string_view name = part.substr(0, part.find('@'));
  const std::size_t colon = name.rfind(':');
  const std::string_view bare = colon == std::string_view::npos ? part : part.substr(colon + 1);
  for (const Profile* profile : geometry.profile_list())
    if (means_profile(name, geometry.model(), *profile)) return bare;
  return std::nullopt;
}

/// The parts that are for this model as a legal state; nullopt when none is.
Result<std::optional<PlacementSet>> layout_on(const Geometry& geometry,
                                              const std::vector<std::string>& parts) {
  std::string own;
  for (const std::string& part : parts)
    if (const auto bare = part_for(geometry, part))
      own += fmt::format("{}{}", own.empty() ? "" : ",", *bare);
  if (own.empty()) return std::nullopt;
  const auto written = parse_layout(own, geometry);
  if (!written) return std::unexpected(written.error());
  const Verdict verdict = geometry.judge(*written);
  if (verdict.illegal) {
    const auto& [profile, start] = (*written)[verdict.culprit];
    return fail(ErrorKind::bad_usage, "layout",
                fmt::format("{}@{} is not possible there on {}: {}", profile->name, start,
                            geometry.model().key, name(*verdict.illegal)),
                verdict.illegal == Illegality::start ? wrong_start(*profile, start) : "");
  }
  PlacementSet layout;
  for (const auto& [profile, start] : *written) layout.insert(*geometry.find(*profile, start));
  return layout;
}

/// Every part must be for some model of the fleet.
Result<void> check_parts(const Fleet& fleet, const std::vector<std::string>& parts) {
  std::vector<std::string> known;
  for (const auto& graph : fleet.graphs())
    for (std::string& profile : graph->geometry().profile_names())
      known.push_back(std::move(profile));
  for (const std::string& part : parts) {
    if (part.find('@') == std::string::npos)
      return fail(
          ErrorKind::bad_usage, "layout", fmt::format("'{}' is not an instance", shown(part)),
          "write stacon, best, file, or profile@start joined by '+', like 4g.20gb@0+2g.10gb@4");
    const bool meant = std::ranges::any_of(fleet.graphs(), [&](const auto& graph) {
      return part_for(graph->geometry(), part).has_value();
    });
    const std::string profile = part.substr(0, part.find('@'));
    if (!meant)
      return fail(ErrorKind::bad_usage, "layout",
                  fmt::format("no GPU of this fleet has a profile '{}'", shown(profile)),
                  suggestion(profile, known));
  }
  return {};
}

/// For each GPU what `by_kind` has for its model, or what it shows.
FleetLayout for_every_gpu(const Fleet& fleet,
                          const std::vector<std::optional<PlacementSet>>& by_kind) {
  FleetLayout layout;
  for (const GpuState& gpu : fleet.gpus()) layout.push_back(by_kind[gpu.kind].value_or(gpu.idle));
  return layout;
}

}  // namespace

PlacementSet stacon_layout(const Geometry& geometry) {
  const int whole = geometry.model().memory_slices.value;
  PlacementSet layout;
  for (const int share : {2, 4, 4}) {
    std::optional<PlacementId> largest;
    for (const PlacementId id : geometry.free(layout)) {
      const Profile& profile = *geometry[id].profile;
      if (profile.attribute != Attribute::none || profile.memory.value * share > whole) continue;
      // By start within a profile: the first that is met stays.
      if (!largest ||
          std::tie(profile.compute, profile.memory) >
              std::tie(geometry[*largest].profile->compute, geometry[*largest].profile->memory))
        largest = id;
    }
    if (largest) layout.insert(*largest);
  }
  // With no profile as small as that, the largest there is.
  if (layout.empty() && geometry.size() > 0) layout.insert(PlacementId{0});
  return layout;
}

Result<FleetLayout> choose_layout(std::string_view text, LayoutGoal goal,
                                  const SchedulerSetup& setup) {
  const Fleet& fleet = setup.fleet;
  if (text == "best") {
    const auto work = expected_work(setup);
    if (!work) return std::unexpected(work.error());
    LayoutSearchOptions options;
    options.goal = goal;
    return search_layout(fleet, *work, options).by_gpu;
  }
  std::vector<std::optional<PlacementSet>> by_kind(fleet.graphs().size());
  if (text == "file") return for_every_gpu(fleet, by_kind);
  const std::vector<std::string> parts = layout_parts(text);
  if (text != "stacon")
    if (const auto checked = check_parts(fleet, parts); !checked)
      return std::unexpected(checked.error());
  for (std::size_t kind = 0; kind < by_kind.size(); ++kind) {
    const Geometry& geometry = fleet.graphs()[kind]->geometry();
    if (text == "stacon") {
      by_kind[kind] = stacon_layout(geometry);
      continue;
    }
    const auto own = layout_on(geometry, parts);
    if (!own) return std::unexpected(own.error());
    by_kind[kind] = *own;
  }
  return for_every_gpu(fleet, by_kind);
}

PlacementSet beside_others(const Geometry& geometry, const GpuState& gpu, PlacementSet wanted) {
  PlacementSet fitting;
  for (const PlacementId id : by_start(geometry, wanted))
    if (geometry.free(gpu.held | gpu.walls | fitting).contains(id)) fitting.insert(id);
  return fitting;
}

PlacementSet make_layout(Seats& seats, GpuId gpu, PlacementSet wanted,
                         std::vector<Command>& commands) {
  const Geometry& geometry = seats.fleet().geometry(seats.fleet()[gpu]);
  const PlacementSet fitting = beside_others(geometry, seats.fleet()[gpu], wanted);
  const PlacementSet idle = seats.fleet()[gpu].idle;
  for (const PlacementId id : idle - fitting) seats.destroy(gpu, id, commands);
  for (const PlacementId id : by_start(geometry, fitting - idle)) seats.create(gpu, id, commands);
  return fitting;
}

}  // namespace cleave
