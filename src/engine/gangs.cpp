#include "engine/gangs.hpp"

#include <algorithm>
#include <utility>

namespace cleave {

void RunningGangs::started(const Gang& gang, const Process& process) {
  Running& running = running_[gang.leader];
  running.size = gang.size;
  running.processes.push_back(process);
}

std::vector<RunningGangs::Process> RunningGangs::take(JobId leader) {
  const auto found = running_.find(leader);
  if (found == running_.end()) return {};
  std::vector<Process> processes = std::move(found->second.processes);
  running_.erase(found);
  return processes;
}

template <class There>
std::vector<JobId> RunningGangs::leaders(const There& there) const {
  std::vector<JobId> found;
  for (const auto& [leader, gang] : running_)
    if (there(gang)) found.push_back(leader);
  return found;
}

std::vector<JobId> RunningGangs::on(GpuId gpu) const {
  return leaders([&](const Running& gang) {
    return std::ranges::find(gang.processes, gpu, &Process::gpu) != gang.processes.end();
  });
}

std::vector<JobId> RunningGangs::on(GpuId gpu, std::optional<PlacementId> placement) const {
  return leaders([&](const Running& gang) {
    return std::ranges::any_of(gang.processes, [&](const Process& process) {
      return process.gpu == gpu && process.placement == placement;
    });
  });
}

std::vector<JobId> RunningGangs::incomplete() const {
  return leaders([](const Running& gang) { return gang.processes.size() < gang.size; });
}

}  // namespace cleave
