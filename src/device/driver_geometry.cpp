#include "device/driver_geometry.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

struct AttributeRow {
  Attribute attribute;
  std::string_view suffix;     // of the profile's name
  int rank;                    // among profiles of one size, as in the tables
  std::array<int, 4> numbers;  // of NVML's header, -1: none
};
constexpr auto attributes = std::to_array<AttributeRow>({
    {Attribute::all_media, "+me.all", 3, {15, 16, -1, -1}},
    {Attribute::media, "+me", 1, {7, 8, -1, -1}},
    {Attribute::graphics, "+gfx", 2, {10, 11, 12, 17}},
    {Attribute::no_media, "-me", 4, {13, 14, -1, -1}},
    {Attribute::none, "", 0, {-1, -1, -1, -1}},
});
constexpr int double_memory_number = 9;

/// The attribute, by the driver's name of the profile if it has one, else by its number.
const AttributeRow& attribute_of(const DriverProfile& profile) {
  const std::string_view name = profile.name ? std::string_view(*profile.name) : std::string_view();
  const auto number = static_cast<int>(profile.number);
  const auto says = [&](const AttributeRow& row) {
    const bool by_number =
        number >= 0 && std::ranges::find(row.numbers, number) != row.numbers.end();
    return by_number || (!row.suffix.empty() && name.ends_with(row.suffix));
  };
  const auto* row = std::ranges::find_if(attributes, says);
  return row == attributes.end() ? attributes.back() : *row;
}

const GpuModel* table_of(const GpuFacts& gpu) {
  const auto found = find_gpu_model(gpu.name);
  return found ? *found : nullptr;
}

std::unexpected<Error> too_large(const DriverReading& reading, std::string what) {
  return fail(ErrorKind::infeasible, place_of(reading.gpu.index), std::move(what),
              "this version of Cleave cannot plan for such a GPU");
}

/// Whether Geometry can hold it, and what its arithmetic requires.
Result<void> fits(const DriverReading& reading) {
  std::size_t placements = 0;
  for (const auto& [profile, spans] : reading.rows) {
    for (const Span& span : spans) {
      if (span.size == 0 || span.size > Starts::most || span.start > Starts::most - span.size)
        return too_large(
            reading,
            fmt::format("the driver places profile {} at memory slices {} to {}, beyond {}",
                        static_cast<std::uint32_t>(profile.id), span.start,
                        std::uint64_t{span.start} + span.size, Starts::most));
      if (span.size != spans.front().size)
        return too_large(reading, fmt::format("profile {} has placements of different sizes",
                                              static_cast<std::uint32_t>(profile.id)));
    }
    if (profile.slices > Starts::most || profile.most == 0 || profile.most > PlacementSet::most)
      return too_large(
          reading,
          fmt::format("profile {} has {} compute slices and there may be {} of it",
                      static_cast<std::uint32_t>(profile.id), profile.slices, profile.most));
    placements += spans.size();
  }
  if (placements > static_cast<std::size_t>(PlacementSet::most))
    return too_large(reading, fmt::format("the driver lists {} placements, more than {}",
                                          placements, PlacementSet::most));
  if (reading.rows.size() > 8 * sizeof(ProfileMask))
    return too_large(reading, fmt::format("the driver lists {} profiles", reading.rows.size()));
  return {};
}

/// From large to small, as in the tables.
std::vector<DriverReading::Row> in_order(std::vector<DriverReading::Row> rows) {
  std::ranges::sort(rows, {}, [](const DriverReading::Row& row) {
    return std::tuple(-static_cast<int>(row.placements.front().size),
                      -static_cast<int>(row.profile.slices), attribute_of(row.profile).rank,
                      row.profile.number);
  });
  return rows;
}

std::vector<int> starts_of(const std::vector<Span>& spans) {
  std::set<int> starts;
  for (const Span& span : spans) starts.insert(static_cast<int>(span.start));
  return {starts.begin(), starts.end()};
}

