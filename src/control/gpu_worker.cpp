#include "control/gpu_worker.hpp"

#include <algorithm>
#include <array>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

using nvml::Return;

/// Of those that wait, taken with one operation; the rest is for the next.
constexpr int most_events = 64;

/// There is no such GPU now, or no driver.
bool means_lost(Return code) {
  constexpr auto codes =
      std::to_array({Return::gpu_is_lost, Return::not_found, Return::gpu_not_found,
                     Return::driver_not_loaded, Return::uninitialized, Return::invalid_argument});
  return std::ranges::find(codes, code) != codes.end();
}

/// Refusals that stay: the driver has no such function, or this user may not ask.
bool never_told(const Refusal& refusal) {
  constexpr auto codes =
      std::to_array({Return::not_supported, Return::function_not_found, Return::no_permission});
  return std::ranges::find(codes, refusal.code) != codes.end();
}

std::string where_text(const LiveInstance& live) {
  return fmt::format("{}@{}", live.profile, live.placement.start);
}

std::string settled_text(const LedgerLine& intent) {
  const std::string where = fmt::format("{}@{}", intent.place.profile, intent.place.start);
  return intent.act == LedgerAct::create
             ? fmt::format("{} was about to be created, but was not", where)
             : fmt::format("{} was about to be destroyed, and is gone", where);
}

const InstanceView* find_device(const LiveGpu& view, const std::string& device) {
  const auto has = [&](const InstanceView& each) {
    return std::ranges::find(each.live.computes, device, &LiveComputeInstance::uuid) !=
           each.live.computes.end();
  };
  const auto found = std::ranges::find_if(view.instances, has);
  return found == view.instances.end() ? nullptr : &*found;
}

/// All that is on the GPU was told.
bool complete(const LiveGpu& view) {
  return view.unread.empty() && (!view.processes_refused || never_told(*view.processes_refused));
}

Error incomplete(const LiveGpu& view) {
  if (!view.unread.empty()) return view.unread.front();
  Error error = error_of(*view.processes_refused, view.place());
  error.message = fmt::format("the driver does not list its processes: {}", error.message);
  return error;
}

}  // namespace

Patience short_patience() {
  Patience patience;
  patience.at_most = std::chrono::seconds(2);
  return patience;
}

GpuWorker::GpuWorker(Door& door, GpuIdentity gpu, GpuWorkerSettings settings)
    : door_(&door),
      gpu_(std::move(gpu)),
      settings_(std::move(settings)),
      index_(GpuIndex{gpu_.index}) {}

std::string GpuWorker::place() const {
  return place_of(index_);
}

std::expected<GpuIndex, GpuWorker::Absence> GpuWorker::find() const {
  auto first = door_->gpu(index_);
  // A handle that died with a reset is forgotten by the door, and asked for again.
  if (!first && means_lost(first.error().code)) first = door_->gpu(index_);
  if (first && first->uuid == gpu_.uuid) return index_;
  if (!first && !means_lost(first.error().code))
    return std::unexpected(Absence{error_of(first.error(), place()), false});
  std::optional<Refusal> refused;
  if (!first) refused = first.error();
  const auto count = door_->gpu_count();
  if (!count)
    return std::unexpected(
        Absence{error_of(count.error(), place()), means_lost(count.error().code)});
  for (std::uint32_t i = 0; i < *count; ++i) {
    const GpuIndex other{i};
    if (other == index_) continue;
    const auto facts = door_->gpu(other);
    if (facts && facts->uuid == gpu_.uuid) return other;
    // It may be this one that does not answer.
    if (!facts && !means_lost(facts.error().code))
      return std::unexpected(Absence{error_of(facts.error(), place_of(other)), false});
  }
  if (refused && refused->code != Return::invalid_argument)
    return std::unexpected(Absence{error_of(*refused, place()), true});
  return std::unexpected(Absence{
      {ErrorKind::infeasible, place(), fmt::format("there is no longer a GPU {}", gpu_.uuid), {}},
      true});
}

std::expected<void, GpuWorker::Absence> GpuWorker::find_by_uuid() {
  const auto index = find();
  if (!index) {
    if (index.error().lost) changing_.reset();
    return std::unexpected(index.error());
  }
  if (*index != index_) changing_.reset();
  index_ = *index;
  return {};
}

