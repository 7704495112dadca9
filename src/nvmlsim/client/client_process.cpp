// Processes on simulated GPUs, as the driver sees them.

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "base/text.hpp"
#include "nvmlsim/client/client_view.hpp"
#include "nvmlsim/monitors_abi.hpp"
#include "nvmlsim/uuid.hpp"

namespace cleave {

namespace {

/// Where a process is: on the compute instance with this serial, or on the whole GPU (0).
struct Seat {
  std::uint32_t gpu = 0;
  std::uint64_t compute = 0;
};

Error no_device(std::string_view visible, std::string_view why) {
  return {ErrorKind::bad_input, fmt::format("device '{}'", shown(visible)), std::string(why),
          "name a MIG UUID, a GPU's UUID or a GPU's index"};
}

std::optional<Seat> seat_of_mig(sim::Node& node, const sim::Uuid& uuid) {
  for (std::uint32_t gpu = 0; gpu < node.gpus(); ++gpu) {
    const sim::GpuAccess access(node, gpu);
    if (access.status() == nvml::Return::unknown) continue;
    for (const sim::ComputeInstanceRecord& compute : access.record().compute_instances)
      if (compute.serial != 0 && compute.uuid == uuid) return Seat{gpu, compute.serial};
  }
  return std::nullopt;
}

/// The place for a GPU's index: the whole GPU without MIG, else its first compute instance, as
/// CUDA.
Result<Seat> seat_on_gpu(sim::Node& node, std::uint32_t gpu, std::string_view visible) {
  const sim::GpuAccess access(node, gpu);
  if (access.status() == nvml::Return::unknown)
    return std::unexpected(no_device(visible, "the state of this GPU is damaged"));
  if (access.record().mig_enabled == 0) return Seat{gpu, 0};
  for (const sim::ComputeInstanceRecord& compute : access.record().compute_instances)
    if (compute.serial != 0) return Seat{gpu, compute.serial};
  return std::unexpected(no_device(visible, "MIG is on and the GPU has no compute instance"));
}

/// The place for the first device of a list, which is the one that a program uses.
Result<Seat> seat_named(sim::Node& node, std::string_view visible) {
  const std::string_view first = trimmed(visible.substr(0, visible.find(',')));
  if (const auto mig = sim::parse_uuid("MIG-", first)) {
    if (const auto seat = seat_of_mig(node, *mig)) return *seat;
    return std::unexpected(no_device(visible, "there is no such MIG device"));
  }
  const auto uuid = sim::parse_uuid("GPU-", first);
  const auto number = parse_integer(first);
  for (std::uint32_t gpu = 0; gpu < node.gpus(); ++gpu)
    if ((uuid && node.cell(gpu).uuid == *uuid) || (number && *number == gpu))
      return seat_on_gpu(node, gpu, visible);
  return std::unexpected(no_device(visible, "there is no such device on the simulated node"));
}

std::optional<std::size_t> find_process(const sim::GpuRecord& record, sim::Identity identity,
                                        std::uint64_t compute) {
  for (std::uint32_t i = 0; i < std::min(record.process_count, sim::most_processes); ++i)
    if (record.processes[i].identity == identity && record.processes[i].compute == compute)
      return i;
  return std::nullopt;
}

/// Whether the compute mode keeps a new process off a GPU with MIG off.
bool refused_by_mode(const sim::GpuRecord& record, sim::Identity identity) {
  if (record.mig_enabled != 0) return false;
  if (record.settings.compute_mode == nvml::compute_prohibited) return true;
  return record.settings.compute_mode == nvml::compute_exclusive_process &&
         std::any_of(record.processes.begin(), record.processes.begin() + record.process_count,
                     [&](const auto& each) { return each.identity != identity; });
}

/// The slot of the GPU instance of the place; empty for the whole GPU.
std::optional<std::size_t> instance_of(const sim::GpuRecord& record, const Seat& seat) {
  const auto slot = sim::find_compute_instance(record, seat.compute);
  if (!slot) return std::nullopt;
  return record.compute_instances[*slot].gpu_instance % sim::instance_slots;
}

std::unexpected<Error> cannot_use(std::uint32_t gpu, nvml::Return status) {
  const std::string place = fmt::format("GPU {}", gpu);
  if (status == nvml::Return::gpu_is_lost)
    return fail(ErrorKind::infeasible, place, "the GPU is lost",
                "end the fault: cleave sim-node fault ... none");
  return fail(ErrorKind::bad_input, place, "the state of this GPU is damaged",
              "destroy the node and create it again");
}

}  // namespace

struct SimProcess::Inside {
  std::unique_ptr<sim::Node> node;
  Seat seat;
  sim::Identity identity = 0;
  const Profile* profile = nullptr;