/// The same profile in the tables; its order of starts is used if the starts are the same.
const Profile* in_table(const GpuModel* table, const DriverProfile& profile) {
  if (table == nullptr) return nullptr;
  const auto found =
      std::ranges::find(table->profiles, static_cast<int>(profile.number), &Profile::nvml_profile);
  return found == table->profiles.end() ? nullptr : &*found;
}

/// The profile without its name, which the owner of the names sets.
Profile profile_from(const DriverReading::Row& row, const GpuModel* table) {
  const auto& [driver, spans] = row;
  const std::vector<int> starts = starts_of(spans);
  const Profile* known = in_table(table, driver);
  const bool same_starts = known != nullptr && known->starts.ascending() == starts;
  const Engines& engines = driver.engines;
  const bool any_engine =
      engines.copy + engines.decode + engines.encode + engines.jpeg + engines.flow > 0;
  Profile profile{};
  profile.nvml_profile = static_cast<int>(driver.number);
  profile.id = static_cast<int>(driver.id);
  profile.compute = {static_cast<int>(driver.slices)};
  profile.memory = {static_cast<int>(spans.front().size)};
  // Drivers give zero for what they do not know.
  if (driver.memory.value > 0) profile.usable = driver.memory;
  if (driver.sms.value > 0) profile.sms = driver.sms;
  if (any_engine) profile.engines = engines;
  profile.max_instances = static_cast<int>(driver.most);
  profile.starts = same_starts ? known->starts : Starts(starts);
  profile.starts_inferred = false;
  profile.preference_inferred = !same_starts || known->preference_inferred;
  profile.attribute = attribute_of(driver).attribute;
  profile.double_memory = profile.nvml_profile == double_memory_number;
  return profile;
}

/// Names by the driver or by the rule; a second profile of the same name gets its id added.
std::vector<std::string> names_of(const std::vector<DriverReading::Row>& rows,
                                  std::optional<std::uint64_t> gpu_memory_bytes) {
  std::vector<std::string> names;
  for (const auto& [profile, spans] : rows) {
    std::string name = profile.name ? *profile.name : profile_name(profile, gpu_memory_bytes);
    if (std::ranges::find(names, name) != names.end())
      name += fmt::format("#{}", static_cast<std::uint32_t>(profile.id));
    names.push_back(std::move(name));
  }
  return names;
}

/// Computes the sizes of the GPU from its profiles.
void measure(GpuModel& model) {
  for (const Profile& profile : model.profiles) {
    // There may be no profile for the whole GPU; the most instances of one profile are within it.
    const int together = std::min(profile.compute.value * profile.max_instances, Starts::most);
    model.compute =
        std::max(model.compute, ComputeSlices{std::max(together, profile.compute.value)});
    const int end = profile.starts.ascending().back() + profile.memory.value;
    model.memory_slices = std::max(model.memory_slices, MemorySlices{end});
  }
  if (model.largest().compute == model.compute) model.sms_in_mig = model.largest().sms;
}

}  // namespace

std::string place_of(GpuIndex gpu) {
  return fmt::format("GPU {}", static_cast<std::uint32_t>(gpu));
}

std::string profile_name(const DriverProfile& profile,
                         std::optional<std::uint64_t> gpu_memory_bytes) {
  constexpr std::uint64_t gibibyte = 1ULL << 30;
  const std::uint64_t bytes = in_bytes(std::max(profile.memory, MiB{}));
  const std::uint64_t total = gpu_memory_bytes.value_or(0);
  // gb = round(ceil(8 * memory / total) / 8 * ceil(total in GiB)); no GPU has more than
  // 2^60 bytes.
  std::uint64_t gb = (bytes + gibibyte / 2) / gibibyte;
  if (total > 0 && bytes < 1ULL << 60) {
    const std::uint64_t eighths = (8 * bytes + total - 1) / total;
    const std::uint64_t whole = (total - 1) / gibibyte + 1;
    gb = (eighths * whole + 4) / 8;
  }
  return fmt::format("{}g.{}gb{}", profile.slices, gb, attribute_of(profile).suffix);
}

