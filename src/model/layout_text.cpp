#include "model/layout_text.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

struct Lettered {
  PlacementId id;
  char letter;
  Standing standing;
};

std::vector<Lettered> lettered(const Geometry& geometry, PlacementSet held, PlacementSet idle,
                               PlacementSet foreign) {
  std::vector<Lettered> all;
  int next = 0;
  for (const PlacementId id : by_start(geometry, held | idle | foreign)) {
    if (foreign.contains(id)) {
      all.push_back({id, '#', Standing::foreign});
    } else {
      const bool is_idle = idle.contains(id);
      all.push_back({id, static_cast<char>((is_idle ? 'a' : 'A') + next++),
                     is_idle ? Standing::idle : Standing::held});
    }
  }
  return all;
}

}  // namespace

Result<std::vector<Geometry::Written>> parse_layout(std::string_view text,
                                                    const Geometry& geometry) {
  std::vector<Geometry::Written> list;
  if (trimmed(text).empty()) return list;
  for (const std::string_view part : split(text, ',')) {
    const std::string_view instance = trimmed(part);
    const std::size_t at = instance.rfind('@');
    const auto start =
        at == std::string_view::npos ? std::nullopt : parse_integer(instance.substr(at + 1));
    if (!start || *start < 0 || *start > 99)
      return fail(ErrorKind::bad_input, "layout",
                  fmt::format("'{}' is not an instance", shown(instance)),
                  "write profile@start, joined by commas, like 4g.20gb@0,2g.10gb@4");
    const std::string_view name = instance.substr(0, at);
    const Profile* profile = geometry.model().find(name);
    const auto known = geometry.profile_names();
    if (profile == nullptr)
      return fail(ErrorKind::bad_input, "layout",
                  fmt::format("the {} has no profile '{}'", geometry.model().key, shown(name)),
                  suggestion(name, known));
    if (std::ranges::find(known, name) == known.end())
      return fail(ErrorKind::bad_input, "layout",
                  fmt::format("{} is not among the chosen profiles", name), "widen --profiles");
    list.push_back({profile, static_cast<int>(*start)});
  }
  return list;
}

std::string draw(const Geometry& geometry, PlacementSet held, PlacementSet idle,
                 PlacementSet foreign) {
  std::string picture(static_cast<std::size_t>(geometry.model().memory_slices.value), '.');
  for (const Lettered& instance : lettered(geometry, held, idle, foreign)) {
    const Placement& placement = geometry[instance.id];
    picture.replace(static_cast<std::size_t>(placement.start),
                    static_cast<std::size_t>(placement.profile->memory.value),
                    static_cast<std::size_t>(placement.profile->memory.value), instance.letter);
  }
  return picture;
}

std::string legend(const Geometry& geometry, PlacementSet held, PlacementSet idle,
                   PlacementSet foreign) {
  std::vector<std::string> parts;
  for (const Lettered& instance : lettered(geometry, held, idle, foreign)) {
    const std::string_view remark = instance.standing == Standing::idle      ? " (idle)"
                                    : instance.standing == Standing::foreign ? " (not ours)"
                                                                             : "";
    parts.push_back(
        fmt::format("{} {}{}", instance.letter, geometry[instance.id].profile->name, remark));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace cleave
