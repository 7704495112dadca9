#include "engine/schedulers/full_gpu.hpp"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/overloads.hpp"
#include "engine/queue/served_queue.hpp"

namespace cleave {

namespace {

class FullGpu final : public Scheduler, private QueueHost {
 public:
  FullGpu(const SchedulerSetup& setup, QueueRules rules)
      : requests_(&setup.requests),
        free_(setup.fleet.graphs().size()),
        usable_(setup.fleet.graphs().size()),
        gpus_(setup.fleet.size()),
        queue_(setup, std::move(rules)) {
    const Fleet& fleet = setup.fleet;
    for (std::size_t i = 0; i < fleet.size(); ++i) {
      const GpuState& state = fleet[static_cast<GpuId>(i)];
      gpus_[i] = {
          state.kind, state.idle, {}, 0, false, state.absent, !(state.held | state.walls).empty()};
      if (gpus_[i].blocked) continue;
      usable_[state.kind] = true;
      if (!state.absent) free_[state.kind].insert(static_cast<GpuId>(i));
    }
  }

  void on(const SchedulerEvent& event, Instant now, std::vector<Command>& commands) override {
    now_ = now;
    std::visit(Overloads{[&](const Submitted& job) {
                           queue_.insert({job.job, job.request}, now);
                         },
                         [&](const Finished& job) {
                           leave(job.job);
                           queue_.left(job.job, now);
                         },
                         [&](const Requeued& job) {
                           leave(job.job);
                           queue_.insert({job.job, job.request}, now);
                         },
                         [&](const Cancelled& job) { queue_.erase(job.job); },
                         [&](const GpuLost& lost) { lose(lost.gpu); },
                         [&](const GpuReturned& returned) {
                           gpus_[index(returned.gpu)].blocked = false;
                           usable_[gpus_[index(returned.gpu)].kind] = true;
                           set_away(returned.gpu, false);
                         },
                         [&](const InstanceGone& gone) { lose_instance(gone); },
                         [&](const GpuWithdrawn& withdrawn) { set_away(withdrawn.gpu, true); },
                         [&](const GpuRestored& restored) { set_away(restored.gpu, false); },
                         [](const Woken&) {}},
               event);
    if (queue_.plain()) queue_.serve(*this, now, commands);
  }

  /// Whose turn it is shows when all that happens at one instant is known.
  void settle(Instant now, std::vector<Command>& commands) override {
    if (!queue_.plain()) queue_.serve(*this, now, commands);
  }

  bool adopt(const Adopted& adopted, Instant now, std::vector<Command>& /*commands*/) override {
    Gpu& gpu = gpus_[index(adopted.gpu)];
    const Waiting job{adopted.job, adopted.request};
    set_gpu_of(adopted.job, adopted.gpu);
    if (adopted.placement) {
      tenants_[adopted.job] = {job, *adopted.placement};
      ++gpu.tenants;
    } else {
      gpu.job = job;
      gpu.busy = true;
    }
    free_[gpu.kind].erase(adopted.gpu);
    queue_.runs(job, {adopted.gpu, adopted.placement}, now);
    return true;
  }

  Outlook outlook(JobId job) const override { return queue_.outlook(job); }
  bool serves(RequestId request) override {
    const auto& candidates = (*requests_)[request].candidates;
    for (std::size_t kind = 0; kind < candidates.size(); ++kind)
      if (usable_[kind] && !candidates[kind].empty()) return true;
    return false;
  }
  bool seats_all(RequestId request) override { return queue_.could_seat(*this, request); }
  bool exceeds_limits(RequestId request) override { return queue_.exceeds_limits(*this, request); }
  std::string_view why_not(RequestId /*request*/) override {
    return "no GPU that it fits is free of foreign instances and the fleet's own work";
  }

 private:
  struct Gpu {
    std::uint16_t kind = 0;
    PlacementSet idle;  // what is left of the fleet's own
    Waiting job{};
    std::uint32_t tenants = 0;  // adopted jobs on instances of it
    bool busy = false;
    bool away = false;     // lost, or withdrawn
    bool blocked = false;  // by others, or by the fleet's own work
  };
  struct Tenant {
    Waiting job{};
    PlacementId placement = 0;
  };

  // As the queue's host.

  std::optional<Spot> find(Waiting job) override {
    const ResolvedRequest& request = (*requests_)[job.request];
    const std::set<GpuId>* from = nullptr;
    for (std::size_t kind = 0; kind < free_.size(); ++kind) {
      if (request.candidates[kind].empty() || free_[kind].empty()) continue;
      if (from == nullptr || *free_[kind].begin() < *from->begin()) from = &free_[kind];
    }
    if (from == nullptr) return std::nullopt;
    return Spot{*from->begin(), std::nullopt};
  }