Result<void> GpuWorker::begin(GpuNews& news) {
  if (changing_) return {};
  auto begun = ChangingGpu::begin(*door_, index_, settings_.state_directory, settings_.program,
                                  settings_.lock_patience, gpu_.geometry);
  if (!begun) return std::unexpected(begun.error());
  if (begun->view().facts.uuid != gpu_.uuid)
    return fail(ErrorKind::infeasible, place(), fmt::format("it is no longer {}", gpu_.uuid));
  changing_.emplace(std::move(*begun));
  remarked_.clear();
  fresh_ = true;
  for (const LedgerLine& line : changing_->settled_at_first())
    news.remarks.push_back(settled_text(line));
  if (!changing_->ledger().remark().empty()) news.remarks.push_back(changing_->ledger().remark());
  return {};
}

/// The GPU as it is now, with what can be settled settled.
Result<void> GpuWorker::look(GpuNews& news) {
  if (!fresh_)
    if (const auto looked = changing_->look(); !looked) return looked;
  fresh_ = true;
  if (!complete(changing_->view())) return std::unexpected(incomplete(changing_->view()));
  const auto settled = changing_->settle();
  if (changing_->take_rewritten())
    news.remarks.push_back(fmt::format("{} was removed; it is written anew, with what is known",
                                       shown(changing_->ledger().file().string(), 200)));
  if (!settled) return std::unexpected(settled.error());
  for (const LedgerLine& line : *settled) news.remarks.push_back(settled_text(line));
  tidy(news);
  return {};
}

bool GpuWorker::is_whole(const InstanceView& instance) const {
  if (instance.live.computes.size() != 1) return false;
  const auto placement = placement_of(instance);
  if (!placement) return false;
  const Profile& profile = *gpu_.geometry->geometry()[*placement].profile;
  return static_cast<int>(instance.live.computes.front().placement.size) == profile.compute.value;
}

/// What a crash left: instances that were never finished, or of which only a part is gone.
void GpuWorker::tidy(GpuNews& news) {
  // An instance counts as idle only if the driver says that nothing uses it.
  const bool users_known = !changing_->view().processes_refused;
  const std::vector<InstanceView> all = changing_->view().instances;
  for (const InstanceView& each : all) {
    const bool ours = each.owner == Ownership::ours, half_made = each.owner == Ownership::half_made;
    if (!ours && !half_made) continue;
    if (each.live.computes.empty()) {
      take_away(each, news);
    } else if (half_made && users_known && each.processes.empty() && is_whole(each)) {
      if (const auto adopted = changing_->adopt(each.live.id); !adopted) {
        remark_once(each, fmt::format("cannot be adopted: {}", adopted.error().text()), news);
      } else {
        news.remarks.push_back(fmt::format("{} {} was created but not recorded; it is adopted",
                                           where_text(each.live), called(each.live)));
      }
    } else if (half_made) {
      remark_once(each,
                  each.processes.empty()
                      ? "may be ours, but Cleave makes no such instances; it is left alone"
                      : "may be ours, but is in use; it is left alone",
                  news);
    }
  }
}

Patience GpuWorker::single_try() const {
  Patience none_at_all = settings_.patience;
  none_at_all.at_most = std::chrono::milliseconds(0);
  return none_at_all;
}

void GpuWorker::take_away(const InstanceView& instance, GpuNews& news) {
  // The next look tries again.
  const auto gone = changing_->destroy(instance.live.id, true, single_try());
  if (gone) {
    news.remarks.push_back(fmt::format("{} (GPU instance {}) was half-made; it is destroyed",
                                       where_text(instance.live),
                                       static_cast<std::uint32_t>(instance.live.id)));
  } else {
    remark_once(instance,
                fmt::format("is half-made and cannot be destroyed: {}", gone.error().text()), news);
  }
}

void GpuWorker::remark_once(const InstanceView& instance, std::string text, GpuNews& news) {
  std::string line =
      fmt::format("{} {} {}", where_text(instance.live), called(instance.live), text);
  if (remarked_.insert(line).second) news.remarks.push_back(std::move(line));
}

