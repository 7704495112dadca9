#include "nvmlsim/board.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <memory>
#include <mutex>

#include "base/format.hpp"
#include "model/model_table.hpp"
#include "nvmlsim/forks.hpp"

namespace cleave::sim {

namespace {

constexpr bool upper_half_first = true, lower_half_first = false;
constexpr std::uint32_t nvidia = brand_nvidia, rtx = brand_rtx;

// PCI ids of the first of a model's boards: public listings of lspci. Clocks: the highest that
// nvidia-smi lists, or the family's. Bits: those that the published bandwidth needs at that clock;
// of the H100 SXM5 and the H200 measured. Which half of a GPU is numbered first: captures of an
// A100 and an H100, assumed for the others of the two architectures and for Blackwell.
// clang-format off
constexpr BoardRow rows[] = {
    // model, PCI device, PCIe, SM MHz, memory MHz, its bits, assumed SMs, brand, numbering
    {GpuModelId::a30_24gb, 0x20b710de, 4, 1440, 1215, 3072, 0, nvidia, upper_half_first},
    {GpuModelId::a100_40gb, 0x20b010de, 4, 1410, 1215, 5120, 0, nvidia, upper_half_first},
    {GpuModelId::a100_80gb, 0x20b210de, 4, 1410, 1593, 5120, 0, nvidia, upper_half_first},
    {GpuModelId::h100_80gb_sxm5, 0x233010de, 5, 1980, 2619, 5120, 0, nvidia, lower_half_first},
    {GpuModelId::h100_80gb_pcie, 0x233110de, 5, 1755, 1593, 5120, 0, nvidia, lower_half_first},
    {GpuModelId::h100_94gb_nvl, 0x232110de, 5, 1980, 2619, 6016, 0, nvidia, lower_half_first},
    {GpuModelId::h100_96gb_gh200, 0x234210de, 5, 1980, 2619, 6144, 0, nvidia, lower_half_first},
    {GpuModelId::h20_96gb, 0x232910de, 5, 1980, 2619, 6144, 132, nvidia, lower_half_first},
    {GpuModelId::h200_141gb, 0x233510de, 5, 1980, 3201, 6016, 0, nvidia, lower_half_first},
    {GpuModelId::gh200_144gb, 0x234810de, 5, 1980, 3201, 6144, 132, nvidia, lower_half_first},
    {GpuModelId::b200_180gb, 0x290110de, 5, 1965, 3996, 8192, 0, nvidia, lower_half_first},
    {GpuModelId::gb200_186gb, 0x294110de, 5, 1965, 3996, 8192, 148, nvidia, lower_half_first},
    {GpuModelId::b300_269gb, 0x318210de, 6, 1965, 3996, 8192, 0, nvidia, lower_half_first},
    {GpuModelId::gb300_278gb, 0x31c210de, 6, 1965, 3996, 8192, 148, nvidia, lower_half_first},
    {GpuModelId::rtx_pro_6000_bw_96gb, 0x2bb510de, 5, 2430, 12481, 512, 0, rtx, lower_half_first},
};
static_assert(has_every_model(rows));

/// Profile ids of all GPUs with eight memory slices that were captured, by NVML's profile number.
struct IdRow { int number; std::uint32_t id; };
constexpr IdRow eight_slice_ids[] = {{4, 0}, {3, 5}, {2, 9}, {1, 14}, {9, 15}, {0, 19}, {7, 20}};
// clang-format on

/// A profile of compute instances in addition to the regular sizes.
struct ExtraProfile {
  Architecture architecture;
  std::uint32_t of;  // compute slices of the GPU instance
  std::uint32_t number, slices;
  std::uint32_t most_sms;
};
constexpr ExtraProfile extra_profiles[] = {
    // NVIDIA/go-nvml issue 146: one slice with 26 of the 32 SMs of an H100's 2g.
    {Architecture::hopper, 2, 7, 1, 26},
};

/// If the table has none, assumed: the id of the profile on all other GPUs with eight slices.
std::uint32_t id_of(const Profile& profile) {
  if (profile.id) return static_cast<std::uint32_t>(*profile.id);
  const auto* found = std::ranges::find(eight_slice_ids, profile.nvml_profile, &IdRow::number);
  return found == std::end(eight_slice_ids) ? 900 + static_cast<std::uint32_t>(profile.nvml_profile)
                                            : found->id;
}

/// If the table has none, assumed: the GB in the name of the largest profile, scaled to the GPU.
std::uint64_t memory_of(const GpuModel& model) {
  if (model.memory) return static_cast<std::uint64_t>(model.memory->value);
  const Profile& largest = model.largest();
  return static_cast<std::uint64_t>(largest.name_gb() * model.memory_slices.value /
                                    largest.memory.value) *
         1024;
}

/// If the table has none, assumed: that of another profile with as many memory slices, else the
/// slices' share of the GPU, rounded down to 64 MiB.
std::uint64_t memory_of(const GpuModel& model, const Profile& profile) {
  if (profile.usable) return static_cast<std::uint64_t>(profile.usable->value);
  for (const Profile& other : model.profiles)
    if (other.memory == profile.memory && other.usable)
      return static_cast<std::uint64_t>(other.usable->value);
  const auto share = memory_of(model) * static_cast<std::uint64_t>(profile.memory.value) /
                     static_cast<std::uint64_t>(model.memory_slices.value);
  return share / 64 * 64;
}

std::uint32_t sms_of(const GpuModel& model) {
  if (model.sms) return static_cast<std::uint32_t>(model.sms->value);
  const BoardRow* row = row_of(rows, model.id);
  assert(row != nullptr && row->assumed_sms > 0);
  return row->assumed_sms;
}

/// If the table has none, assumed: the slices' share of eight, rounded down to an even number; all
/// for the whole GPU.
std::uint32_t sms_of(const GpuModel& model, const Profile& profile) {
  if (profile.sms) return static_cast<std::uint32_t>(profile.sms->value);
  if (profile.compute == model.compute) return sms_of(model);
  const auto share = sms_of(model) * static_cast<std::uint32_t>(profile.compute.value) /
                     (model.memory_slices.value == 8 ? 8 : 4);
  return std::max(2U, share / 2 * 2);
}

/// If the table has none, assumed: one of each per compute slice, as on the H100.
Engines engines_of(const GpuModel& model, const Profile& profile) {
  if (profile.engines) return *profile.engines;
  const int slices = profile.compute.value;
  const bool flow = profile.compute == model.compute || profile.attribute == Attribute::media;
  return {slices, slices, 0, slices, flow ? 1 : 0};
}

/// Where compute instances of `slices` may start among `of`: at multiples of the next power of two,
/// as `nvidia-smi mig -lcipp` shows it. There are no 3 slices of 4.
std::vector<std::uint32_t> compute_starts(std::uint32_t slices, std::uint32_t of) {
  if (slices == 3 && of == 4) return {};
  const std::uint32_t step = slices == 3 ? 4 : slices;
  std::vector<std::uint32_t> starts;
  for (std::uint32_t start = 0; start + slices <= of; start += step) starts.push_back(start);
  return starts;
}

/// SMs of a part of an instance: those of the model's 1g for each slice.
std::uint32_t compute_sms(const GpuModel& model, std::uint32_t slices, const ProfileFacts& whole) {
  if (slices == static_cast<std::uint32_t>(whole.profile->compute.value)) return whole.sms;
  for (const Profile& profile : model.profiles)
    if (profile.nvml_profile == 0) return std::min(whole.sms, slices * sms_of(model, profile));
  return whole.sms;
}

std::vector<ComputeProfile> compute_profiles_of(const GpuModel& model, const ProfileFacts& facts) {
  struct Size {
    std::uint32_t number, slices;
  };
  constexpr Size sizes[] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 7}};
  const auto of = static_cast<std::uint32_t>(facts.profile->compute.value);
  std::vector<ComputeProfile> list;
  for (const auto& [number, slices] : sizes) {
    const std::vector<std::uint32_t> starts =
        slices > of ? std::vector<std::uint32_t>{} : compute_starts(slices, of);
    if (starts.empty()) continue;
    list.push_back({number, slices, static_cast<std::uint32_t>(starts.size()),
                    compute_sms(model, slices, facts), starts});
  }
  for (const ExtraProfile& extra : extra_profiles)
    if (extra.architecture == model.architecture && extra.of == of)
      list.push_back({extra.number, extra.slices, 1, std::min(facts.sms, extra.most_sms), {0}});
  return list;
}