  std::optional<Spot> find_on(Waiting /*job*/, GpuId gpu, const Room& among) override {
    if (!among.whole || !is_free(gpus_[index(gpu)])) return std::nullopt;
    return Spot{gpu, std::nullopt};
  }

  void start(Waiting job, Spot spot, std::vector<Command>& commands) override {
    Gpu& gpu = gpus_[index(spot.gpu)];
    std::set<GpuId>& free = free_[gpu.kind];
    if (!free.empty() && *free.begin() == spot.gpu)
      free.erase(free.begin());
    else
      free.erase(spot.gpu);
    set_gpu_of(job.job, spot.gpu);
    gpu.job = job;
    gpu.busy = true;
    for (const PlacementId idle : gpu.idle) commands.push_back(DestroyInstance{spot.gpu, idle});
    gpu.idle = {};
    commands.push_back(StartOnWholeGpu{job.job, spot.gpu});
  }

  Waiting vacate(JobId job) override {
    const Gpu& gpu = gpus_[index(gpu_of_[index(job)])];
    const auto tenant = tenants_.find(job);
    const Waiting left = tenant == tenants_.end() ? gpu.job : tenant->second.job;
    leave(job);
    return left;
  }

  Room room(GpuId id, RequestId request) override {
    const Gpu& gpu = gpus_[index(id)];
    return {!gpu.blocked && !(*requests_)[request].candidates[gpu.kind].empty(), {}, {}};
  }

  bool takes_work(GpuId id) const override { return !gpus_[index(id)].away; }

  void set_aside(GpuId id, bool aside) override {
    if (aside) {
      free_[gpus_[index(id)].kind].erase(id);
    } else {
      free_if_empty(id);
    }
  }

  // The GPUs.

  void set_gpu_of(JobId job, GpuId gpu) {
    if (gpu_of_.size() <= index(job)) gpu_of_.resize(index(job) + 1);
    gpu_of_[index(job)] = gpu;
  }

  static bool is_free(const Gpu& gpu) {
    return !gpu.busy && gpu.tenants == 0 && !gpu.away && !gpu.blocked;
  }
  void free_if_empty(GpuId id) {
    if (is_free(gpus_[index(id)])) free_[gpus_[index(id)].kind].insert(id);
  }

  void set_away(GpuId id, bool away) {
    gpus_[index(id)].away = away;
    queue_.room_changed(id);
    if (away) {
      free_[gpus_[index(id)].kind].erase(id);
    } else {
      free_if_empty(id);
    }
  }

  void leave(JobId job) {
    const GpuId id = gpu_of_[index(job)];
    if (!tenants_.empty() && tenants_.erase(job) > 0) {
      --gpus_[index(id)].tenants;
    } else {
      gpus_[index(id)].busy = false;
    }
    free_if_empty(id);
  }

  /// Those on this instance of the GPU, or on all, wait again.
  void evict_tenants(GpuId id, std::optional<PlacementId> placement) {
    for (auto tenant = tenants_.begin();
         gpus_[index(id)].tenants > 0 && tenant != tenants_.end();) {
      const auto& [job, at] = tenant->second;
      if (gpu_of_[index(job.job)] != id || (placement && at != *placement)) {
        ++tenant;
        continue;
      }
      queue_.insert(job, now_);
      --gpus_[index(id)].tenants;
      tenant = tenants_.erase(tenant);
    }
  }

  void lose_instance(const InstanceGone& gone) {
    Gpu& gpu = gpus_[index(gone.gpu)];
    if (gone.placement) {
      gpu.idle.erase(*gone.placement);
      evict_tenants(gone.gpu, gone.placement);
    } else if (std::exchange(gpu.busy, false)) {
      queue_.insert(gpu.job, now_);
    }
    free_if_empty(gone.gpu);
  }

  void lose(GpuId id) {
    Gpu& gpu = gpus_[index(id)];
    if (gpu.busy) queue_.insert(gpu.job, now_);
    evict_tenants(id, std::nullopt);
    gpu.busy = false;
    gpu.idle = {};
    set_away(id, true);
  }

  const RequestTable* requests_;
  std::vector<std::set<GpuId>> free_;  // by kind
  std::vector<bool> usable_;           // by kind: some GPU is free, or will be
  std::vector<Gpu> gpus_;
  std::vector<GpuId> gpu_of_;        // by job
  std::map<JobId, Tenant> tenants_;  // adopted
  ServedQueue queue_;
  Instant now_{};
};

}  // namespace

Result<std::unique_ptr<Scheduler>> make_full_gpu(const SchedulerSetup& setup,
                                                 const OptionTexts& options) {
  auto rules = queue_rules(options, setup.reservations, setup.user_limits);
  if (!rules) return std::unexpected(rules.error());
  return std::make_unique<FullGpu>(setup, std::move(*rules));
}

}  // namespace cleave