Result<void> GpuWorker::carry_out(const LookAtGpu& operation, GpuNews& news) {
  const auto looked = look(news);
  if (looked) count(operation, news);
  if (looked) ask_health();
  return looked;
}

/// Also of a GPU that is lost by now: its last event may say why.
void GpuWorker::hear_events(GpuNews& news) {
  for (int i = 0; i < most_events; ++i) {
    const auto event = door_->wait_event(std::chrono::milliseconds(0));
    if (!event || !*event) return;
    if ((*event)->gpu == index_) news.events.push_back(**event);
  }
}

void GpuWorker::ask_health() {
  health_ = door_->health(index_).value_or(GpuHealth{});
  for (const InstanceView& each : changing_->view().instances) {
    if (each.owner != Ownership::ours || each.live.computes.empty()) continue;
    const auto errors =
        door_->uncorrected_errors(index_, each.live.id, each.live.computes.front().id);
    if (errors) errors_[each.live.id] = *errors;
    // What one instance is not counted for, no other is.
    if (!errors && never_told(errors.error())) return;
  }
}

void GpuWorker::count(const LookAtGpu& operation, GpuNews& news) {
  const auto& mode = changing_->view().mig;
  const bool mig = mode && mode->current;
  for (const auto& [device, counting] : operation.counts) {
    const InstanceView* instance =
        device.empty() ? nullptr : find_device(changing_->view(), device);
    if (device.empty() ? mig : instance == nullptr) continue;
    const auto shares = door_->busy_shares(
        index_, instance == nullptr ? std::nullopt : std::optional(instance->live.id), counting);
    if (shares) news.counted.push_back({device, *shares});
  }
}

Result<void> GpuWorker::carry_out(const CreateOnGpu& operation, GpuNews& news) {
  const Geometry& geometry = gpu_.geometry->geometry();
  if (static_cast<int>(operation.placement) >= geometry.size())
    return fail(ErrorKind::internal, place(),
                fmt::format("has no placement {}", operation.placement));
  const auto& mode = changing_->view().mig;
  if (!mode || !mode->current)
    return fail(ErrorKind::infeasible, place(), "MIG is off, so it cannot have instances");
  const Placement& placement = geometry[operation.placement];
  fresh_ = false;
  const auto made = changing_->create(*placement.profile, placement.start, settings_.patience);
  if (!made) return std::unexpected(made.error());
  fresh_ = true;  // it has looked
  if (!made->computes.empty()) news.made = made->computes.front().uuid;
  return {};
}

Result<void> GpuWorker::carry_out(const DestroyOnGpu& operation, GpuNews&) {
  const auto not_there = [&] {
    return fail(ErrorKind::infeasible, place(),
                fmt::format("there is no instance {}", shown(operation.device)));
  };
  const InstanceView* found = find_device(changing_->view(), operation.device);
  if (found == nullptr && !fresh_) {
    if (const auto looked = changing_->look(); !looked) return looked;
    fresh_ = true;
    found = find_device(changing_->view(), operation.device);
  }
  if (found == nullptr) return not_there();
  // Numbers are used again: since the last look it may have become somebody else's.
  const GpuInstanceId id = found->live.id;
  fresh_ = false;
  const auto computes = door_->compute_instances(index_, id);
  if (!computes && computes.error().code == Return::not_found) return not_there();
  if (!computes) return std::unexpected(error_of(computes.error(), place_of(index_, id)));
  if (std::ranges::find(*computes, operation.device, &LiveComputeInstance::uuid) == computes->end())
    return not_there();
  const auto gone =
      changing_->destroy(id, false, operation.once ? single_try() : settings_.patience);
  if (!gone) return gone;
  fresh_ = true;
  return {};
}

Result<void> GpuWorker::may_switch_off() const {
  const LiveGpu& view = changing_->view();
  if (!complete(view) || view.processes_refused) return std::unexpected(incomplete(view));
  if (!view.instances.empty()) {
    std::vector<std::string> there;
    for (const InstanceView& each : view.instances)
      there.push_back(fmt::format("{} ({})", where_text(each.live), name(each.owner)));
    return fail(ErrorKind::infeasible, place(),
                fmt::format("MIG stays on: there are instances, {}", fmt::join(there, ", ")));
  }
  return {};
}