std::unique_ptr<Board> make_board(const GpuModel& model) {
  const BoardRow* row = row_of(rows, model.id);
  assert(row != nullptr);  // nodes are made of models that the tables describe
  const auto all = static_cast<ProfileMask>((1U << model.profiles.size()) - 1U);
  auto board =
      std::unique_ptr<Board>(new Board{*row, &model, Geometry(model, all), {}, {}, {}, 0, 0, 0});
  board->memory_mib = memory_of(model);
  board->usable_mib = model.largest().compute == model.compute ? memory_of(model, model.largest())
                                                               : board->memory_mib;
  board->sms = sms_of(model);
  for (const Profile& profile : model.profiles) {
    const ProfileFacts facts{&profile, id_of(profile), memory_of(model, profile),
                             sms_of(model, profile), engines_of(model, profile)};
    board->profiles.push_back(facts);
    board->compute_profiles.push_back(compute_profiles_of(model, facts));
    std::vector<PlacementId> order;
    for (const int start : profile.starts.preferred())
      if (const auto id = board->geometry.find(profile, start)) order.push_back(*id);
    board->preferred.push_back(order);
  }
  return board;
}

}  // namespace

const Board& board_of(const GpuModel& model) {
  using Boards = std::map<const GpuModel*, std::unique_ptr<Board>>;
  const std::lock_guard guard(boards_mutex);
  static auto* const boards = new Boards;  // never destroyed: programs call until they end
  std::unique_ptr<Board>& board = (*boards)[&model];
  if (!board) board = make_board(model);
  return *board;
}

