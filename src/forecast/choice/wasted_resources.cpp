#include "forecast/choice/wasted_resources.hpp"

#include <algorithm>
#include <array>

namespace cleave {

namespace {

// *Taming GPU Underutilization*, Table II. Max. Inst., SMs, memory and the wasted figures are the
// paper's; the memory slices are its column "%GPU".
constexpr std::array<PublishedWaste, 6> table_two = {{
    {"1g.12gb", 16, 11.0, 1, 7, "15%", 17.5},
    {"1g.24gb", 26, 23.0, 2, 4, "21%", 2.5},
    {"2g.24gb", 32, 23.0, 2, 3, "3%", 2.5},
    {"3g.48gb", 60, 46.5, 4, 2, "6/9%", 1.5},
    {"4g.48gb", 64, 46.5, 4, 1, "3%", 1.5},
    {"7g.96gb", 132, 94.5, 8, 1, "0%", 0.0},
}};
constexpr int published_compute_slices = 7, published_memory_slices = 8;

template <class Kind, class Number>
std::optional<double> number(const std::optional<Count<Kind, Number>>& count) {
  if (!count) return std::nullopt;
  return static_cast<double>(count->value);
}

WastedResources waste_of(const GpuTotals& gpu, std::optional<double> sms,
                         std::optional<double> memory, int count) {
  const InstanceCount instances{sms, memory, static_cast<double>(count)};
  return wasted_resources(gpu, std::span(&instances, 1));
}

/// The most placements of `left` that fit beside `state`.
int most_beside(const Geometry& geometry, PlacementSet state, PlacementSet left) {
  int most = 0;
  for (const PlacementId id : geometry.free(state) & left) {
    PlacementSet larger = state;
    larger.insert(id);
    left.erase(id);  // sets that contain it are examined here and nowhere else
    most = std::max(most, 1 + most_beside(geometry, larger, left));
  }
  return most;
}

}  // namespace

WastedResources wasted_resources(const GpuTotals& gpu, std::span<const InstanceCount> instances) {
  std::optional<double> sms = gpu.sms, memory = gpu.memory;
  for (const InstanceCount& each : instances) {
    sms = sms && each.sms ? std::optional(*sms - each.count * *each.sms) : std::nullopt;
    memory =
        memory && each.memory ? std::optional(*memory - each.count * *each.memory) : std::nullopt;
  }
  WastedResources result{sms, std::nullopt, memory};
  if (sms && *gpu.sms > 0) result.sms_percent = 100 * *sms / *gpu.sms;
  return result;
}

GpuTotals totals_of(const GpuModel& model) {
  const Profile& largest = model.largest();
  // If the largest known profile is not the whole GPU, the resources of the whole are unknown.
  const bool whole = largest.memory == model.memory_slices;
  return {number(model.sms), whole ? number(largest.usable) : std::nullopt};
}

int most_instances(const Geometry& geometry, const Profile& profile) {
  const auto index = static_cast<int>(&profile - geometry.model().profiles.data());
  return most_beside(geometry, {}, geometry.of_profile(index));
}

std::vector<WasteRow> waste_table(const Geometry& geometry) {
  const GpuModel& model = geometry.model();
  const GpuTotals gpu = totals_of(model);
  std::vector<WasteRow> rows;
  for (const Profile* profile : geometry.profile_list()) {
    WasteRow row{
        std::string(profile->name), number(profile->sms), number(profile->usable), 0, 0, {}, {}};
    row.achievable_instances = most_instances(geometry, *profile);
    // The paper has no profiles with attributes, which slices alone do not describe.
    row.printed_instances =
        profile->attribute == Attribute::none
            ? std::min(model.compute.value, model.memory_slices.value / profile->memory.value)
            : row.achievable_instances;
    row.as_printed = waste_of(gpu, row.sms, row.memory, row.printed_instances);
    row.achievable = waste_of(gpu, row.sms, row.memory, row.achievable_instances);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<InstanceCount> counts_of(std::span<const Geometry::Written> layout) {
  std::vector<InstanceCount> counts;
  for (const auto& [profile, start] : layout)
    counts.push_back({number(profile->sms), number(profile->usable), 1});
  return counts;
}

std::span<const PublishedWaste> published_waste() {
  return table_two;
}

GpuTotals published_totals() {
  return {132, 94.5};
}

std::vector<WasteRow> published_waste_table() {
  const GpuTotals gpu = published_totals();
  std::vector<WasteRow> rows;
  for (const PublishedWaste& line : table_two) {
    WasteRow row{std::string(line.profile), line.sms, line.memory, 0, line.max_instances, {}, {}};
    row.printed_instances =
        std::min(published_compute_slices, published_memory_slices / line.memory_slices);
    row.as_printed = waste_of(gpu, row.sms, row.memory, row.printed_instances);
    row.achievable = waste_of(gpu, row.sms, row.memory, row.achievable_instances);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace cleave
