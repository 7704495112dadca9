#include "simulate/advice/fixed_layouts.hpp"

#include <algorithm>
#include <map>

#include "base/format.hpp"
#include "base/text.hpp"
#include "engine/layout_search.hpp"

namespace cleave {

namespace {

/// "4g.20gb@0+3g.20gb@4"
std::string layout_words(const Geometry& geometry, PlacementSet layout) {
  std::vector<std::string> parts;
  for (const PlacementId id : by_start(geometry, layout))
    parts.push_back(fmt::format("{}@{}", geometry[id].profile->name, geometry[id].start));
  return fmt::format("{}", fmt::join(parts, "+"));
}

/// Instances without media or graphics of their own.
PlacementSet plain_placements(const Geometry& geometry) {
  PlacementSet plain;
  for (const PlacementId id : geometry.all())
    if (geometry[id].profile->attribute == Attribute::none) plain.insert(id);
  return plain;
}

FurnishedCandidate of_spec(const std::string& spec, std::string words) {
  return {{*parse_scheduler(spec), CandidateRole::fixed_layout, std::move(words)}};
}

/// Notes what a run makes at its very beginning.
class FirstLayout final : public RunObserver {
 public:
  explicit FirstLayout(std::size_t gpus) : by_gpu_(gpus) {}

  void on(const RunEvent& event) override {
    if (!begun_) {
      begun_ = true;
      begin_ = event.at;
    }
    // GPUs that are lost later get their layout again.
    if (event.kind == RunEvent::Kind::created && event.at == begin_)
      by_gpu_[index(*event.gpu)].insert(*event.placement);
  }

  [[nodiscard]] const std::vector<PlacementSet>& by_gpu() const { return by_gpu_; }

 private:
  std::vector<PlacementSet> by_gpu_;
  bool begun_ = false;
  Instant begin_{};
};

/// "3 x 3g.20gb@0+3g.20gb@4, 1 x 7g.40gb@0"
std::string layout_words(const FleetFile& fleet, const std::vector<PlacementSet>& by_gpu) {
  std::map<std::string, std::size_t> gpus;
  for (std::size_t i = 0; i < by_gpu.size(); ++i)
    ++gpus[layout_words(fleet.geometries[fleet.gpus[i].geometry], by_gpu[i])];
  std::vector<std::pair<std::string, std::size_t>> counted(gpus.begin(), gpus.end());
  std::ranges::stable_sort(counted, std::greater(), &std::pair<std::string, std::size_t>::second);
  if (counted.size() == 1) return counted.front().first;
  std::vector<std::string> words;
  for (const auto& [layout, count] : counted)
    words.push_back(fmt::format("{} x {}", count, layout));
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

std::vector<FurnishedCandidate> uniform_layouts(const FleetFile& fleet) {
  std::vector<FurnishedCandidate> layouts;
  const Geometry& geometry = fleet.geometries.front();
  if (fleet.geometries.size() > 1) {
    layouts.push_back(of_spec("static:layout=stacon", "stacon: a half and two quarters"));
    return layouts;
  }
  for (const PlacementSet layout : full_layouts(geometry, {}, plain_placements(geometry))) {
    const std::string words = layout_words(geometry, layout);
    layouts.push_back(of_spec(fmt::format("static:layout={}", words), words));
  }
  return layouts;
}

std::vector<FurnishedCandidate> parted_layouts(const PartedFleet& parts) {
  const auto shared = std::make_shared<const PartedFleet>(parts);
  std::vector<FurnishedCandidate> layouts = uniform_layouts(parts.mig);
  for (FurnishedCandidate& each : layouts) {
    each.parts = shared;
    each.candidate.layout =
        fmt::format("{} with MIG off, and {} with {}", counted(parts.whole.gpus.size(), "GPU"),
                    parts.mig.gpus.size(), each.candidate.layout);
  }
  return layouts;
}

FurnishedCandidate with_backfill(const FurnishedCandidate& layout) {
  FurnishedCandidate result = layout;
  result.candidate.spec =
      *parse_scheduler(fmt::format("{};backfill=easy", layout.candidate.spec.text));
  return result;
}

std::optional<FurnishedCandidate> layout_for(const FleetFile& fleet, const Workload& workload,
                                             const SimulationOptions& options) {
  if (std::ranges::any_of(fleet.gpus, [](const GpuEntry& gpu) { return !gpu.instances.empty(); }))
    return std::nullopt;
  FirstLayout first(fleet.gpus.size());
  SimulationOptions told = options;
  told.know.times = KnownTimes::truth;
  told.know.speeds = KnownSpeeds::truth;
  told.applications = nullptr;
  told.observer = &first;
  if (!simulate(fleet, workload, *parse_scheduler("static:layout=best"), told)) return std::nullopt;
  auto furnished = std::make_shared<FleetFile>(fleet);
  for (std::size_t i = 0; i < fleet.gpus.size(); ++i)
    for (const PlacementId id : first.by_gpu()[i])
      furnished->gpus[i].instances.emplace_back().placement = id;
  FurnishedCandidate layout = of_spec("static:layout=file", layout_words(fleet, first.by_gpu()));
  layout.fleet = std::move(furnished);
  return layout;
}

}  // namespace cleave