// The GPU is a tree: the whole is 0, its halves 1 and 2, quarters 3 to 6, eighths 7 to 14.
// Captures: on an A100 the upper half comes first at each level (1g at 4, 5, 6 are 7, 8, 9, and
// those at 0 to 3 are 11 to 14), on an H100 the lower half.
std::uint32_t gpu_instance_id(const Board& board, PlacementId placement,
                              InstanceNumbering numbering) {
  const Placement& at = board.geometry[placement];
  const int parts = board.model->memory_slices.value / at.profile->memory.value;
  const int part = at.start / at.profile->memory.value;
  const bool upper_first = numbering == InstanceNumbering::upper_first ||
                           (numbering == InstanceNumbering::by_model && board.row.upper_half_first);
  const int turned = upper_first ? (part + parts / 2) % parts : part;
  return static_cast<std::uint32_t>(parts - 1 + turned);
}

std::optional<std::size_t> profile_by_id(const Board& board, std::uint32_t id) {
  for (std::size_t i = 0; i < board.profiles.size(); ++i)
    if (board.profiles[i].id == id) return i;
  return std::nullopt;
}

bool known_profile_id(std::uint32_t id) {
  for (const GpuModel& model : gpu_models())
    for (const Profile& profile : model.profiles)
      if (id_of(profile) == id) return true;
  return false;
}

std::string device_profile_name(const Profile& profile, std::uint32_t compute_slices) {
  if (compute_slices == static_cast<std::uint32_t>(profile.compute.value))
    return std::string(profile.name);
  return fmt::format("{}c.{}", compute_slices, profile.name);
}

}  // namespace cleave::sim
