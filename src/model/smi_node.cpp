#include "model/smi_node.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

constexpr std::string_view list_again = "list the node again, `-lgi` and `-lci` at the same moment";

std::string what(const SmiInstance& row) {
  return fmt::format("{} at {}", row.profile, row.placement.start);
}

/// The remedy for a profile that the model lacks: a model that has it, or another spelling.
std::string other_model_or_name(const std::string& profile, const Geometry& geometry) {
  std::vector<std::string> keys;
  for (const GpuModel& model : gpu_models())
    if (model.find(profile) != nullptr) keys.emplace_back(model.key);
  if (keys.empty()) return suggestion(profile, geometry.profile_names());
  return fmt::format("is the model right? {} {} it", any_of(keys),
                     keys.size() == 1 ? "has" : "have");
}

/// Checks one row: profile, size and start.
Result<PlacementId> placement_of(const SmiInstance& row, const Geometry& geometry) {
  const GpuModel& model = geometry.model();
  const Profile* profile = model.find(row.profile);
  if (profile == nullptr)
    return fail(
        ErrorKind::bad_input, row.place,
        fmt::format("expected a profile of the {}, found '{}'", model.key, shown(row.profile)),
        other_model_or_name(row.profile, geometry));
  if (row.placement.size != profile->memory.value)
    return fail(
        ErrorKind::bad_input, row.place,
        fmt::format("expected size {} for {} of the {}, found '{}:{}'", profile->memory.value,
                    profile->name, model.key, row.placement.start, row.placement.size),
        "is the model right?");
  const auto placement = geometry.find(row.profile, row.placement.start);
  if (placement) return *placement;
  Error error = placement.error();
  if (error.remedy.empty() && profile->starts_inferred)
    error.remedy = fmt::format(
        "these starts of the {} are inferred: if the driver does print this, please report it",
        model.key);
  return fail_at(row.place, error);
}

/// Checks for rows of one GPU that contradict each other: the same ID, or one GPU in two listings.
Result<void> check_listed_once(const std::vector<const SmiInstance*>& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t k = 0; k < i; ++k) {
      const SmiInstance &row = *rows[i], &before = *rows[k];
      if (row.table != before.table)
        return fail(ErrorKind::bad_input, row.place,
                    fmt::format("GPU {} is listed a second time, before in the table of {}",
                                row.gpu, before.table),
                    "keep one listing of each GPU, the newest");
      if (row.id == before.id)
        return fail(ErrorKind::bad_input, row.place,
                    fmt::format("GPU {} has a second instance with ID {}, before in {}", row.gpu,
                                row.id, before.place),
                    std::string(list_again));
    }
  return {};
}

std::unexpected<Error> illegal(const std::vector<const SmiInstance*>& rows, const Verdict& verdict,
                               const Geometry& geometry) {
  const SmiInstance& row = *rows[verdict.culprit];
  if (*verdict.illegal == Illegality::overlap) {
    const auto overlaps = [&](const SmiInstance* other) {
      return other->placement.start < row.placement.start + row.placement.size &&
             row.placement.start < other->placement.start + other->placement.size;
    };
    const SmiInstance& other = **std::ranges::find_if(rows, overlaps);
    return fail(ErrorKind::bad_input, row.place,
                fmt::format("{} overlaps {} of {}", what(row), what(other), other.place),
                "two instances never share a memory slice: list the node again");
  }
  return fail(ErrorKind::bad_input, row.place,
              fmt::format("{} cannot exist beside the instances before it on GPU {}, {}: {}",
                          what(row), row.gpu, geometry.model().key, name(*verdict.illegal)),
              "is the model right?");
}

