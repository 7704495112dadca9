#include "engine/engine.hpp"

namespace cleave {

Result<Engine> Engine::make(const SchedulerSpec& spec, const SchedulerSetup& setup, RequestTable& requests,
                            Forecaster* forecaster) {
  auto scheduler = make_scheduler(spec, setup);
  if (!scheduler) return std::unexpected(scheduler.error());
  return Engine(std::move(*scheduler), requests, setup.facts, forecaster);
}

void Engine::on(const Event& event, Instant now, std::vector<Command>& commands) {
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
  if (!peak || !reported.capacity || *peak <= *reported.capacity) return;
  if (facts_ == nullptr || !facts_->restartable(reported.job)) return;
  const auto larger = raised(reported.job, *peak);
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
  if (!(*requests_)[larger].impossible.empty() || !scheduler_->serves(larger)) return std::nullopt;
  return larger;
}

void Engine::forget(JobId job) {
  if (forecaster_ != nullptr) forecaster_->forget(job);
}

}  // namespace cleave
