#include "device/changing_gpu.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "device/state_directory.hpp"

namespace cleave {

namespace {

/// A ledger of this length is replaced by one with the lines that matter, if that is much shorter.
constexpr std::size_t long_ledger = 400;

const InstanceView* find(const LiveGpu& view, GpuInstanceId id) {
  const auto found =
      std::ranges::find_if(view.instances, [&](const auto& each) { return each.live.id == id; });
  return found == view.instances.end() ? nullptr : &*found;
}

/// The same instance, by its UUIDs: its number may belong to another program's instance by now.
bool shows(const LiveGpu& view, const InstanceSeen& instance) {
  const auto same = [&](const std::string& uuid) {
    return std::ranges::any_of(view.instances, [&](const InstanceView& each) {
      return std::ranges::find(each.live.computes, uuid, &LiveComputeInstance::uuid) !=
             each.live.computes.end();
    });
  };
  return std::ranges::any_of(instance.uuids, same);
}

std::unexpected<Error> not_ours(const LiveGpu& view, const InstanceView& instance) {
  const std::string place = place_of(view.facts.index, instance.live.id);
  if (instance.owner == Ownership::half_made)
    return fail(ErrorKind::infeasible, place,
                fmt::format("it is half-made: Cleave was stopped while it made or changed a {} "
                            "here, and cannot know "
                            "whether this is it",
                            instance.live.profile),
                "if nobody else made it, --adopt takes it over");
  return fail(ErrorKind::infeasible, place,
              fmt::format("Cleave did not make this {}", instance.live.profile),
              "to destroy it anyway, add --adopt");
}

}  // namespace

Result<ChangingGpu> ChangingGpu::begin(Door& door, GpuIndex gpu,
                                       const std::filesystem::path& state_directory,
                                       const std::string& program,
                                       std::chrono::milliseconds lock_patience,
                                       std::shared_ptr<const DriverGeometry> known) {
  const auto facts = door.gpu(gpu);
  if (!facts) return std::unexpected(error_of(facts.error(), place_of(gpu)));
  if (const auto made = make_state_directory(state_directory); !made)
    return std::unexpected(made.error());
  auto lock = GpuLock::take(state_directory, facts->uuid, place_of(gpu), program, lock_patience);
  if (!lock) return std::unexpected(lock.error());
  auto ledger = Ledger::open(state_directory, program);
  if (!ledger) return std::unexpected(ledger.error());
  ChangingGpu changing(door, gpu, std::move(*lock), std::move(*ledger));
  changing.view_.geometry = std::move(known);
  if (const auto looked = changing.look(); !looked) return std::unexpected(looked.error());
  auto settled = changing.settle();
  if (!settled) return std::unexpected(settled.error());
  changing.settled_ = std::move(*settled);
  return changing;
}

Result<std::vector<LedgerLine>> ChangingGpu::settle() {
  std::vector<LedgerLine> closed;
  // Only a complete view says what exists.
  if (!view_.unread.empty()) return closed;
  const std::string& gpu = view_.facts.uuid;
  const auto live = view_.seen();
  const auto before = ledger_.state().open();
  if (const auto settled = ledger_.settle(gpu, live); !settled)
    return std::unexpected(settled.error());
  const auto after = ledger_.state().open();
  for (const LedgerLine& line : before)
    if (line.place.gpu == gpu &&
        std::ranges::find(after, line.number, &LedgerLine::number) == after.end())
      closed.push_back(line);
  const std::size_t lines = ledger_.state().lines();
  if (lines > long_ledger && lines > 2 * ledger_.lines_that_matter({gpu}, live))
    if (const auto compact = ledger_.compact({gpu}, live); !compact)
      return std::unexpected(compact.error());
  set_owners(view_, ledger_.state());
  return closed;
}

Result<void> ChangingGpu::look() {
  // Keeps the geometry: it does not change while MIG is on, and callers hold references into it.
  auto view = view_gpu(*door_, gpu_, view_.geometry);
  if (!view) return std::unexpected(view.error());
  view_ = std::move(*view);
  set_owners(view_, ledger_.state());
  return {};
}

Result<DriverProfile> ChangingGpu::driver_profile(const Profile& profile) {
  const auto profiles = door_->profiles(gpu_);
  if (!profiles) return std::unexpected(error_of(profiles.error(), place_of(gpu_)));
  for (const DriverProfile& each : *profiles)
    if (static_cast<int>(each.number) == profile.nvml_profile) return each;
  return fail(ErrorKind::infeasible, place_of(gpu_),
              fmt::format("the driver has no profile {} now", profile.name));
}

Result<LiveInstance> ChangingGpu::create(const Profile& profile, int start,
                                         const Patience& patience,
                                         std::uint32_t compute_instances) {
  if (compute_instances == 0 ||
      compute_instances > static_cast<std::uint32_t>(profile.compute.value))
    return fail(ErrorKind::bad_input, place_of(gpu_),
                fmt::format("{} compute instances in a {}", compute_instances, profile.name),
                profile.compute.value == 1
                    ? "it has one compute slice and cannot be divided"
                    : fmt::format("it has {} compute slices: make 1 to {}", profile.compute.value,
                                  profile.compute.value));
  const auto driver = driver_profile(profile);
  if (!driver) return std::unexpected(driver.error());
  const InstancePlace place{.gpu = view_.facts.uuid,
                            .profile = std::string(profile.name),
                            .profile_id = driver->id,
                            .start = static_cast<std::uint32_t>(start)};
  // No intent is written if another program's instance is there already: after a crash it would
  // look like ours.
  const Span span{place.start, static_cast<std::uint32_t>(profile.memory.value)};
  if (const auto looked = look(); !looked) return std::unexpected(looked.error());
  if (!view_.unread.empty())
    return std::unexpected(view_.unread.front());  // the view may be incomplete
  for (const InstanceView& each : view_.instances) {
    const Span other = each.live.placement;
    if (span.start < other.start + other.size && other.start < span.start + span.size)
      return fail(
          ErrorKind::infeasible, place_of(gpu_),
          fmt::format("{}@{} has no room: {}@{} (GPU instance {})", profile.name, start,
                      each.live.profile, other.start, static_cast<std::uint32_t>(each.live.id)),
          "destroy what is in the way, or choose another start");
  }
  const auto number = ledger_.will_create(place);
  if (!number) return std::unexpected(number.error());
  auto made = attempt_instance(*door_, gpu_, *driver, span, patience, compute_instances);
  if (made) {
    std::vector<std::string> uuids;
    for (const LiveComputeInstance& compute : made->computes) uuids.push_back(compute.uuid);
    if (const auto written = ledger_.created(*number, made->id, std::move(uuids)); !written)
      return std::unexpected(written.error());
    if (const auto looked = look(); !looked) return std::unexpected(looked.error());
    return std::move(*made);
  }
  // Refused. The intent is closed only after a look has shown that nothing was left behind. A new
  // instance may also be that of another program that was quicker; if the driver refused the GPU
  // instance itself, only one without a compute instance can be ours.
  const auto& [error, gpu_instance_made] = made.error();
  const std::vector<InstanceSeen> before = view_.seen();
  if (!look() || !view_.unread.empty()) return std::unexpected(error);
  const auto left_behind = std::ranges::find_if(view_.instances, [&](const InstanceView& each) {
    return view_.seen(each).place.same_as(place) && each.owner != Ownership::ours &&
           (each.live.computes.empty() || gpu_instance_made) &&
           std::ranges::find(before, each.live.id, &InstanceSeen::id) == before.end();
  });
  if (left_behind == view_.instances.end()) {
    if (const auto written = ledger_.not_created(*number); !written)
      return std::unexpected(written.error());
  } else if (gpu_instance_made && left_behind->live.computes.empty()) {
    // The driver made it for this program, which could not undo that: an intent to destroy it, with
    // its number, records this, and whatever program destroys it next ends both intents.
    if (const auto written = ledger_.will_destroy(view_.seen(*left_behind)); !written)
      return std::unexpected(written.error());
  }
  set_owners(view_, ledger_.state());
  return std::unexpected(error);
}

Result<void> ChangingGpu::adopt(GpuInstanceId instance) {
  const InstanceView* found = find(view_, instance);
  if (found == nullptr)
    return fail(ErrorKind::infeasible, place_of(gpu_, instance), "there is no such instance",
                "see `cleave instances`");
  if (found->owner == Ownership::ours) return {};
  if (found->live.computes.empty())
    return fail(ErrorKind::infeasible, place_of(gpu_, instance),
                "it has no compute instance to know it by", "destroy it and make a new one");
  if (const auto adopted = ledger_.adopt(view_.seen(*found)); !adopted) return adopted;
  set_owners(view_, ledger_.state());
  return {};
}

Result<void> ChangingGpu::destroy(GpuInstanceId instance, bool adopt, const Patience& patience) {
  const InstanceView* found = find(view_, instance);
  if (found == nullptr)
    return fail(ErrorKind::infeasible, place_of(gpu_, instance), "there is no such instance",
                "see `cleave instances`");
  if (found->owner != Ownership::ours && !adopt) return not_ours(view_, *found);
  const InstanceSeen seen = view_.seen(*found);
  const bool ours = found->owner == Ownership::ours;
  const auto number = ledger_.will_destroy(seen);
  if (!number) return std::unexpected(number.error());
  const auto gone = destroy_instance(*door_, gpu_, instance, patience);
  if (gone) {
    if (const auto looked = look(); !looked) return looked;  // the next look closes the intent
    if (shows(view_, seen)) {
      if (const auto written = ledger_.not_destroyed(*number); !written) return written;
      return fail(ErrorKind::infeasible, place_of(gpu_, instance),
                  "the driver says that it is destroyed, but still shows it");
    }
    if (const auto written = ledger_.destroyed(*number); !written) return written;
    set_owners(view_, ledger_.state());
    return {};
  }
  // In use: unchanged, and the intent is withdrawn. If its compute instance is gone, only the
  // intent shows that it is ours, so the intent stays; one that had none before and was not ours is
  // unchanged.
  if (!look() || !view_.unread.empty()) return gone;
  const InstanceView* still = find(view_, instance);
  if (still != nullptr && (!view_.seen(*still).uuids.empty() || (!ours && seen.uuids.empty()))) {
    if (const auto written = ledger_.not_destroyed(*number); !written) return written;
  } else if (still == nullptr) {
    if (const auto written = ledger_.destroyed(*number); !written) return written;
  }
  set_owners(view_, ledger_.state());
  return gone;
}

}  // namespace cleave
