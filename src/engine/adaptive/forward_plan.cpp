#include "engine/adaptive/forward_plan.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "engine/adaptive/room_left.hpp"

namespace cleave {

namespace {

/// Of a second of a slice, for each job behind: these are served one after the other.
constexpr double price_for_one = 0.5;
/// Where nothing is behind: of places that are as good the smallest.
constexpr double least_price = 1e-6;
constexpr double unbounded_s = std::numeric_limits<double>::infinity();

/// A list of jobs, and the profile that each may have.
struct Draft {
  std::vector<std::size_t> order;
  std::vector<int> profile;  // by job; below 0: any
};

/// Serves lists.
class ForwardServer {
 public:
  ForwardServer(std::span<const ForwardGpu> gpus, std::span<const ForwardJob> jobs,
                const ForwardSetting& setting)
      : gpus_(gpus), jobs_(jobs), setting_(setting), taken_(gpus.size()) {}

  [[nodiscard]] ForwardPlan serve(const Draft& draft) {
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      taken_[i].clear();
      for (const auto& [place, until] : gpus_[i].busy) taken_[i].push_back({place, 0, until});
    }
    ForwardPlan plan(jobs_.size());
    auto after = static_cast<double>(draft.order.size());
    for (const std::size_t job : draft.order) {
      after -= 1;
      const double price =
          least_price + price_for_one * (after + setting_.behind) / setting_.fleet_slices;
      plan[job] = start(jobs_[job], draft.profile[job], price);
      if (const auto& it = plan[job]) taken_[it->gpu].push_back({it->place, it->at_s, it->end_s});
    }
    return plan;
  }

 private:
  struct Taken {
    PlacementId place;
    double from_s, until_s;
  };

  [[nodiscard]] std::optional<ForwardStart> start(const ForwardJob& job, int only,
                                                  double price) const {
    std::optional<ForwardStart> best;
    double least = unbounded_s;
    for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
      const Geometry& rules = *gpus_[gpu].geometry;
      for (const PlacementId place : job.allowed[gpu]) {
        const Placement& here = rules[place];
        if (only >= 0 && here.profile_index != only) continue;
        const double time =
            job.time_s[gpus_[gpu].kind][static_cast<std::size_t>(here.profile_index)];
        if (!(time > 0)) continue;
        const double length = setting_.start_s + time;
        const double price_s = length * (1 + price * slices_of(*here.profile));
        if (price_s >= least) continue;
        const double at = soonest(gpu, place, length);
        if (!(at + price_s < least)) continue;
        least = at + price_s;
        best = ForwardStart{gpu, place, at, at + length};
      }
    }
    return best;
  }

  /// From when on the place is free for so long.
  [[nodiscard]] double soonest(std::size_t gpu, PlacementId place, double length) const {
    const PlacementSet in_way = (*gpus_[gpu].geometry)[place].conflicts | PlacementSet::of(place);
    if (in_way.meets(gpus_[gpu].never)) return unbounded_s;
    double at = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (const Taken& each : taken_[gpu]) {
        if (!in_way.contains(each.place) || each.from_s >= at + length || at >= each.until_s)
          continue;
        at = each.until_s;
        moved = true;
      }
    }
    return at;
  }

  std::span<const ForwardGpu> gpus_;
  std::span<const ForwardJob> jobs_;
  const ForwardSetting& setting_;
  std::vector<std::vector<Taken>> taken_;
};

/// Changes a list by one job at a time, as long as that helps.
class ForwardSearch {
 public:
  ForwardSearch(std::span<const ForwardGpu> gpus, std::span<const ForwardJob> jobs,
                const ForwardSetting& setting)
      : gpus_(gpus), jobs_(jobs), setting_(setting), server_(gpus, jobs, setting) {
    best_.order.resize(jobs.size());
    std::iota(best_.order.begin(), best_.order.end(), std::size_t{0});
    best_.profile.assign(jobs.size(), -1);
    plan_ = server_.serve(best_);
    least_ = cost_of(plan_, gpus_, setting_);
  }

  [[nodiscard]] ForwardPlan run() {
    left_ = setting_.tries;
    for (bool better = true; better && left_ > 0;) {
      better = false;
      for (std::size_t job = 0; job < jobs_.size(); ++job) better = other_sizes(job) || better;
      for (std::size_t from = 0; from < jobs_.size(); ++from) better = other_turns(from) || better;
    }
    return plan_;
  }

 private:
  bool other_sizes(std::size_t job) {
    bool better = false;
    std::vector<int> sizes = {-1};
    for (const auto& of_kind : jobs_[job].time_s)
      for (std::size_t p = 0; p < of_kind.size(); ++p)
        if (of_kind[p] > 0 && std::ranges::find(sizes, static_cast<int>(p)) == sizes.end())
          sizes.push_back(static_cast<int>(p));
    for (const int size : sizes) {
      if (size == best_.profile[job]) continue;
      Draft other = best_;
      other.profile[job] = size;
      better = keep(std::move(other)) || better;
    }
    return better;
  }

  bool other_turns(std::size_t from) {
    bool better = false;
    for (std::size_t to = 0; to < jobs_.size(); ++to) {
      if (from == to) continue;
      Draft other = best_;
      const auto begin = other.order.begin();
      const auto source = begin + static_cast<std::ptrdiff_t>(from);
      const auto target = begin + static_cast<std::ptrdiff_t>(to);
      if (from < to) {
        std::rotate(source, source + 1, target + 1);
      } else {
        std::rotate(target, source, source + 1);
      }
      better = keep(std::move(other)) || better;
    }
    return better;
  }

  /// If it is better.
  bool keep(Draft other) {
    if (left_ == 0) return false;
    --left_;
    ForwardPlan plan = server_.serve(other);
    const double cost = cost_of(plan, gpus_, setting_);
    if (!(cost < least_ * (1 - 1e-9))) return false;
    least_ = cost;
    best_ = std::move(other);
    plan_ = std::move(plan);
    return true;
  }

  std::span<const ForwardGpu> gpus_;
  std::span<const ForwardJob> jobs_;
  const ForwardSetting& setting_;
  ForwardServer server_;
  Draft best_;
  ForwardPlan plan_;
  double least_ = 0;
  std::size_t left_ = 0;
};

}  // namespace

double cost_of(const ForwardPlan& plan, std::span<const ForwardGpu> gpus,
               const ForwardSetting& setting) {
  const double price = price_for_one * setting.behind / setting.fleet_slices;
  double sum = 0;
  for (const auto& it : plan) {
    if (!it) continue;
    const Profile& profile = *(*gpus[it->gpu].geometry)[it->place].profile;
    sum += it->end_s + price * slices_of(profile) * (it->end_s - it->at_s);
  }
  return sum;
}

double cost_of_busy(std::span<const ForwardGpu> gpus, const ForwardSetting& setting) {
  const double price = price_for_one * setting.behind / setting.fleet_slices;
  double sum = 0;
  for (const ForwardGpu& gpu : gpus)
    for (const auto& [place, until_s] : gpu.busy)
      sum += until_s * (1 + price * slices_of(*(*gpu.geometry)[place].profile));
  return sum;
}

ForwardPlan plan_forward(std::span<const ForwardGpu> gpus, std::span<const ForwardJob> jobs,
                         const ForwardSetting& setting) {
  return ForwardSearch(gpus, jobs, setting).run();
}

}  // namespace cleave