  /// Applies `change` to the process's record; fails if it is no longer there.
  template <class F>
  Result<bool> with_record(F&& change) {
    sim::GpuAccess access(*node, seat.gpu);
    if (access.status() != nvml::Return::success) return cannot_use(seat.gpu, access.status());
    const auto at = find_process(access.record(), identity, seat.compute);
    if (!at)
      return fail(ErrorKind::infeasible, fmt::format("process {}", sim::pid_of(identity)),
                  "it is not on the simulated GPU any more");
    return change(access, *at);
  }
};

SimProcess::SimProcess(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
SimProcess::~SimProcess() = default;
SimProcess::SimProcess(SimProcess&&) noexcept = default;
SimProcess& SimProcess::operator=(SimProcess&&) noexcept = default;

Result<SimProcess> SimProcess::start(const std::filesystem::path& directory,
                                     std::string_view visible, std::uint32_t pid) {
  auto node = sim::open_living(directory);
  if (!node) return std::unexpected(node.error());
  const auto seat = seat_named(**node, visible);
  if (!seat) return std::unexpected(seat.error());
  const sim::Identity identity = sim::identity_of(pid);
  if (identity == 0)
    return fail(ErrorKind::bad_input, fmt::format("process {}", pid), "there is no such process");
  auto inside = std::make_unique<Inside>();
  sim::reap(**node, seat->gpu, true);
  {
    sim::GpuAccess access(**node, seat->gpu);
    if (access.status() != nvml::Return::success) return cannot_use(seat->gpu, access.status());
    const auto slot = sim::find_compute_instance(access.record(), seat->compute);
    if ((seat->compute != 0 && !slot) || (seat->compute == 0 && access.record().mig_enabled != 0))
      return std::unexpected(no_device(visible, "it has just been destroyed"));
    if (slot)
      inside->profile = sim::placement_of(access.board(), access.record(),
                                          access.record().compute_instances[*slot].gpu_instance)
                            .profile;
    const auto known = find_process(access.record(), identity, seat->compute);
    if (!known && access.record().process_count >= sim::most_processes)
      return fail(ErrorKind::infeasible, fmt::format("GPU {}", seat->gpu),
                  fmt::format("{} processes are on it, and no more fit", sim::most_processes));
    if (!known && refused_by_mode(access.record(), identity))
      return fail(ErrorKind::infeasible, fmt::format("GPU {}", seat->gpu),
                  "its compute mode allows no further process",
                  "set the compute mode to default with nvmlDeviceSetComputeMode");
    sim::GpuRecord& next = access.draft();
    next.processes[known.value_or(next.process_count)] = {identity, seat->compute, 0, 0};
    if (!known) ++next.process_count;
    access.commit();
  }
  inside->node = std::move(*node);
  inside->seat = *seat;
  inside->identity = identity;
  return SimProcess(std::move(inside));
}

const GpuModel& SimProcess::model() const {
  return *inside_->node->board(inside_->seat.gpu).model;
}

const Profile* SimProcess::profile() const {
  return inside_->profile;
}

std::optional<MiB> SimProcess::capacity() const {
  if (inside_->profile != nullptr) return inside_->profile->usable;
  const Profile& largest = model().largest();
  return largest.compute == model().compute ? largest.usable : std::nullopt;
}

Result<bool> SimProcess::hold(MiB memory) {
  if (memory < MiB{0})
    return fail(ErrorKind::bad_input, "", fmt::format("{} MiB cannot be held", memory.value));
  constexpr std::int64_t beyond_any_gpu = std::int64_t{1} << 40;
  if (memory.value > beyond_any_gpu) return false;
  const std::uint64_t wanted = in_bytes(memory);
  const auto hold_if_it_fits = [&](sim::GpuAccess& access, std::size_t at) -> Result<bool> {
    const sim::GpuRecord& record = access.record();
    const auto slot = instance_of(record, inside_->seat);
    const std::uint64_t used = slot ? sim::used_bytes(record, *slot) : sim::used_bytes(record);
    const std::uint64_t others = used - std::min(used, record.processes[at].bytes);
    const std::uint64_t room = sim::capacity_bytes(access.board(), record, slot);
    if (wanted > room - std::min(room, others)) return false;
    access.draft().processes[at].bytes = wanted;
    access.commit();
    return true;
  };
  const auto at_once = inside_->with_record(hold_if_it_fits);
  if (!at_once || *at_once) return at_once;
  sim::reap(*inside_->node, inside_->seat.gpu, true);
  return inside_->with_record(hold_if_it_fits);
}

Result<void> SimProcess::keep_busy(double share) {
  if (!std::isfinite(share) || share < 0 || share > 1)
    return fail(ErrorKind::bad_input, "", fmt::format("{} is not a share of the time", share));
  const auto done =
      inside_->with_record([&](sim::GpuAccess& access, std::size_t at) -> Result<bool> {
        access.draft().processes[at].busy = share;
        access.commit();
        return true;
      });
  if (!done) return std::unexpected(done.error());
  return {};
}

Result<void> SimProcess::end() {
  // Works on a lost GPU too, and if the process was taken for dead.
  sim::GpuAccess access(*inside_->node, inside_->seat.gpu);
  if (access.status() == nvml::Return::unknown)
    return cannot_use(inside_->seat.gpu, access.status());
  const auto at = find_process(access.record(), inside_->identity, inside_->seat.compute);
  if (!at) return {};
  sim::GpuRecord& next = access.draft();
  next.processes[*at] = next.processes[--next.process_count];
  access.commit();
  return {};
}

}  // namespace cleave
