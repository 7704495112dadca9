#include "study/wpm/paper_cases.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "base/format.hpp"
#include "base/random.hpp"
#include "graph/state_graph.hpp"
#include "planner/gpu_pool.hpp"

namespace cleave {

namespace {

constexpr std::size_t gpus_per_node = 8;

class Generator {
 public:
  explicit Generator(const PaperCase& wanted)
      : wanted_(wanted),
        model_(wanted.model != nullptr ? *wanted.model : **find_gpu_model("A100-80GB")),
        graph_(StateGraph::of(model_, ProfileChoice().on(model_))),
        random_(wanted.seed) {
    for (std::size_t i = 0; i < model_.profiles.size(); ++i) {
      const Attribute attribute = model_.profiles[i].attribute;
      if (attribute == Attribute::none || (wanted.media && attribute == Attribute::media))
        drawn_.push_back(graph_->geometry().of_profile(static_cast<int>(i)));
    }
  }

  FleetFile make() {
    fleet_.geometries.push_back(graph_->geometry());
    fleet_.gpus.reserve(wanted_.gpus);
    const std::vector<bool> allocated = choose_allocated();
    for (std::size_t gpu = 0; gpu < wanted_.gpus; ++gpu) {
      fleet_.gpus.push_back(
          {fmt::format("n{}/{}", gpu / gpus_per_node, gpu % gpus_per_node), 0, {}});
      if (allocated[gpu]) fill(fleet_.gpus.back());
    }
    if (wanted_.new_work) add_new_work();
    return std::move(fleet_);
  }

 private:
  /// The first 60 % of a list of the GPUs, which is shuffled where they are scattered.
  std::vector<bool> choose_allocated() {
    std::vector<std::size_t> order(wanted_.gpus);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::vector<bool> allocated(wanted_.gpus, false);
    for (std::size_t i = 0; i < sixty_percent(wanted_.gpus); ++i) {
      if (wanted_.scattered) std::swap(order[i], order[i + random_.below(order.size() - i)]);
      allocated[order[i]] = true;
    }
    return allocated;
  }

  void fill(GpuEntry& gpu) {
    const int slices = model_.compute.value + model_.memory_slices.value;
    const double target = (1 - random_.uniform()) * slices;  // 1 - [0, 1) is (0, 1]
    StateId state = 0;
    for (std::vector<PlacementSet> fitting = within(state, target); !fitting.empty();
         fitting = within(state, target))
      state = graph_->add(state, start_of(fitting[random_.below(fitting.size())]));
    if (state == 0)
      state = graph_->add(state, start_of(drawn_.back()));  // the smallest profile is beyond it
    for (const PlacementId id : by_start(graph_->geometry(), graph_->state(state))) {
      InstanceEntry instance;
      instance.placement = id;
      instance.workload = fmt::format("r{:07}", running_++);
      gpu.instances.push_back(std::move(instance));
    }
  }

  /// The free starts of each profile that still fits, and does not pass the target of slices; where
  /// it may be passed, of each that fits until then.
  std::vector<PlacementSet> within(StateId state, double target) const {
    const int held = graph_->compute(state).value + graph_->memory(state).value;
    std::vector<PlacementSet> fitting;
    for (const PlacementSet starts : drawn_) {
      const Profile& profile = *graph_->geometry()[starts.first()].profile;
      const int with = held + profile.compute.value + profile.memory.value;
      const bool passes = wanted_.pass_target ? held >= target : with > target;
      if (!passes && starts.meets(graph_->free(state)))
        fitting.push_back(starts & graph_->free(state));
    }
    return fitting;
  }

  /// One of the free starts of a profile.
  PlacementId start_of(PlacementSet starts) {
    return wanted_.preferred ? first_place(graph_->geometry(), starts, StartOrder::preferred)
                             : one_of(starts);
  }

  PlacementId one_of(PlacementSet set) {
    auto skip = random_.below(static_cast<std::uint64_t>(set.size()));
    for (const PlacementId id : set)
      if (skip-- == 0) return id;
    std::unreachable();
  }

  void add_new_work() {
    // In tenths of a GPU slice, so that 60 % is a whole number.
    const std::size_t goal = 6 * static_cast<std::size_t>(model_.compute.value) * wanted_.gpus;
    const auto tenths = [&](const Profile* profile) {
      return 10 * static_cast<std::size_t>(table_one_slices(model_, *profile));
    };
    std::vector<const Profile*> fitting;
    for (const PlacementSet starts : drawn_)
      fitting.push_back(graph_->geometry()[starts.first()].profile);
    for (std::size_t size = 0; size < goal;) {
      if (!wanted_.pass_sixty)
        std::erase_if(fitting,
                      [&](const Profile* profile) { return size + tenths(profile) > goal; });
      if (fitting.empty()) return;
      const Profile& profile = *fitting[random_.below(fitting.size())];
      size += tenths(&profile);
      fleet_.waiting.push_back({fmt::format("w{:07}", fleet_.waiting.size()),
                                {ByProfile{std::string(profile.name)}, std::nullopt},
                                {}});
    }
  }

  const PaperCase& wanted_;
  const GpuModel& model_;
  std::shared_ptr<const StateGraph> graph_;
  Random random_;
  std::vector<PlacementSet> drawn_;  // the starts of each profile that is drawn
  std::size_t running_ = 0;
  FleetFile fleet_;
};

}  // namespace

FleetFile paper_fleet(const PaperCase& wanted) {
  return Generator(wanted).make();
}

int table_one_slices(const GpuModel& model, const Profile& profile) {
  const int by_memory =
      (profile.memory.value * model.compute.value + model.memory_slices.value - 1) /
      model.memory_slices.value;
  return std::max(profile.compute.value, by_memory);
}

std::size_t sixty_percent(std::size_t count) {
  return (6 * count + 5) / 10;
}

}  // namespace cleave
