#include "engine/online.hpp"

#include <optional>

#include "engine/seats.hpp"
#include "placement/index.hpp"
#include "placement/policy.hpp"

namespace cleave {

namespace {

constexpr OptionRow rows[] = {
    {"policy", "NAME", default_policy, "which GPU and which start; `cleave policies` lists them"},
    {"threshold", "NUMBER", "", "policy fragmentation: a GPU is lazy while its load is below this; 0.4"},
    {"load", "NAME", "", "policy fragmentation: what load is measured in; compute"},
    {"across", "NAME", "", "policies fragmentation and reachability: what is compared across GPUs"},
};

class Online final : public Scheduler {
 public:
  Online(const SchedulerSetup& setup, ChosenPolicy policy)
      : seats_(setup.fleet), requests_(&setup.requests), policy_(policy) {
    if (setup.use_index) index_.emplace(seats_.fleet(), *requests_, policy_);
  }

  void on(const SchedulerEvent& event, Instant /*now*/, std::vector<Command>& commands) override {
    if (const auto* submitted = std::get_if<Submitted>(&event)) {
      const Waiting job{submitted->job, submitted->request};
      if (!line_.empty() || !start(job, commands)) line_.insert(job);
      return;
    }
    if (const auto* finished = std::get_if<Finished>(&event)) {
      changed(seats_.leave(finished->job).gpu);
    } else if (const auto* requeued = std::get_if<Requeued>(&event)) {
      changed(seats_.leave(requeued->job).gpu);
      line_.insert({requeued->job, requeued->request});
    } else if (const auto* lost = std::get_if<GpuLost>(&event)) {
      for (const Waiting job : seats_.lose(lost->gpu)) line_.insert(job);
      changed(lost->gpu);
    } else if (const auto* returned = std::get_if<GpuReturned>(&event)) {
      seats_.recover(returned->gpu);
      changed(returned->gpu);
    }
    while (!line_.empty() && start(line_.front(), commands)) line_.pop_front();
  }

 private:
  void changed(GpuId gpu) {
    if (index_) index_->changed(gpu);
  }

  bool start(Waiting job, std::vector<Command>& commands) {
    const auto decision = index_ ? index_->decide(job.request)
                                 : decide_by_scan(seats_.fleet(), (*requests_)[job.request], policy_);
    if (!decision) return false;
    seats_.start(job, decision->gpu, decision->placement, commands);
    changed(decision->gpu);
    return true;
  }

  Seats seats_;
  const RequestTable* requests_;
  ChosenPolicy policy_;
  std::optional<PlacementIndex> index_;
  WaitingLine line_;
};

}  // namespace

std::span<const OptionRow> online_options() {
  return rows;
}

Result<std::unique_ptr<Scheduler>> make_online(const SchedulerSetup& setup, const OptionTexts& options) {
  // What is left empty is the policy's own default; what is given must be an option of that policy.
  OptionTexts for_policy;
  for (const auto& [name, value] : options)
    if (name != "policy" && !value.empty()) for_policy.emplace(name, value);
  const auto policy = choose_policy(options.at("policy"), for_policy);
  if (!policy) return std::unexpected(policy.error());
  return std::make_unique<Online>(setup, *policy);
}

}  // namespace cleave