Result<void> GpuWorker::carry_out(const SwitchMig& operation, GpuNews& news) {
  const std::string_view word = operation.on ? "on" : "off";
  if (const auto looked = look(news); !looked) return looked;
  const LiveGpu& view = changing_->view();
  if (!view.mig) return fail(ErrorKind::infeasible, place(), "it cannot be partitioned");
  if (view.mig->current == operation.on && view.mig->pending == operation.on) return {};
  if (!settings_.may_switch_mig)
    return fail(
        ErrorKind::infeasible, place(),
        fmt::format("MIG would have to be switched {}, which may_switch_mig does not allow", word));
  // Where it is so already, only a change that waits for a reset is called off.
  if (view.mig->current != operation.on) {
    if (const auto may = may_switch_off(); !may) return may;
    if (!view.processes.empty())
      return fail(ErrorKind::infeasible, place(),
                  fmt::format("MIG cannot be switched {}: processes run on it: {}", word,
                              pids_text(view.processes)));
  }
  fresh_ = false;
  const auto activation = door_->set_mig_mode(index_, operation.on);
  if (!activation) return std::unexpected(error_of(activation.error(), place()));
  const auto after = door_->mig_mode(index_);
  if (!after) return std::unexpected(error_of(after.error(), place()));
  if (after->current == operation.on) return {};
  const RefusalWords why = explain({*activation, "nvmlDeviceSetMigMode"});
  if (after->pending != operation.on)
    return std::unexpected(error_of({*activation, "nvmlDeviceSetMigMode"}, place()));
  const auto back = door_->set_mig_mode(index_, !operation.on);
  const auto now =
      back ? door_->mig_mode(index_) : DriverAnswer<MigMode>(std::unexpected(back.error()));
  const bool taken_back = now && now->pending != operation.on;
  return fail(
      ErrorKind::infeasible, place(),
      fmt::format("MIG is switched {} only by a reset of the GPU ({}); {}", word, why.message,
                  taken_back ? "the request is withdrawn" : "the request cannot be withdrawn"),
      why.remedy);
}

std::optional<PlacementId> GpuWorker::placement_of(const InstanceView& instance) const {
  if (changing_->view().geometry == gpu_.geometry && instance.placement) return instance.placement;
  // A geometry of the tables need not know the driver's numbers.
  const Profile* profile = gpu_.geometry->model().find(instance.live.profile);
  if (profile == nullptr) return {};
  return gpu_.geometry->geometry().find(*profile, static_cast<int>(instance.live.placement.start));
}

std::optional<GpuObservation> GpuWorker::observation() const {
  if (!changing_ || !fresh_ || !complete(changing_->view())) return {};
  const LiveGpu& view = changing_->view();
  GpuObservation seen;
  seen.mig = view.mig && view.mig->current;
  seen.power_mw = view.power_mw;
  if (const auto energy = door_->energy_millijoules(index_)) seen.energy_mj = *energy;
  seen.health = health_;
  if (!seen.mig) seen.processes = view.processes;
  for (const InstanceView& each : view.instances) {
    ObservedInstance one;
    if (!each.live.computes.empty()) {
      const LiveComputeInstance& compute = each.live.computes.front();
      one.device = compute.uuid;
      one.numbers = {static_cast<std::uint32_t>(each.live.id),
                     static_cast<std::uint32_t>(compute.id)};
    }
    one.placement = placement_of(each);
    one.owner = each.owner;
    one.processes = each.processes;
    one.memory = each.memory;
    if (const auto told = errors_.find(each.live.id); told != errors_.end())
      one.uncorrected = told->second;
    seen.instances.push_back(std::move(one));
  }
  return seen;
}

