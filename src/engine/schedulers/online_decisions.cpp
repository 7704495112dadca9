#include "engine/schedulers/online_decisions.hpp"

#include <utility>

namespace cleave {

Ratio average_load(const Fleet& fleet, LoadMetric metric) {
  std::int64_t held = 0, all = 0;
  for (const GpuState& gpu : fleet.gpus()) {
    if (gpu.absent) continue;
    held += held_slices(gpu, metric);
    all += total_slices(fleet.geometry(gpu).model(), metric);
  }
  return all == 0 ? Ratio() : Ratio(held, all);
}

OnlineDecisions::OnlineDecisions(const Fleet& fleet, const RequestTable& requests,
                                 const OnlineOptions& options, HeldJobs jobs)
    : fleet_(&fleet), requests_(&requests), options_(options), jobs_(std::move(jobs)) {
  if (!options_.use_index) return;
  if (!options_.automatic) {
    only_ = make_level(options_.moves.threshold);
    current_ = only_.get();
    return;
  }
  least_busy_.resize(fleet.graphs().size());
  for (std::size_t i = 0; i < fleet.size(); ++i) {
    const GpuState& gpu = fleet[static_cast<GpuId>(i)];
    counted_.push_back(fleet.number(static_cast<GpuId>(i)));
    held_ += held_slices(gpu, options_.moves.load);
    all_ += total_slices(fleet.geometry(gpu).model(), options_.moves.load);
  }
}

OnlineOptions OnlineDecisions::now() const {
  OnlineOptions options = options_;
  if (options.automatic)
    options.policy.options.threshold = options.moves.threshold =
        average_load(*fleet_, options.moves.load);
  return options;
}

std::unique_ptr<OnlineDecisions::Level> OnlineDecisions::make_level(Ratio threshold) const {
  ChosenPolicy policy = options_.policy;
  RebalanceOptions options = options_.moves;
  if (options_.automatic) policy.options.threshold = options.threshold = threshold;
  auto level = std::make_unique<Level>(PlacementIndex(*fleet_, *requests_, policy), std::nullopt,
                                       log_.size());
  if (moves()) level->rebalancer.emplace(*fleet_, options, jobs_);
  return level;
}

void OnlineDecisions::changed(GpuId gpu) {
  if (current_ != nullptr) current_->changed(gpu);
  if (counted_.empty()) return;
  const auto count = [&](StateNumber number, int sign) {
    const GpuState& state = fleet_->states()[number];
    if (state.absent) return;
    held_ += sign * held_slices(state, options_.moves.load);
    all_ += sign * total_slices(fleet_->geometry(state).model(), options_.moves.load);
  };
  const std::int64_t held = held_, all = all_;
  count(std::exchange(counted_[index(gpu)], fleet_->number(gpu)), -1);
  count(counted_[index(gpu)], 1);
  average_changed_ = average_changed_ || held_ != held || all_ != all;
  log_.push_back(gpu);
  if (current_ != nullptr) current_->told = log_.size();
  // Each change is told once to each level, sooner or later.
  if (log_.size() < 4 * counted_.size() + 1024) return;
  for (auto& [loads, level] : levels_) catch_up(*level);
  for (auto& [loads, level] : levels_) level->told = 0;
  log_.clear();
}

void OnlineDecisions::catch_up(Level& level) {
  for (; level.told < log_.size(); ++level.told) level.changed(log_[level.told]);
}

OnlineDecisions::Level& OnlineDecisions::level() {
  if (average_changed_ && options_.automatic) find_level();
  return *current_;
}

void OnlineDecisions::find_level() {
  average_changed_ = false;
  bool same = current_ != nullptr;
  for (std::size_t kind = 0; kind < least_busy_.size(); ++kind) {
    const std::int64_t slices =
        total_slices(fleet_->graphs()[kind]->geometry().model(), options_.moves.load);
    const std::int64_t least = all_ == 0 ? 0 : (held_ * slices + all_ - 1) / all_;
    same = same && least_busy_[kind] == least;
    least_busy_[kind] = least;
  }
  if (same) return;
  std::unique_ptr<Level>& level = levels_[least_busy_];
  if (!level) level = make_level(all_ == 0 ? Ratio() : Ratio(held_, all_));
  catch_up(*level);
  current_ = level.get();
}

std::optional<Decision> OnlineDecisions::place(RequestId request) {
  if (options_.use_index) return level().index.decide(request);
  return decide_by_scan(*fleet_, (*requests_)[request], now().policy);
}

RebalanceKind OnlineDecisions::kind(GpuId target) {
  if (options_.use_index) return level().rebalancer->kind(target);
  return rebalance_kind(*fleet_, target, now().moves);
}

std::optional<JobMove> OnlineDecisions::next_move(GpuId target, RebalanceKind kind) {
  if (options_.use_index) return level().rebalancer->next(target, kind);
  return cleave::next_move(*fleet_, target, kind, now().moves, jobs_);
}

}  // namespace cleave
