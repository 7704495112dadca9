#include "engine/online.hpp"

#include <deque>
#include <optional>

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
      : fleet_(setup.fleet), requests_(&setup.requests), policy_(policy) {
    if (setup.use_index) index_.emplace(fleet_, *requests_, policy_);
  }

  void on(const Event& event, Instant /*now*/, std::vector<Command>& commands) override {
    if (const auto* submitted = std::get_if<Submitted>(&event)) return arrive(*submitted, commands);
    depart(std::get<Finished>(event).job, commands);
  }

 private:
  struct Place {
    GpuId gpu{};
    PlacementId placement = 0;
  };

  void arrive(const Submitted& job, std::vector<Command>& commands) {
    if (!(*requests_)[job.request].impossible.empty()) {
      commands.push_back(RejectJob{job.job});
    } else if (!queue_.empty() || !start(job, commands)) {
      queue_.push_back(job);
    }
  }

  void depart(JobId job, std::vector<Command>& commands) {
    const Place& place = places_[index(job)];
    fleet_.release(place.gpu, place.placement);
    if (index_) index_->changed(place.gpu);
    while (!queue_.empty() && start(queue_.front(), commands)) queue_.pop_front();
  }

  bool start(const Submitted& job, std::vector<Command>& commands) {
    const auto decision =
        index_ ? index_->decide(job.request) : decide_by_scan(fleet_, (*requests_)[job.request], policy_);
    if (!decision) return false;
    for (const PlacementId idle : decision->destroys)
      commands.push_back(DestroyInstance{decision->gpu, idle});
    if (!decision->reuse) commands.push_back(CreateInstance{decision->gpu, decision->placement});
    commands.push_back(StartJob{job.job, decision->gpu, decision->placement});
    fleet_.hold(decision->gpu, decision->placement);
    if (index_) index_->changed(decision->gpu);
    if (places_.size() <= index(job.job)) places_.resize(index(job.job) + 1);
    places_[index(job.job)] = {decision->gpu, decision->placement};
    return true;
  }

  Fleet fleet_;
  const RequestTable* requests_;
  ChosenPolicy policy_;
  std::optional<PlacementIndex> index_;
  std::deque<Submitted> queue_;
  std::vector<Place> places_;  // by job; meaningful while the job runs
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
