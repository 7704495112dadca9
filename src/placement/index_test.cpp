// The index decides exactly as the plain scan: same GPU, start, reuse and destroys, one decision
// after the other, for every policy and every way of finding, on mixed fleets with idle instances,
// walls and GPUs that come and go.

#include "placement/index.hpp"

#include <gtest/gtest.h>

#include "base/format.hpp"
#include "base/random.hpp"

namespace cleave {
namespace {

/// Policies with options that change their decisions.
struct Setting {
  const char* policy;
  OptionTexts options;
};
const Setting settings[] = {
    {"fragmentation", {}},
    {"fragmentation", {{"threshold", "0.7"}, {"load", "joint"}}},
    {"fragmentation", {{"across", "rise"}, {"load", "memory"}}},
    {"fragmentation", {{"tie", "waste"}}},
    {"reachability", {}},
    {"reachability", {{"across", "best"}}},
    {"preference", {}},
    {"largest-gap", {}},
    {"first-fit", {}},
    {"load-balanced", {}},
};

FleetFile mixed_fleet(std::size_t size, Random& random, const char* profiles) {
  std::string gpus;
  for (std::size_t i = 0; i < size; ++i) {
    const char* kinds[] = {
        R"("A100-40GB")",
        R"("A100-40GB")",
        R"("A30-24GB")",
        R"("RTX-PRO-6000-BW-96GB")",
        R"("A100-40GB", "instances": [{"profile": "1g.5gb", "start": 6, "owned": false}])",
        R"("A100-40GB", "instances": [{"profile": "2g.10gb", "start": 2, "owned": false},
                                   {"profile": "1g.5gb", "start": 0}])"};
    gpus += fmt::format("{}{{\"name\": \"g{}\", \"model\": {}}}", i == 0 ? "" : ",", i,
                        kinds[random.below(std::size(kinds))]);
  }
  return *parse_fleet("{\"gpus\": [" + gpus + "]}", "test", *ProfileChoice::parse(profiles));
}

class Race {
 public:
  Race(std::size_t size, std::uint64_t seed, const Setting& setting, PlacementIndex::Method method)
      : random_(seed),
        file_(mixed_fleet(size, random_, seed % 2 == 0 ? "all" : "plain")),
        fleet_(file_),
        requests_(file_.geometries),
        policy_(*choose_policy(setting.policy, setting.options)) {
    for (const Geometry& geometry : file_.geometries)
      for (const std::string& name : geometry.profile_names())
        wanted_.push_back(requests_.intern({ByProfile{name}, {}}));
    index_.emplace(fleet_, requests_, policy_, method);
  }

  void run(int steps) {
    for (int step = 0; step < steps && !testing::Test::HasFatalFailure(); ++step) {
      const double what = random_.uniform();
      if (what < 0.01) {
        change_the_fleet();
      } else if (what < 0.015) {
        // More than the index gathers before it looks.
        for (std::size_t left = random_.below(200); left > 0 && !running_.empty(); --left) depart();
      } else if (!running_.empty() && what < 0.45) {
        depart();
      } else {
        if (step == steps / 3)
          wanted_.push_back(
              requests_.intern({BySize{MiB{9000}, {}}, {}}));  // a new kind on the way
        if (step == steps / 2) wanted_.push_back(requests_.intern({BySize{MiB{18000}, {3}}, {}}));
        arrive(wanted_[random_.below(wanted_.size())], step);
      }
    }
  }

 private:
  void depart() {
    const std::size_t which = random_.below(running_.size());
    fleet_.release(running_[which].first, running_[which].second);
    index_->changed(running_[which].first);
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(which));
  }

  void change_the_fleet() {
    const auto gpu = static_cast<GpuId>(random_.below(fleet_.size()));
    switch (random_.below(3)) {
      case 0:
        fleet_.withdraw(gpu);
        break;
      case 1:
        fleet_.restore(gpu);
        break;
      default:
        return index_->changed(fleet_.append(random_.below(fleet_.graphs().size())));
    }
    index_->changed(gpu);
  }

  void arrive(RequestId request, int step) {
    const auto expected = decide_by_scan(fleet_, requests_[request], policy_);
    const auto got = index_->decide(request);
    ASSERT_EQ(got.has_value(), expected.has_value()) << "step " << step;
    if (!got) return;
    ASSERT_EQ(index(got->gpu), index(expected->gpu)) << "step " << step;
    ASSERT_EQ(got->placement, expected->placement) << "step " << step;
    ASSERT_EQ(got->reuse, expected->reuse) << "step " << step;
    ASSERT_EQ(got->destroys, expected->destroys) << "step " << step;
    fleet_.hold(got->gpu, got->placement);
    index_->changed(got->gpu);
    running_.emplace_back(got->gpu, got->placement);
  }

  Random random_;
  FleetFile file_;
  Fleet fleet_;
  RequestTable requests_;
  ChosenPolicy policy_;
  std::vector<RequestId> wanted_;
  std::optional<PlacementIndex> index_;
  std::vector<std::pair<GpuId, PlacementId>> running_;
};

TEST(Index, DecidesAsTheScanForEveryPolicyAndMethod) {
  using Method = PlacementIndex::Method;
  for (const Setting& setting : settings)
    for (const Method method :
         {Method::automatic, Method::blocks, Method::vector_scan, Method::scalar_scan})
      for (const std::size_t size : {1, 7, 33, 100}) {
        SCOPED_TRACE(
            fmt::format("{} method {} size {}", setting.policy, static_cast<int>(method), size));
        Race(size, size + 1, setting, method).run(600);
        if (HasFatalFailure()) return;
      }
}

// Large enough for several blocks, words and layers of summaries; a load at which most classes
// occur.
TEST(Index, DecidesAsTheScanOnLargeFleets) {
  for (const Setting& setting : settings)
    for (const std::size_t size : {129, 2500}) {
      SCOPED_TRACE(fmt::format("{} size {}", setting.policy, size));
      Race(size, 4, setting, PlacementIndex::Method::automatic).run(size == 129 ? 3000 : 1200);
      if (HasFatalFailure()) return;
    }
}

TEST(Index, TakesFewBytesAGpu) {
  const FleetFile file = *parse_fleet_in_short("20000xA100-40GB", *ProfileChoice::parse("plain"));
  Fleet fleet(file);
  RequestTable requests(file.geometries);
  std::vector<RequestId> wanted;
  for (const std::string& name : file.geometries.front().profile_names())
    wanted.push_back(requests.intern({ByProfile{name}, {}}));
  PlacementIndex index(fleet, requests, *choose_policy("fragmentation", {}));
  Random random(1);
  std::vector<std::pair<GpuId, PlacementId>> running;
  for (int step = 0; step < 200000; ++step) {
    if (!running.empty() && random.uniform() < 0.4) {
      std::swap(running[random.below(running.size())], running.back());
      fleet.release(running.back().first, running.back().second);
      index.changed(running.back().first);
      running.pop_back();
    } else if (const auto decision = index.decide(wanted[random.below(wanted.size())])) {
      fleet.hold(decision->gpu, decision->placement);
      index.changed(decision->gpu);
      running.emplace_back(decision->gpu, decision->placement);
    }
  }
  EXPECT_LE(static_cast<double>(index.bytes()) / 20000, 16);
}

}  // namespace
}  // namespace cleave
