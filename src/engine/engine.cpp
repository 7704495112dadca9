#include "engine/engine.hpp"

#include <algorithm>
#include <utility>

#include "base/format.hpp"
#include "base/overloads.hpp"
#include "placement/gang_room.hpp"

namespace cleave {

namespace {

constexpr std::string_view no_room =
    "no GPU has room for it beside foreign instances and the fleet's own work";

constexpr std::string_view too_many_slices =
    "it asks for more compute slices than a user may hold at a time";

/// What the largest instances of these GPUs have; empty if that is unknown of one.
std::optional<MiB> most_memory_of(const Fleet& fleet) {
  MiB most;
  for (const auto& graph : fleet.graphs())
    for (const Profile* profile : graph->geometry().profile_list()) {
      if (!profile->usable) return std::nullopt;
      most = std::max(most, *profile->usable);
    }
  return most;
}

}  // namespace

Result<Engine> Engine::make(const SchedulerSpec& spec, const SchedulerSetup& setup,
                            RequestTable& requests, Forecaster* forecaster, Refusals* refusals,
                            const ArrayFacts* arrays) {
  std::unique_ptr<HostRoom> host;
  if (!setup.fleet.hosts().empty()) host = std::make_unique<HostRoom>(setup.fleet, requests);
  SchedulerSetup with_host = setup;
  with_host.host = host.get();
  auto scheduler = make_scheduler(spec, with_host);
  if (!scheduler) return std::unexpected(scheduler.error());
  return Engine(spec, std::move(*scheduler), setup, std::move(host), requests, forecaster, refusals,
                arrays);
}

Engine::Engine(const SchedulerSpec& spec, std::unique_ptr<Scheduler> scheduler,
               const SchedulerSetup& setup, std::unique_ptr<HostRoom> host, RequestTable& requests,
               Forecaster* forecaster, Refusals* refusals, const ArrayFacts* arrays)
    : scheduler_(std::move(scheduler)),
      requests_(&requests),
      facts_(setup.facts),
      forecaster_(forecaster),
      room_(setup.fleet.graphs().size()),
      service_(setup.fleet.size()),
      own_refusals_(refusals == nullptr ? std::make_unique<Refusals>() : nullptr),
      refusals_(refusals == nullptr ? own_refusals_.get() : refusals),
      whole_gpus_(spec.row->whole_gpus),
      gangs_(setup.gangs),
      host_(std::move(host)),
      arrays_(arrays),
      most_memory_(most_memory_of(setup.fleet)) {
  if (setup.kinds && facts_ != nullptr && !spec.row->kinds)
    kinds_refused_ = fmt::format("scheduler '{}' takes batches only", spec.row->name);
  if (!spec.row->several)
    several_refused_ =
        fmt::format("scheduler '{}' takes no jobs of several GPUs or instances, nor of whole GPUs",
                    spec.row->name);
  for (const GpuState& gpu : setup.fleet.gpus()) {
    kinds_.push_back(gpu.kind);
    room_[gpu.kind] = room_[gpu.kind] | setup.fleet.graph(gpu).free(gpu.occupied);
    if (host_) room_of_gpu_.push_back(setup.fleet.graph(gpu).free(gpu.occupied));
  }
  whole_.reserve(room_.size());
  for (const auto& graph : setup.fleet.graphs()) whole_.push_back(graph->geometry().all());
}

bool Engine::hosted(RequestId request) const {
  const ResolvedRequest& resolved = (*requests_)[request];
  if (!host_ || resolved.request.host.empty()) return true;
  for (std::size_t i = 0; i < kinds_.size(); ++i)
    if (resolved.holds[kinds_[i]].meets(room_of_gpu_[i]) &&
        host_->could_hold(request, static_cast<GpuId>(i)))
      return true;
  return false;
}

bool Engine::servable(RequestId request) const {
  const ResolvedRequest& resolved = (*requests_)[request];
  if (!hosted(request)) return false;
  if (!several_refused_.empty() && seated_together(resolved.request)) return false;
  for (std::size_t kind = 0; kind < room_.size(); ++kind)
    if (resolved.holds[kind].meets(room_[kind]))
      return scheduler_->serves(request) && !scheduler_->exceeds_limits(request) &&
             (seats_alone(resolved.request) || scheduler_->seats_all(request));
  return false;
}

void Engine::forget_restarted(std::span<const Command> commands) {
  for (const Command& command : commands) {
    if (const auto* saved = std::get_if<CheckpointJob>(&command)) saved_.insert(saved->job);
    if (const auto* stopped = std::get_if<StopJob>(&command)) forget(stopped->job);
    const auto starts = [&](const auto* start) {
      if (start == nullptr) return;
      warned_.erase(start->job);
      if (saved_.erase(start->job) == 0) forget(start->job);
    };
    starts(std::get_if<StartJob>(&command));
    starts(std::get_if<StartShared>(&command));
    starts(std::get_if<StartOnWholeGpu>(&command));
  }
}

void Engine::on(const Event& event, Instant now, std::vector<Command>& commands) {
  const std::size_t before = commands.size();
  if (host_) host_->follow(commands);
  if (!begun_) begin(now, commands);
  tell(event, now, commands);
  if (gangs_) note_starts(std::span(commands).subspan(before));
  if (forecaster_ != nullptr) forget_restarted(std::span(commands).subspan(before));
  if (host_) host_->unfollow();
}

void Engine::tell(const Event& event, Instant now, std::vector<Command>& commands) {
  const auto drain = [&](GpuId gpu, bool drained) {
    service_[index(gpu)].drained = drained;
    see_to(gpu, now, commands);
  };
  const auto pause = [&](bool paused) {
    paused_ = paused;
    see_to_all(now, commands);
  };
  std::visit(
      Overloads{[&](const Submitted& submitted) { on_submitted(submitted, now, commands); },
                [&](const Finished& finished) { on_finished(finished.job, now, commands); },
                [&](const OutOfMemory& died) { on_out_of_memory(died, now, commands); },
                [&](const MemoryReported& reported) { on_report(reported, now, commands); },
                [&](const GpuLost& lost) { on_lost(lost.gpu, now, commands); },
                [&](const GpuReturned& returned) { on_returned(returned.gpu, now, commands); },
                [&](const Woken&) { on_woken(now, commands); },
                [&](const Adopted& adopted) { on_adopted(adopted, now, commands); },
                [&](const Cancelled& cancelled) { on_cancelled(cancelled.job, now, commands); },
                [&](const CreateFailed& failed) {
                  rest(failed.gpu, refusals_->refused(failed.gpu, now), now, commands);
                  on_gone({failed.gpu, failed.placement}, now, commands);
                },
                [&](const InstanceVanished& vanished) {
                  on_gone({vanished.gpu, vanished.placement}, now, commands);
                },
                [&](const GpuDrained& drained) { drain(drained.gpu, true); },
                [&](const GpuUndrained& undrained) { drain(undrained.gpu, false); },
                [&](const LeaseIdle& idle) { resize(idle.job, idle.enough, now, commands); },
                [&](const LeaseBusy& busy) { resize(busy.job, {}, now, commands); },
                [&](const Paused&) { pause(true); }, [&](const Resumed&) { pause(false); }},
      event);
}

void Engine::on_submitted(const Submitted& submitted, Instant now, std::vector<Command>& commands) {
  const std::string& impossible = (*requests_)[submitted.request].impossible;
  if (!impossible.empty()) {
    commands.push_back(RejectJob{submitted.job, impossible});
    return;
  }
  if (!kinds_refused_.empty() && facts_->kind(submitted.job) != JobKind::batch) {
    commands.push_back(RejectJob{submitted.job, kinds_refused_});
    return;
  }
  enqueue(submitted.job, submitted.request, now, commands);
}

void Engine::enqueue(JobId job, RequestId request, Instant now, std::vector<Command>& commands) {
  if (!servable(request)) {
    commands.push_back(RejectJob{job, why_not_servable(request)});
    return leave_array(job, now, commands);
  }
  set_request(job, request);
  if (arrays_.enter(job, request)) scheduler_->on(Submitted{job, request}, now, commands);
}

void Engine::leave_array(JobId job, Instant now, std::vector<Command>& commands) {
  if (arrays_.idle()) return;
  arrays_.leave(job);
  while (const auto next = arrays_.next(job)) {
    if (servable(next->request)) {
      scheduler_->on(Submitted{next->job, next->request}, now, commands);
    } else {
      commands.push_back(RejectJob{next->job, why_not_servable(next->request)});
      arrays_.leave(next->job);
    }
  }
}

void Engine::on_cancelled(JobId job, Instant now, std::vector<Command>& commands) {
  if (arrays_.idle() || !arrays_.holds(job)) scheduler_->on(Cancelled{job}, now, commands);
  leave_array(job, now, commands);
}

std::string_view Engine::why_not_servable(RequestId request) {
  const Request& asked = (*requests_)[request].request;
  if (!several_refused_.empty() && seated_together(asked)) return several_refused_;
  if (!hosted(request))
    return too_many_.try_emplace(request, host_->why_never(request)).first->second;
  if (!scheduler_->serves(request)) {
    const std::string_view own = scheduler_->why_not(request);
    return own.empty() ? no_room : own;
  }
  if (scheduler_->exceeds_limits(request)) return too_many_slices;
  if (seats_alone(asked) || scheduler_->seats_all(request)) return no_room;
  if (asked.places == 1)
    return too_many_.try_emplace(request, host_->why_never(request)).first->second;
  std::string& reason = too_many_[request];
  if (reason.empty()) reason = fmt::format("the fleet never has {} at a time", text(asked));
  return reason;
}

void Engine::set_request(JobId job, RequestId request) {
  const auto set = [&](JobId process) {
    if (request_of_.size() <= index(process)) request_of_.resize(index(process) + 1);
    request_of_[index(process)] = request;
    if (host_) host_->asks(process, request);
  };
  set(job);
  if (!of_gang(job)) return;
  const Gang gang = facts_->gang(job);
  for (std::uint32_t rank = 0; rank < gang.size; ++rank) set(gang.member(rank));
}

void Engine::on_finished(JobId job, Instant now, std::vector<Command>& commands) {
  if (running_gangs_.runs(job)) {
    // The leader comes last, as schedulers are told.
    for (const RunningGangs::Process& process : running_gangs_.take(job))
      if (process.job != job) release(process.job, now, commands);
  }
  release(job, now, commands);
  leave_array(job, now, commands);
}

void Engine::release(JobId job, Instant now, std::vector<Command>& commands) {
  forget(job);
  if (host_) host_->leave(job);
  const auto guest = guests_.empty() ? guests_.end() : guests_.find(job);
  if (guest == guests_.end()) return scheduler_->on(Finished{job}, now, commands);
  const GpuId gpu = guest->second.gpu;
  guests_.erase(guest);
  --service_[index(gpu)].guests;
  see_to(gpu, now, commands);
}

void Engine::requeue(JobId job, RequestId request, Instant now, std::vector<Command>& commands) {
  if (host_) host_->leave(job);
  set_request(job, request);
  const auto guest = guests_.empty() ? guests_.end() : guests_.find(job);
  if (guest == guests_.end()) return scheduler_->on(Requeued{job, request}, now, commands);
  const GpuId gpu = guest->second.gpu;
  guests_.erase(guest);
  --service_[index(gpu)].guests;
  enqueue(job, request, now, commands);  // before anybody behind it may start where it was
  see_to(gpu, now, commands);
}

// Jobs that run since before.

void Engine::on_adopted(const Adopted& adopted, Instant now, std::vector<Command>& commands) {
  set_request(adopted.job, adopted.request);
  if (host_) host_->adopt(adopted);
  if (of_gang(adopted.job))
    running_gangs_.started(facts_->gang(adopted.job),
                           {adopted.job, adopted.gpu, adopted.placement});
  arrays_.adopt(of_gang(adopted.job) ? facts_->gang(adopted.job).leader : adopted.job);
  if (servable(adopted.request) && scheduler_->adopt(adopted, now, commands)) return;
  guests_.emplace(adopted.job, adopted);
  ++service_[index(adopted.gpu)].guests;
  see_to(adopted.gpu, now, commands);
}

void Engine::requeue_guests(GpuId gpu, std::optional<PlacementId> placement, Instant now,
                            std::vector<Command>& commands) {
  if (service_[index(gpu)].guests == 0) return;
  std::vector<JobId> homeless;
  for (const auto& [job, guest] : guests_)
    if (guest.gpu == gpu && (!placement || guest.placement == placement)) homeless.push_back(job);
  for (const JobId job : homeless) {
    guests_.erase(job);
    --service_[index(gpu)].guests;
    if (!of_gang(job)) enqueue(job, request_of(job), now, commands);
  }
}

/// Its request stays what it was: where it waits again, it asks for that.
void Engine::resize(JobId lease, std::optional<RequestId> to, Instant now,
                    std::vector<Command>& commands) {
  RequestId request = to.value_or(request_of(lease));
  if (host_ && to) {  // of the host it needs what it asked for
    Request smaller = (*requests_)[*to].request;
    smaller.host = (*requests_)[request_of(lease)].request.host;
    request = requests_->intern(smaller);
  }
  if (guests_.contains(lease) || !servable(request)) return;
  scheduler_->resize(lease, request, now, commands);
}

// GPUs that take work, or do not.

void Engine::see_to(GpuId gpu, Instant now, std::vector<Command>& commands) {
  using Told = Service::Told;
  Service& service = service_[index(gpu)];
  const bool takes_work =
      !service.lost && !paused_ && !service.drained && !service.rests && service.guests == 0;
  if (service.lost) {
    if (std::exchange(service.told, Told::lost) != Told::lost)
      scheduler_->on(GpuLost{gpu}, now, commands);
  } else if (takes_work && service.told != Told::serves) {
    if (std::exchange(service.told, Told::serves) == Told::lost) {
      scheduler_->on(GpuReturned{gpu}, now, commands);
    } else {
      scheduler_->on(GpuRestored{gpu}, now, commands);
    }
  } else if (!takes_work && service.told == Told::serves) {
    service.told = Told::withdrawn;
    scheduler_->on(GpuWithdrawn{gpu}, now, commands);
  }
}

void Engine::see_to_all(Instant now, std::vector<Command>& commands) {
  for (std::size_t i = 0; i < service_.size(); ++i) see_to(static_cast<GpuId>(i), now, commands);
}

void Engine::on_lost(GpuId gpu, Instant now, std::vector<Command>& commands) {
  if (host_) host_->gone(gpu);
  requeue_guests(gpu, std::nullopt, now, commands);
  service_[index(gpu)].lost = true;
  see_to(gpu, now, commands);
  if (running_gangs_.empty()) return;
  disband(
      running_gangs_.on(gpu),
      [&](const RunningGangs::Process& process) { return process.gpu == gpu; }, now, commands);
}

void Engine::on_returned(GpuId gpu, Instant now, std::vector<Command>& commands) {
  // It comes back empty, so what did not fit on it may fit now.
  const std::uint16_t kind = kinds_[index(gpu)];
  room_[kind] = whole_[kind];
  if (host_) room_of_gpu_[index(gpu)] = whole_[kind];
  service_[index(gpu)].lost = false;
  see_to(gpu, now, commands);
}

void Engine::on_gone(const InstanceGone& gone, Instant now, std::vector<Command>& commands) {
  if (host_) host_->gone(Spot{gone.gpu, gone.placement});
  if (gone.placement) requeue_guests(gone.gpu, gone.placement, now, commands);
  if (service_[index(gone.gpu)].told != Service::Told::lost) scheduler_->on(gone, now, commands);
  see_to(gone.gpu, now, commands);
  if (running_gangs_.empty()) return;
  disband(
      running_gangs_.on(gone.gpu, gone.placement),
      [&](const RunningGangs::Process& process) {
        return process.gpu == gone.gpu && process.placement == gone.placement;
      },
      now, commands);
}

void Engine::begin(Instant now, std::vector<Command>& commands) {
  begun_ = true;
  for (std::size_t i = 0; i < service_.size(); ++i) {
    const auto gpu = static_cast<GpuId>(i);
    if (const auto until = refusals_->rests_until(gpu, now)) rest(gpu, *until, now, commands);
  }
}

void Engine::rest(GpuId gpu, Instant until, Instant now, std::vector<Command>& commands) {
  if (!resting_.emplace(until, gpu).second) return;  // it rests already, for the same change
  service_[index(gpu)].rests = true;
  commands.push_back(WakeAt{until});
  see_to(gpu, now, commands);
}

void Engine::on_woken(Instant now, std::vector<Command>& commands) {
  while (!resting_.empty() && resting_.begin()->first <= now) {
    const GpuId gpu = resting_.begin()->second;
    resting_.erase(resting_.begin());
    if (refusals_->rests_until(gpu, now)) continue;  // it refused again since
    service_[index(gpu)].rests = false;
    see_to(gpu, now, commands);
  }
  scheduler_->on(Woken{}, now, commands);
}

// What a job's memory has taught.

void Engine::on_out_of_memory(const OutOfMemory& died, Instant now,
                              std::vector<Command>& commands) {
  forget(died.job);
  if (of_gang(died.job)) return on_gang_out_of_memory(died, now, commands);
  const auto larger = died.had ? raised(died.job, MiB{died.had->value + 1}) : std::nullopt;
  if (!larger) {
    commands.push_back(FailJob{died.job});
    return on_finished(died.job, now, commands);
  }
  requeue(died.job, *larger, now, commands);
}

void Engine::on_report(const MemoryReported& reported, Instant now,
                       std::vector<Command>& commands) {
  if (forecaster_ == nullptr) return;
  const auto peak = forecaster_->report(reported.job, reported.report);
  if (!peak || !reported.capacity || peak->at_least <= *reported.capacity) return;
  warn(reported.job, peak->at_least, commands);
  if (facts_ == nullptr || !facts_->restartable(reported.job)) return;
  // It asks for as much already, and got less beside others: another restart would change nothing.
  const auto& asked = (*requests_)[request_of(reported.job)].request.at_least;
  if (asked && *asked >= peak->to_ask_for) return;
  const auto larger = raised(reported.job, peak->to_ask_for);
  if (!larger) return;
  forget(reported.job);
  commands.push_back(StopJob{reported.job, StopJob::Why::forecast});
  if (of_gang(reported.job)) return restart_gang(reported.job, *larger, now, commands);
  requeue(reported.job, *larger, now, commands);
}

std::optional<RequestId> Engine::raised(JobId job, MiB at_least) {
  Request request = (*requests_)[request_of_[index(job)]].request;
  request.at_least = at_least;
  const RequestId larger = requests_->intern(request);
  if (!servable(larger)) return std::nullopt;
  return larger;
}

void Engine::warn(JobId job, MiB peak, std::vector<Command>& commands) {
  if (most_memory_ && peak > *most_memory_ && warned_.insert(job).second)
    commands.push_back(WarnOfMemory{job, peak});
}

void Engine::forget(JobId job) {
  warned_.erase(job);
  if (forecaster_ != nullptr) forecaster_->forget(job);
}

}  // namespace cleave