namespace {

/// Whether the driver does not support it, for this profile or at all.
bool does_not_know(const Refusal& refusal) {
  using enum nvml::Return;
  constexpr auto codes =
      std::to_array({not_supported, not_found, invalid_argument, function_not_found});
  return std::ranges::find(codes, refusal.code) != codes.end();
}

}  // namespace

DriverAnswer<DriverReading> read_profiles(Door& door, GpuIndex gpu) {
  auto facts = door.gpu(gpu);
  if (!facts) return std::unexpected(facts.error());
  auto profiles = door.profiles(gpu);
  if (!profiles && !does_not_know(profiles.error())) return std::unexpected(profiles.error());
  DriverReading reading{std::move(*facts), {}, {}};
  if (const auto memory = door.memory(gpu); memory && memory->total_bytes > 0)
    reading.memory_bytes = memory->total_bytes;
  if (!profiles) return reading;
  for (DriverProfile& profile : *profiles) {
    auto placements = door.placements(gpu, profile.id);
    if (!placements && !does_not_know(placements.error()))
      return std::unexpected(placements.error());
    if (placements && !placements->empty())
      reading.rows.push_back({std::move(profile), std::move(*placements)});
  }
  return reading;
}

Result<DriverGeometry> DriverGeometry::build(const DriverReading& reading) {
  if (const auto held = fits(reading); !held) return std::unexpected(held.error());
  auto inside = std::make_unique<Inside>();
  inside->table = table_of(reading.gpu);
  inside->from_table = reading.rows.empty();
  if (inside->from_table && inside->table == nullptr)
    return fail(ErrorKind::infeasible, place_of(reading.gpu.index),
                fmt::format("the driver reports no profiles for the {}", shown(reading.gpu.name)),
                "if the GPU can be partitioned, switch MIG on with `cleave mig enable`");
  if (inside->from_table) {
    inside->model = *inside->table;
    inside->geometry.emplace(inside->model, ProfileChoice().on(inside->model));
    return DriverGeometry(std::move(inside));
  }
  const auto rows = in_order(reading.rows);
  inside->name = reading.gpu.name;
  inside->driver_name = inside->name;
  inside->profile_names = names_of(rows, reading.memory_bytes);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    inside->profiles.push_back(profile_from(rows[i], inside->table));
    inside->profiles.back().name = inside->profile_names[i];
  }
  GpuModel& model = inside->model;
  const GpuModel* table = inside->table;
  model.id = table != nullptr ? table->id : GpuModelId::other;
  model.key = table != nullptr ? table->key : std::string_view(inside->name);
  model.title = table != nullptr ? table->title : std::string_view(inside->name);
  model.driver_names = {&inside->driver_name, 1};
  model.architecture = architecture_of(reading.gpu.architecture.value_or(0));
  if (table != nullptr) {
    if (!reading.gpu.architecture) model.architecture = table->architecture;
    model.capability = table->capability;
    model.memory = table->memory;
    model.sms = table->sms;
  }
  if (reading.memory_bytes) model.memory = whole_mib(*reading.memory_bytes);
  model.profiles = inside->profiles;
  measure(model);
  inside->geometry.emplace(model, ProfileChoice().on(model));
  return DriverGeometry(std::move(inside));
}

const Profile* DriverGeometry::find(ProfileId id) const {
  const auto same = [&](const Profile& profile) { return profile.id == static_cast<int>(id); };
  const auto found = std::ranges::find_if(model().profiles, same);
  return found == model().profiles.end() ? nullptr : &*found;
}

Result<DriverGeometry> driver_geometry(Door& door, GpuIndex gpu) {
  const auto reading = read_profiles(door, gpu);
  if (!reading) return std::unexpected(error_of(reading.error(), place_of(gpu)));
  return DriverGeometry::build(*reading);
}

}  // namespace cleave
