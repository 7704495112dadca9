#include "engine/full_gpu.hpp"

#include <deque>
#include <set>

namespace cleave {

namespace {

class FullGpu final : public Scheduler {
 public:
  FullGpu(const Fleet& fleet, const RequestTable& requests)
      : requests_(&requests), free_(fleet.graphs().size()) {
    for (std::size_t i = 0; i < fleet.size(); ++i) {
      const GpuState& gpu = fleet[static_cast<GpuId>(i)];
      kinds_.push_back(gpu.kind);
      idle_.push_back(gpu.idle);
      if ((gpu.held | gpu.walls).empty() && !gpu.absent) free_[gpu.kind].insert(static_cast<GpuId>(i));
    }
  }

  void on(const Event& event, Instant /*now*/, std::vector<Command>& commands) override {
    if (const auto* submitted = std::get_if<Submitted>(&event)) {
      if (!(*requests_)[submitted->request].impossible.empty()) {
        commands.push_back(RejectJob{submitted->job});
      } else if (!queue_.empty() || !start(*submitted, commands)) {
        queue_.push_back(*submitted);
      }
      return;
    }
    const GpuId gpu = gpus_[index(std::get<Finished>(event).job)];
    free_[kinds_[index(gpu)]].insert(gpu);
    while (!queue_.empty() && start(queue_.front(), commands)) queue_.pop_front();
  }

 private:
  bool start(const Submitted& job, std::vector<Command>& commands) {
    const ResolvedRequest& request = (*requests_)[job.request];
    std::set<GpuId>* from = nullptr;
    for (std::size_t kind = 0; kind < free_.size(); ++kind) {
      if (request.candidates[kind].empty() || free_[kind].empty()) continue;
      if (from == nullptr || *free_[kind].begin() < *from->begin()) from = &free_[kind];
    }
    if (from == nullptr) return false;
    const GpuId gpu = *from->begin();
    from->erase(from->begin());
    if (gpus_.size() <= index(job.job)) gpus_.resize(index(job.job) + 1);
    gpus_[index(job.job)] = gpu;
    for (const PlacementId idle : idle_[index(gpu)]) commands.push_back(DestroyInstance{gpu, idle});
    idle_[index(gpu)] = {};
    commands.push_back(StartOnWholeGpu{job.job, gpu});
    return true;
  }

  const RequestTable* requests_;
  std::vector<std::uint16_t> kinds_;   // by GPU
  std::vector<PlacementSet> idle_;     // by GPU; what is left of the fleet's own
  std::vector<std::set<GpuId>> free_;  // by kind
  std::deque<Submitted> queue_;
  std::vector<GpuId> gpus_;  // by job
};

}  // namespace

Result<std::unique_ptr<Scheduler>> make_full_gpu(const SchedulerSetup& setup, const OptionTexts&) {
  return std::make_unique<FullGpu>(setup.fleet, setup.requests);
}

}  // namespace cleave