Result<SmiGpu> gpu_of(int index, const std::vector<const SmiInstance*>& rows,
                      const Geometry& geometry) {
  SmiGpu gpu{index, {}};
  std::vector<Geometry::Written> written;
  if (const auto once = check_listed_once(rows); !once) return std::unexpected(once.error());
  for (const SmiInstance* row : rows) {
    const auto placement = placement_of(*row, geometry);
    if (!placement) return std::unexpected(placement.error());
    gpu.instances.push_back({*placement, row->id, {}});
    written.push_back({geometry[*placement].profile, row->placement.start});
  }
  const Verdict verdict = geometry.judge(written);
  if (verdict.illegal) return illegal(rows, verdict, geometry);
  std::ranges::sort(gpu.instances, {}, [&](const SmiGpuInstance& instance) {
    return geometry[instance.placement].start;
  });
  return gpu;
}

/// The name without share and attribute: "1c.3g.20gb+me" is a part of "3g.20gb+me".
std::string_view size_name(std::string_view name) {
  const std::size_t share = name.find("c.");
  if (share != std::string_view::npos) name.remove_prefix(share + 2);
  return name.substr(0, name.find_first_of("+-"));
}

Result<void> add_compute(std::vector<SmiGpu>& gpus, const SmiCompute& row,
                         const Geometry& geometry) {
  const auto gpu = std::ranges::find(gpus, row.gpu, &SmiGpu::index);
  SmiGpuInstance* instance = nullptr;
  if (gpu != gpus.end())
    for (SmiGpuInstance& one : gpu->instances)
      if (one.id == row.gpu_instance) instance = &one;
  if (instance == nullptr)
    return fail(
        ErrorKind::bad_input, row.place,
        fmt::format(
            "no `-lgi` lists the GPU instance {} of GPU {} that this compute instance is in",
            row.gpu_instance, row.gpu),
        "import what `nvidia-smi mig -lgi` prints together with it, of the same moment");
  const std::string_view profile = geometry[instance->placement].profile->name;
  if (size_name(row.name) != size_name(profile))
    return fail(
        ErrorKind::bad_input, row.place,
        fmt::format("expected a compute instance of {}, found '{}': GPU instance {} of GPU {}",
                    profile, shown(row.name), row.gpu_instance, row.gpu),
        std::string(list_again));
  instance->computes.emplace(row.id, row.name);
  return {};
}

Result<void> add_computes(std::vector<SmiGpu>& gpus, const SmiListing& listing,
                          const Geometry& geometry) {
  std::map<std::tuple<int, int, int>, const SmiCompute*> seen;
  for (const SmiCompute& row : listing.computes) {
    const auto [before, first] = seen.try_emplace({row.gpu, row.gpu_instance, row.id}, &row);
    if (!first)
      return fail(
          ErrorKind::bad_input, row.place,
          fmt::format(
              "the compute instance {} of GPU instance {} of GPU {} is listed twice, before in {}",
              row.id, row.gpu_instance, row.gpu, before->second->place),
          "keep one listing of each GPU, the newest");
    if (const auto added = add_compute(gpus, row, geometry); !added) return added;
  }
  return {};
}

}  // namespace

Result<std::vector<SmiGpu>> smi_gpus(const SmiListing& listing, const Geometry& geometry,
                                     std::optional<int> gpu_count) {
  std::map<int, std::vector<const SmiInstance*>> by_gpu;
  for (int index = 0; index < gpu_count.value_or(0); ++index) by_gpu[index];
  for (const SmiInstance& row : listing.instances) {
    if (gpu_count && row.gpu >= *gpu_count)
      return fail(ErrorKind::bad_input, row.place,
                  fmt::format("expected a GPU below {}, found {}", *gpu_count, row.gpu),
                  fmt::format("numbers begin at 0: the node has at least {}",
                              counted(static_cast<std::size_t>(row.gpu) + 1, "GPU")));
    by_gpu[row.gpu].push_back(&row);
  }
  std::vector<SmiGpu> gpus;
  for (const auto& [index, rows] : by_gpu) {
    auto gpu = gpu_of(index, rows, geometry);
    if (!gpu) return std::unexpected(gpu.error());
    gpus.push_back(std::move(*gpu));
  }
  if (const auto added = add_computes(gpus, listing, geometry); !added)
    return std::unexpected(added.error());
  return gpus;
}

}  // namespace cleave