GpuNews GpuWorker::carry_out(const NumberedOperation& operation) {
  GpuNews news{.number = operation.number,
               .gpu = operation.gpu,
               .done = {},
               .observation = {},
               .made = {},
               .remarks = {},
               .counted = {}};
  fresh_ = false;
  health_ = {};
  errors_.clear();
  hear_events(news);
  const auto lost = [&](const Error& error) {
    news.done = std::unexpected(error);
    news.observation.emplace();
    news.observation->lost = true;
    news.observation->mig = false;
    return news;
  };
  const auto found = find_by_uuid();
  if (!found && found.error().lost) return lost(found.error().error);
  if (!found) {
    news.done = std::unexpected(found.error().error);
    return news;
  }
  news.done = begin(news);
  if (news.done)
    news.done =
        std::visit([&](const auto& what) { return carry_out(what, news); }, operation.operation);
  news.observation = observation();
  if (news.observation) return news;
  // Something went wrong, or was not told: once more, now to know how it stands.
  const auto still = find_by_uuid();
  if (!still && still.error().lost) return lost(still.error().error);
  if (!still || !changing_) return news;
  fresh_ = false;
  if (const auto looked = look(news);
      !looked && news.done && std::holds_alternative<LookAtGpu>(operation.operation))
    news.done = looked;
  news.observation = observation();
  return news;
}

namespace {

struct Candidate {
  GpuIndex index{};
  std::optional<GpuIdentity> gpu;
  std::string uuid;            // empty where it does not answer
  std::optional<Error> error;  // why it cannot be managed
};

Candidate candidate(Door& door, GpuIndex index) {
  Candidate one;
  one.index = index;
  const auto unfit = [&](Error error) {
    one.error = std::move(error);
    return one;
  };
  auto facts = door.gpu(index);
  if (!facts) return unfit(error_of(facts.error(), place_of(index)));
  one.uuid = facts->uuid;
  const auto mode = door.mig_mode(index);
  if (!mode && mode.error().code == Return::not_supported)
    return unfit({ErrorKind::infeasible,
                  place_of(index),
                  fmt::format("the {} cannot be partitioned", shown(facts->name)),
                  {}});
  if (!mode) return unfit(error_of(mode.error(), place_of(index)));
  auto geometry = driver_geometry(door, index);
  if (!geometry) return unfit(geometry.error());
  one.gpu = GpuIdentity{.uuid = facts->uuid,
                        .index = static_cast<std::uint32_t>(index),
                        .driver_name = facts->name,
                        .minor = facts->minor,
                        .geometry = std::make_shared<const DriverGeometry>(std::move(*geometry))};
  return one;
}

bool is_called(const Candidate& one, const std::string& wanted) {
  if (const auto index = parse_integer(wanted))
    return *index == static_cast<std::int64_t>(one.index);
  return !one.uuid.empty() && one.uuid == wanted;
}

std::string those_there(const std::vector<Candidate>& all) {
  if (all.empty()) return "the driver shows no GPU";
  std::vector<std::string> words;
  for (const Candidate& each : all)
    words.push_back(fmt::format("{} ({})", static_cast<std::uint32_t>(each.index),
                                each.uuid.empty() ? "does not answer" : shown(each.uuid)));
  return fmt::format("there are: {}", fmt::join(words, ", "));
}

}  // namespace

Result<std::vector<GpuIdentity>> find_managed_gpus(Door& door,
                                                   const std::vector<std::string>& wanted,
                                                   std::vector<std::string>* remarks) {
  const auto count = door.gpu_count();
  if (!count) return std::unexpected(error_of(count.error(), "GPUs"));
  std::vector<Candidate> all;
  for (std::uint32_t i = 0; i < *count; ++i) all.push_back(candidate(door, GpuIndex{i}));
  std::set<GpuIndex> chosen;
  for (const std::string& one : wanted) {
    if (one == "all") {
      for (const Candidate& each : all) {
        if (each.gpu) chosen.insert(each.index);
        if (each.error && remarks != nullptr)
          remarks->push_back(fmt::format("not managed: {}", each.error->text()));
      }
      continue;
    }
    const auto found =
        std::ranges::find_if(all, [&](const Candidate& each) { return is_called(each, one); });
    if (found == all.end())
      return fail(ErrorKind::bad_input, "managed_gpus",
                  fmt::format("there is no GPU '{}'", shown(one)), those_there(all));
    if (found->error) return std::unexpected(*found->error);
    chosen.insert(found->index);
  }
  std::vector<GpuIdentity> managed;
  for (Candidate& each : all)
    if (chosen.contains(each.index)) managed.push_back(std::move(*each.gpu));
  if (managed.empty())
    return fail(ErrorKind::infeasible, "managed_gpus", "no GPU is left that can be managed",
                those_there(all));
  return managed;
}

}  // namespace cleave
