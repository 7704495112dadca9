#include "engine/engine.hpp"

namespace cleave {

namespace {

constexpr std::string_view no_room =
    "no GPU has room for it beside what is not ours and the fleet's own work";

}  // namespace

Result<Engine> Engine::make(const SchedulerSpec& spec, const SchedulerSetup& setup, RequestTable& requests,
                            Forecaster* forecaster) {
  auto scheduler = make_scheduler(spec, setup);
  if (!scheduler) return std::unexpected(scheduler.error());
  return Engine(std::move(*scheduler), setup, requests, forecaster);
}

Engine::Engine(std::unique_ptr<Scheduler> scheduler, const SchedulerSetup& setup, RequestTable& requests,
               Forecaster* forecaster)
    : scheduler_(std::move(scheduler)),
      requests_(&requests),
      facts_(setup.facts),
      forecaster_(forecaster),
      room_(setup.fleet.graphs().size()) {
  for (const GpuState& gpu : setup.fleet.gpus()) {
    kinds_.push_back(gpu.kind);
    room_[gpu.kind] = room_[gpu.kind] | setup.fleet.graph(gpu).free(gpu.occupied);
  }
  whole_.reserve(room_.size());
  for (const auto& graph : setup.fleet.graphs()) whole_.push_back(graph->geometry().all());
}

bool Engine::servable(RequestId request) const {
  const ResolvedRequest& resolved = (*requests_)[request];
  for (std::size_t kind = 0; kind < room_.size(); ++kind)
    if (resolved.holds[kind].meets(room_[kind])) return scheduler_->serves(request);
  return false;
}

void Engine::forget_restarted(std::span<const Command> commands) {
  for (const Command& command : commands) {
    if (const auto* saved = std::get_if<CheckpointJob>(&command)) saved_.insert(saved->job);
    if (const auto* stopped = std::get_if<StopJob>(&command)) forget(stopped->job);
    const auto starts = [&](const auto* start) {
      if (start != nullptr && saved_.erase(start->job) == 0) forget(start->job);
    };
    starts(std::get_if<StartJob>(&command));
    starts(std::get_if<StartShared>(&command));
    starts(std::get_if<StartOnWholeGpu>(&command));
  }
}

void Engine::on(const Event& event, Instant now, std::vector<Command>& commands) {
  const std::size_t before = commands.size();
  tell(event, now, commands);
  if (forecaster_ != nullptr) forget_restarted(std::span(commands).subspan(before));
}

void Engine::tell(const Event& event, Instant now, std::vector<Command>& commands) {
  if (const auto* submitted = std::get_if<Submitted>(&event)) {
    on_submitted(*submitted, now, commands);
  } else if (const auto* finished = std::get_if<Finished>(&event)) {
    forget(finished->job);
    scheduler_->on(*finished, now, commands);
  } else if (const auto* died = std::get_if<OutOfMemory>(&event)) {
    on_out_of_memory(*died, now, commands);
  } else if (const auto* reported = std::get_if<MemoryReported>(&event)) {
    on_report(*reported, now, commands);
  } else if (const auto* lost = std::get_if<GpuLost>(&event)) {
    scheduler_->on(*lost, now, commands);
  } else if (const auto* returned = std::get_if<GpuReturned>(&event)) {
    // It comes back empty, so what did not fit on it may fit now.
    const std::uint16_t kind = kinds_[index(returned->gpu)];
    room_[kind] = whole_[kind];
    scheduler_->on(*returned, now, commands);
  } else {
    scheduler_->on(Woken{}, now, commands);
  }
}

void Engine::on_submitted(const Submitted& submitted, Instant now, std::vector<Command>& commands) {
  const std::string& impossible = (*requests_)[submitted.request].impossible;
  if (!impossible.empty()) {
    commands.push_back(RejectJob{submitted.job, impossible});
    return;
  }
  if (!servable(submitted.request)) {
    const std::string_view own =
        scheduler_->serves(submitted.request) ? std::string_view() : scheduler_->why_not(submitted.request);
    commands.push_back(RejectJob{submitted.job, own.empty() ? no_room : own});
    return;
  }
  if (request_of_.size() <= index(submitted.job)) request_of_.resize(index(submitted.job) + 1);
  request_of_[index(submitted.job)] = submitted.request;
  scheduler_->on(submitted, now, commands);
}

void Engine::on_out_of_memory(const OutOfMemory& died, Instant now, std::vector<Command>& commands) {
  forget(died.job);
  const auto larger = died.had ? raised(died.job, MiB{died.had->value + 1}) : std::nullopt;
  if (!larger) {
    commands.push_back(FailJob{died.job});
    scheduler_->on(Finished{died.job}, now, commands);
    return;
  }
  request_of_[index(died.job)] = *larger;
  scheduler_->on(Requeued{died.job, *larger}, now, commands);
}

void Engine::on_report(const MemoryReported& reported, Instant now, std::vector<Command>& commands) {
  if (forecaster_ == nullptr) return;
  const auto peak = forecaster_->report(reported.job, reported.report);
  if (!peak || !reported.capacity || peak->at_least <= *reported.capacity) return;
  if (facts_ == nullptr || !facts_->restartable(reported.job)) return;
  const auto larger = raised(reported.job, peak->to_ask_for);
  if (!larger) return;
  forget(reported.job);
  request_of_[index(reported.job)] = *larger;
  commands.push_back(StopJob{reported.job, StopJob::Why::forecast});
  scheduler_->on(Requeued{reported.job, *larger}, now, commands);
}

std::optional<RequestId> Engine::raised(JobId job, MiB at_least) {
  Request request = (*requests_)[request_of_[index(job)]].request;
  request.at_least = at_least;
  const RequestId larger = requests_->intern(request);
  if (!servable(larger)) return std::nullopt;
  return larger;
}

void Engine::forget(JobId job) {
  if (forecaster_ != nullptr) forecaster_->forget(job);
}

}  // namespace cleave
