#include "engine/full_gpu.hpp"

#include <set>

#include "engine/waiting_line.hpp"

namespace cleave {

namespace {

class FullGpu final : public Scheduler {
 public:
  FullGpu(const Fleet& fleet, const RequestTable& requests)
      : requests_(&requests),
        free_(fleet.graphs().size()),
        usable_(fleet.graphs().size()),
        gpus_(fleet.size()) {
    for (std::size_t i = 0; i < fleet.size(); ++i) {
      const GpuState& state = fleet[static_cast<GpuId>(i)];
      gpus_[i] = {state.kind, state.idle, {}, false};
      if (!(state.held | state.walls).empty()) continue;
      usable_[state.kind] = true;
      if (!state.absent) free_[state.kind].insert(static_cast<GpuId>(i));
    }
  }

  void on(const SchedulerEvent& event, Instant /*now*/, std::vector<Command>& commands) override {
    if (const auto* submitted = std::get_if<Submitted>(&event)) {
      const Waiting job{submitted->job, submitted->request};
      if (!line_.empty() || !start(job, commands)) line_.insert(job);
      return;
    }
    if (const auto* finished = std::get_if<Finished>(&event)) {
      leave(finished->job);
    } else if (const auto* requeued = std::get_if<Requeued>(&event)) {
      leave(requeued->job);
      line_.insert({requeued->job, requeued->request});
    } else if (const auto* lost = std::get_if<GpuLost>(&event)) {
      lose(lost->gpu);
    } else if (const auto* returned = std::get_if<GpuReturned>(&event)) {
      free_[gpus_[index(returned->gpu)].kind].insert(returned->gpu);
      usable_[gpus_[index(returned->gpu)].kind] = true;
    }
    while (!line_.empty() && start(line_.front(), commands)) line_.pop_front();
  }

  bool serves(RequestId request) override {
    const auto& candidates = (*requests_)[request].candidates;
    for (std::size_t kind = 0; kind < candidates.size(); ++kind)
      if (usable_[kind] && !candidates[kind].empty()) return true;
    return false;
  }
  std::string_view why_not(RequestId /*request*/) override {
    return "no GPU for it is free of what is not ours and of the fleet's own work";
  }

 private:
  struct Gpu {
    std::uint16_t kind = 0;
    PlacementSet idle;  // what is left of the fleet's own
    Waiting job{};
    bool busy = false;
  };

  bool start(Waiting job, std::vector<Command>& commands) {
    const ResolvedRequest& request = (*requests_)[job.request];
    std::set<GpuId>* from = nullptr;
    for (std::size_t kind = 0; kind < free_.size(); ++kind) {
      if (request.candidates[kind].empty() || free_[kind].empty()) continue;
      if (from == nullptr || *free_[kind].begin() < *from->begin()) from = &free_[kind];
    }
    if (from == nullptr) return false;
    const GpuId id = *from->begin();
    from->erase(from->begin());
    if (gpu_of_.size() <= index(job.job)) gpu_of_.resize(index(job.job) + 1);
    gpu_of_[index(job.job)] = id;
    Gpu& gpu = gpus_[index(id)];
    gpu.job = job;
    gpu.busy = true;
    for (const PlacementId idle : gpu.idle) commands.push_back(DestroyInstance{id, idle});
    gpu.idle = {};
    commands.push_back(StartOnWholeGpu{job.job, id});
    return true;
  }

  void leave(JobId job) {
    const GpuId id = gpu_of_[index(job)];
    gpus_[index(id)].busy = false;
    free_[gpus_[index(id)].kind].insert(id);
  }

  void lose(GpuId id) {
    Gpu& gpu = gpus_[index(id)];
    free_[gpu.kind].erase(id);
    if (gpu.busy) line_.insert(gpu.job);
    gpu.busy = false;
    gpu.idle = {};
  }

  const RequestTable* requests_;
  std::vector<std::set<GpuId>> free_;  // by kind
  std::vector<bool> usable_;           // by kind: some GPU is free, or will be
  std::vector<Gpu> gpus_;
  std::vector<GpuId> gpu_of_;  // by job
  WaitingLine line_;
};

}  // namespace

Result<std::unique_ptr<Scheduler>> make_full_gpu(const SchedulerSetup& setup, const OptionTexts&) {
  return std::make_unique<FullGpu>(setup.fleet, setup.requests);
}

}  // namespace cleave
