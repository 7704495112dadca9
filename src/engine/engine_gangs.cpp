// The part of Engine that keeps the processes of gangs together.

#include "engine/engine.hpp"

namespace cleave {

void Engine::note_starts(std::span<const Command> commands) {
  const auto note = [&](JobId job, GpuId gpu, std::optional<PlacementId> placement) {
    if (of_gang(job)) running_gangs_.started(facts_->gang(job), {job, gpu, placement});
  };
  for (const Command& command : commands) {
    if (const auto* start = std::get_if<StartJob>(&command))
      note(start->job, start->gpu, start->placement);
    if (const auto* start = std::get_if<StartOnWholeGpu>(&command))
      note(start->job, start->gpu, std::nullopt);
  }
}

void Engine::stop_gang(JobId leader, const IsGone& gone, std::optional<JobId> ended, Instant now,
                       std::vector<Command>& commands) {
  for (const RunningGangs::Process& process : running_gangs_.take(leader)) {
    if (gone(process)) {
      forget(process.job);
      continue;
    }
    if (process.job != ended) commands.push_back(StopJob{process.job, StopJob::Why::gang});
    release(process.job, now, commands);
  }
}

void Engine::disband(const std::vector<JobId>& leaders, const IsGone& gone, Instant now,
                     std::vector<Command>& commands) {
  for (const JobId leader : leaders) {
    stop_gang(leader, gone, std::nullopt, now, commands);
    enqueue(leader, request_of(leader), now, commands);
  }
}

void Engine::restart_gang(JobId process, RequestId request, Instant now,
                          std::vector<Command>& commands) {
  const JobId leader = facts_->gang(process).leader;
  stop_gang(
      leader, [](const RunningGangs::Process&) { return false; }, process, now, commands);
  enqueue(leader, request, now, commands);
}

void Engine::on_gang_out_of_memory(const OutOfMemory& died, Instant now,
                                   std::vector<Command>& commands) {
  const auto larger = died.had ? raised(died.job, MiB{died.had->value + 1}) : std::nullopt;
  if (larger) return restart_gang(died.job, *larger, now, commands);
  const JobId leader = facts_->gang(died.job).leader;
  stop_gang(
      leader, [](const RunningGangs::Process&) { return false; }, died.job, now, commands);
  commands.push_back(FailJob{leader});
  leave_array(leader, now, commands);
}

void Engine::stop_incomplete(Instant now, std::vector<Command>& commands) {
  settled_ = true;
  disband(
      running_gangs_.incomplete(), [](const RunningGangs::Process&) { return false; }, now,
      commands);
}

}  // namespace cleave
