// Policies against their definitions, the fleet against its rules, and the words of a refusal.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "base/format.hpp"
#include "base/random.hpp"
#include "model/layout_text.hpp"
#include "placement/one_move.hpp"
#include "placement/policy.hpp"
#include "placement/why_not.hpp"

namespace cleave {
namespace {

FleetFile file_of(std::string_view gpus, std::string_view profiles = "plain") {
  return *parse_fleet(std::string("{\"gpus\": [") + std::string(gpus) + "]}", "test",
                      *ProfileChoice::parse(profiles));
}

/// A GPU of the file format: `gpu("A100-40GB", "4g.20gb@0=a 1g.5gb@6 1g.5gb@5!")`; = held, ! not
/// ours.
std::string gpu(std::string_view model, std::string_view instances, int number = 0) {
  std::string list;
  for (std::size_t begin = 0; begin < instances.size();) {
    const std::size_t end = std::min(instances.find(' ', begin), instances.size());
    std::string one(instances.substr(begin, end - begin));
    begin = end + 1;
    const std::size_t at = one.find('@'), held = one.find('='), walls = one.find('!');
    const std::string start = one.substr(at + 1, std::min(held, walls) - at - 1);
    list += (list.empty() ? "" : ", ") +
            ("{\"profile\": \"" + one.substr(0, at) + "\", \"start\": " + start);
    if (held != std::string::npos)
      list += ", \"workload\": \"" + one.substr(held + 1) + std::to_string(number) + "\"";
    if (walls != std::string::npos) list += ", \"owned\": false";
    list += "}";
  }
  return "{\"name\": \"g" + std::to_string(number) + "\", \"model\": \"" + std::string(model) +
         "\", \"instances\": [" + list + "]}";
}

/// What a policy decides, as "GPU: profile@start", with "reuse" or what it destroys.
std::string decided(const FleetFile& file, const Request& request,
                    std::string_view policy = "fragmentation", const OptionTexts& options = {}) {
  const Fleet fleet(file);
  const auto decision =
      decide_by_scan(fleet, resolve(request, file.geometries), *choose_policy(policy, options));
  if (!decision) return "nowhere";
  const Geometry& geometry = fleet.geometry(fleet[decision->gpu]);
  std::string text = file.gpus[index(decision->gpu)].name + ": " +
                     layout_text(geometry, PlacementSet::of(decision->placement));
  if (decision->reuse) text += " reuse";
  if (!decision->destroys.empty()) text += " destroys " + layout_text(geometry, decision->destroys);
  return text;
}

Request profile(std::string name) {
  return {ByProfile{std::move(name)}, {}};
}
Request size(std::int64_t mib, int compute = 0) {
  return {BySize{{mib}, {compute}}, {}};
}

TEST(Fragmentation, StartsOfAnEmptyGpu) {
  const FleetFile empty = file_of(gpu("A100-40GB", ""), "all");
  EXPECT_EQ(decided(empty, profile("1g.5gb")), "g0: 1g.5gb@6");
  EXPECT_EQ(decided(empty, profile("2g.10gb")), "g0: 2g.10gb@4");
  EXPECT_EQ(decided(empty, profile("3g.20gb")), "g0: 3g.20gb@4");
}

TEST(Fragmentation, LazyGpusComeBeforeBusyOnes) {
  const FleetFile fleet = file_of(gpu("A100-40GB", "4g.20gb@0=a") + "," + gpu("A100-40GB", "", 1));
  EXPECT_EQ(decided(fleet, profile("3g.20gb")), "g1: 3g.20gb@4");
  EXPECT_EQ(decided(fleet, profile("3g.20gb"), "fragmentation", {{"threshold", "0.6"}}),
            "g0: 3g.20gb@4");
  // 4/7 held of compute, 1/2 of memory: which it is depends on the metric.
  EXPECT_EQ(decided(fleet, profile("3g.20gb"), "fragmentation", {{"threshold", "0.55"}}),
            "g1: 3g.20gb@4");
  EXPECT_EQ(decided(fleet, profile("3g.20gb"), "fragmentation",
                    {{"threshold", "0.55"}, {"load", "memory"}}),
            "g0: 3g.20gb@4");
}

TEST(Fragmentation, ALoadOfExactlyTheThresholdIsBusy) {
  const FleetFile fleet = file_of(gpu("A30-24GB", "2g.12gb@0=a") + "," + gpu("A30-24GB", "", 1));
  EXPECT_EQ(decided(fleet, profile("2g.12gb"), "fragmentation", {{"threshold", "0.5"}}),
            "g1: 2g.12gb@0");
  EXPECT_EQ(decided(fleet, profile("2g.12gb"), "fragmentation", {{"threshold", "0.51"}}),
            "g0: 2g.12gb@2");
}

TEST(Fragmentation, ReusesAmongEqualCostsAndDestroysOnlyWhatStandsInTheWay) {
  EXPECT_EQ(decided(file_of(gpu("A100-40GB", "1g.5gb@5") + "," + gpu("A100-40GB", "1g.5gb@6", 1)),
                    profile("1g.5gb")),
            "g1: 1g.5gb@6 reuse");
  EXPECT_EQ(decided(file_of(gpu("A100-40GB", "2g.10gb@0 2g.10gb@4 1g.5gb@6")), profile("3g.20gb")),
            "g0: 3g.20gb@4 destroys 2g.10gb@4,1g.5gb@6");
}

TEST(Fragmentation, AnIdleMediaInstanceGoesForAnotherOneElsewhere) {
  // Only one +me instance may exist: the idle one stands in the way although it does not overlap.
  EXPECT_EQ(decided(file_of(gpu("A100-40GB", "1g.5gb+me@0 1g.5gb@6=a 2g.10gb@4=b"), "all"),
                    profile("1g.5gb+me"))
                .substr(0, 2),
            "g0");
  const Fleet state(file_of(gpu("A100-40GB", "1g.5gb+me@0"), "all"));
  const GpuState& only = state.gpus().front();
  const Geometry& geometry = state.geometry(only);
  EXPECT_EQ(layout_text(geometry, state.destroys(only, *geometry.find("1g.5gb+me", 5))),
            "1g.5gb+me@0");
  EXPECT_TRUE(state.destroys(only, *geometry.find("1g.5gb", 5)).empty());
}

TEST(Fragmentation, WallsBlockAndCountAsOccupiedButNotAsLoad) {
  EXPECT_EQ(decided(file_of(gpu("A100-40GB", "7g.40gb@0!")), profile("1g.5gb")), "nowhere");
  const FleetFile fleet = file_of(gpu("A100-40GB", "4g.20gb@0!"));
  const Fleet kept(fleet);
  EXPECT_EQ(load_of({kept.graph(kept.gpus()[0]), kept.gpus()[0]}, LoadMetric::compute),
            Ratio(0, 1));
  EXPECT_EQ(decided(fleet, profile("2g.10gb")), "g0: 2g.10gb@4");
}

TEST(FirstFit, TakesTheLowest) {
  const FleetFile fleet =
      file_of(gpu("A100-40GB", "7g.40gb@0=a") + "," + gpu("A100-40GB", "1g.5gb@0=a", 1));
  EXPECT_EQ(decided(fleet, profile("1g.5gb"), "first-fit"), "g1: 1g.5gb@1");
  EXPECT_EQ(decided(fleet, profile("2g.10gb"), "first-fit"), "g1: 2g.10gb@2");
}

TEST(Requests, BySizeLetAllProfilesOfTheSizeCompete) {
  // 20 GB: 3g and 4g; most compute slices among equals, so beside a 3g at 4 it becomes a 4g at 0.
  EXPECT_EQ(decided(file_of(gpu("A100-40GB", "3g.20gb@4=a")), size(20000), "fragmentation",
                    {{"threshold", "1"}}),
            "g0: 4g.20gb@0");
  EXPECT_EQ(decided(file_of(gpu("A100-40GB", "")), size(20000), "first-fit"), "g0: 4g.20gb@0");
  EXPECT_EQ(decided(file_of(gpu("A100-40GB", "")), size(4864), "first-fit"), "g0: 1g.5gb@0");
  EXPECT_EQ(decided(file_of(gpu("A100-40GB", "")), size(4865), "first-fit"), "g0: 2g.10gb@0")
      << "one MiB more";
  EXPECT_EQ(decided(file_of(gpu("A100-40GB", "")), size(100, 2), "first-fit"), "g0: 2g.10gb@0")
      << "enough compute too";
  EXPECT_EQ(decided(file_of(gpu("A100-40GB", "")), size(40321), "first-fit"), "nowhere");
}

TEST(Requests, OnMixedFleetsMeanEachModelsOwnProfile) {
  const FleetFile fleet = file_of(gpu("A30-24GB", "") + "," + gpu("A100-40GB", "", 1));
  EXPECT_EQ(decided(fleet, profile("2g.12gb"), "first-fit"), "g0: 2g.12gb@0");
  EXPECT_EQ(decided(fleet, profile("A100-40GB:2g.10gb"), "first-fit"), "g1: 2g.10gb@0");
  EXPECT_EQ(decided(fleet, size(9000), "first-fit"), "g0: 2g.12gb@0");
  EXPECT_EQ(decided(fleet, {Unknown{}, {}}, "first-fit"), "g0: 1g.6gb@0");
}

TEST(Requests, WithOffloadKnowTheSmallerProfiles) {
  const FleetFile file = file_of(gpu("A100-40GB", ""));
  const Geometry& geometry = file.geometries.front();
  const auto names = [&](PlacementSet set) {
    std::set<std::string> all;
    for (const PlacementId p : set) all.emplace(geometry[p].profile->name);
    return all;
  };
  using Names = std::set<std::string>;
  RequestTable requests(file.geometries);
  Request request = size(15000);
  const RequestId whole = requests.intern(request);
  request.offload = MiB{11000};
  const RequestId offers = requests.intern(request);
  EXPECT_EQ(requests[offers].candidates, requests[whole].candidates) << "the size comes first";
  EXPECT_EQ(requests[offers].holds, requests[whole].holds);
  EXPECT_FALSE(requests[whole].offloaded);
  EXPECT_EQ(names(requests[offers].with_offload.front()), (Names{"1g.5gb", "1g.10gb", "2g.10gb"}));
  ASSERT_TRUE(requests[offers].offloaded);
  EXPECT_EQ(names(requests[*requests[offers].offloaded].candidates.front()),
            (Names{"1g.10gb", "2g.10gb"}))
      << "the largest, which offloads least";
  request.offload = MiB{6000};
  EXPECT_EQ(names(requests[requests.intern(request)].with_offload.front()),
            (Names{"1g.10gb", "2g.10gb"}));
  request.offload = MiB{15000 - 9985};
  EXPECT_FALSE(requests[requests.intern(request)].offloaded) << "a MiB too little";

  request = size(41000);
  request.offload = MiB{1000};
  const ResolvedRequest beyond = resolve(request, file.geometries);
  EXPECT_EQ(names(beyond.candidates.front()), (Names{"7g.40gb"})) << "nothing is larger";
  EXPECT_EQ(beyond.impossible, "");
}

TEST(Requests, SayWhyTheyCanNeverBePlaced) {
  const FleetFile h20 = file_of(gpu("H20-96GB", ""));
  EXPECT_EQ(resolve(size(5000), h20.geometries).impossible,
            "no instance of H20-96GB holds 5000 MiB (the instance memory of H20-96GB is unknown)");
  EXPECT_EQ(resolve(profile("9g.90gb"), h20.geometries).impossible,
            "no H20-96GB here has a profile 9g.90gb");
  EXPECT_EQ(resolve({ByProfile{"1g.12gb"}, std::vector<std::string>{"3g.48gb"}}, h20.geometries)
                .candidates.front(),
            PlacementSet());
}

TEST(WhyNot, TellsSizeFromPosition) {
  const auto why = [](std::string_view gpus, const Request& request) {
    const FleetFile file = file_of(gpus);
    return why_not(Fleet(file), resolve(request, file.geometries)).message(request);
  };
  EXPECT_EQ(why(gpu("A100-40GB", "1g.5gb@1=a 1g.5gb@3=b 1g.5gb@5=c"), profile("2g.10gb")),
            "2g.10gb fits by size on 1 of 1 GPUs, but by position on none");
  EXPECT_EQ(why(gpu("A100-40GB", "7g.40gb@0=a"), profile("1g.5gb")),
            "1g.5gb fits nowhere by size: no GPU has enough free slices (looked at 1)");
  const FleetFile media = file_of(gpu("A100-40GB", "1g.5gb+me@0=a"), "all");
  const Request another = profile("1g.5gb+me");
  EXPECT_EQ(
      why_not(Fleet(media), resolve(another, media.geometries)).message(another),
      "1g.5gb+me fits by size and by position on 1 of 1 GPUs, but what runs there excludes it");
}

std::string moved(std::string_view gpus, const Request& request) {
  const FleetFile file = file_of(gpus);
  const Fleet fleet(file);
  const auto movable = [&](GpuId gpu, PlacementId placement) {
    for (const InstanceEntry& instance : file.gpus[index(gpu)].instances)
      if (instance.placement == placement) return !instance.workload->starts_with("fixed");
    return false;
  };
  const auto move = one_move(fleet, resolve(request, file.geometries), movable);
  if (!move) return "none";
  const auto at = [&](GpuId gpu, PlacementId id) {
    return std::to_string(index(gpu)) + " " +
           layout_text(fleet.geometry(fleet[gpu]), PlacementSet::of(id));
  };
  return at(move->gpu, move->from) + " to " + at(move->to_gpu, move->to) + ", then " +
         at(move->gpu, move->placed);
}

TEST(OneMove, MakesRoomByTheSmallestInstance) {
  EXPECT_EQ(moved(gpu("A100-40GB", "1g.5gb@1=a 1g.5gb@3=b 1g.5gb@5=c"), profile("2g.10gb")),
            "0 1g.5gb@3 to 0 1g.5gb@0, then 0 2g.10gb@2");
  // Within the GPU nothing helps: slice 6 and 7 are no place for a 2g. The other GPU takes it.
  EXPECT_EQ(moved(gpu("A100-40GB", "4g.20gb@0=a 1g.5gb@4=b 1g.5gb@6=c") + "," +
                      gpu("A100-40GB", "7g.40gb@0=d", 1),
                  profile("2g.10gb")),
            "none");
  EXPECT_EQ(moved(gpu("A100-40GB", "4g.20gb@0=a 1g.5gb@4=b 1g.5gb@6=c") + "," +
                      gpu("A100-40GB", "4g.20gb@0=d 1g.5gb@4=e 1g.5gb@5=f", 1),
                  profile("2g.10gb")),
            "0 1g.5gb@4 to 1 1g.5gb@6, then 0 2g.10gb@4");
  EXPECT_EQ(moved(gpu("A100-40GB", "1g.5gb@1=fixed 2g.10gb@2=a 1g.5gb@5=b 1g.5gb@6=c"),
                  profile("2g.10gb")),
            "0 1g.5gb@5 to 0 1g.5gb@0, then 0 2g.10gb@4");
}

TEST(OneMove, PrefersTheSameGpuToAnother) {
  EXPECT_EQ(moved(gpu("A100-40GB", "2g.10gb@0=x 1g.10gb@4=y") + "," +
                      gpu("A100-40GB", "4g.20gb@0=fixed", 1),
                  profile("4g.20gb")),
            "0 2g.10gb@0 to 1 2g.10gb@4, then 0 4g.20gb@0");
  EXPECT_EQ(moved(gpu("A100-40GB", "2g.10gb@0=x 1g.10gb@4=y") + "," +
                      gpu("A100-40GB", "4g.20gb@0=z 1g.5gb@6=fixed", 1),
                  profile("3g.20gb")),
            "0 1g.10gb@4 to 0 1g.10gb@2, then 0 3g.20gb@4");
}

// Whatever it says can be done: the target is free while the instance runs, and then the request
// fits.
TEST(OneMove, IsAlwaysPossible) {
  const GpuModel& model = **find_gpu_model("A100-40GB");
  const auto graph = StateGraph::of(model, ProfileChoice::plain().on(model));
  const Geometry& geometry = graph->geometry();
  int helped = 0;
  for (int i = 0; i < graph->size(); ++i) {
    FleetFile file;
    file.geometries.push_back(geometry);
    file.gpus.push_back({"g", 0, {}});
    for (const PlacementId id : graph->state(static_cast<StateId>(i))) {
      file.gpus[0].instances.emplace_back();
      file.gpus[0].instances.back().placement = id;
      file.gpus[0].instances.back().workload = fmt::format("w{}", id);
    }
    const Fleet fleet(file);
    for (const Profile* wanted : geometry.profile_list()) {
      const ResolvedRequest request = resolve(profile(std::string(wanted->name)), file.geometries);
      if (graph->free(static_cast<StateId>(i)).meets(request.candidates[0])) continue;
      const auto move = one_move(fleet, request, [](GpuId, PlacementId) { return true; });
      if (!move) continue;
      ++helped;
      const PlacementSet held = graph->state(static_cast<StateId>(i));
      ASSERT_TRUE(geometry.legal(held | PlacementSet::of(move->to)));
      ASSERT_TRUE(geometry.legal((held - PlacementSet::of(move->from)) |
                                 PlacementSet::of(move->to) | PlacementSet::of(move->placed)));
    }
  }
  EXPECT_GT(helped, 50);
}

TEST(Policies, RefuseOptionsThatAreNotTheirs) {
  EXPECT_EQ(choose_policy("frist-fit", {}).error().text(),
            "there is no policy 'frist-fit'; did you mean 'first-fit'?");
  EXPECT_EQ(choose_policy("first-fit", {{"threshold", "0.4"}}).error().message,
            "policy first-fit has no option 'threshold'");
  EXPECT_EQ(choose_policy("fragmentation", {{"threshold", "1.5"}}).error().text(),
            "threshold: '1.5' is not a number from 0 to 1");
  EXPECT_FALSE(choose_policy("fragmentation", {{"threshold", "x"}}));
}

// The arrival steps of *An Online Fragmentation-Aware Scheduler*, IV-C, written out as the paper
// has them and with nothing precomputed: what the policy must decide.
std::string by_the_paper(const FleetFile& file, const Fleet& fleet, const std::string& wanted,
                         Ratio threshold, bool rise) {
  for (const bool want_busy : {false, true}) {
    struct Best {
      int cost;
      bool fresh;
      std::size_t gpu;
      int start;
      auto operator<=>(const Best&) const = default;
    };
    std::optional<Best> best;
    for (std::size_t g = 0; g < fleet.size(); ++g) {
      const GpuState& state = fleet.gpus()[g];
      const Geometry& geometry = fleet.geometry(state);
      const Ratio load(geometry.compute(state.held).value, geometry.model().compute.value);
      if ((load >= threshold) != want_busy) continue;
      const PlacementSet occupied = state.held | state.walls;
      for (const PlacementId id : geometry.free(occupied)) {
        if (geometry[id].profile->name != wanted) continue;
        int cost = fragmentation_cost(geometry, occupied | PlacementSet::of(id)).units;
        if (rise) cost -= fragmentation_cost(geometry, occupied).units;
        const Best candidate{cost, !state.idle.contains(id), g, geometry[id].start};
        if (!best || candidate < *best) best = candidate;
      }
    }
    if (best)
      return file.gpus[best->gpu].name + ": " + wanted + "@" + std::to_string(best->start) +
             (best->fresh ? "" : " reuse");
  }
  return "nowhere";
}

/// The other policies in a few lines each: GPU and start by the plainest reading of what they say.
std::string by_its_definition(std::string_view policy, const FleetFile& file, const Fleet& fleet,
                              const std::string& wanted) {
  std::optional<std::array<double, 5>> best;
  std::string answer = "nowhere";
  for (std::size_t g = 0; g < fleet.size(); ++g) {
    const GpuState& state = fleet[static_cast<GpuId>(g)];
    const Geometry& geometry = fleet.geometry(state);
    const PlacementSet occupied = state.held | state.walls;
    const double all = geometry.model().compute.value + geometry.model().memory_slices.value;
    const double full = (geometry.compute(occupied).value + geometry.memory(occupied).value) / all;
    const double load =
        (geometry.compute(state.held).value + geometry.memory(state.held).value) / all;
    for (const PlacementId id : geometry.free(occupied)) {
      const Placement& place = geometry[id];
      if (place.profile->name != wanted) continue;
      const PlacementSet after = occupied | PlacementSet::of(id);
      int run = 0, longest = 0, futures = 0;
      for (int slice = 0; slice < geometry.model().memory_slices.value; ++slice) {
        run = (geometry.slices(after) >> slice & 1) != 0 ? 0 : run + 1;
        longest = std::max(longest, run);
      }
      for (const PlacementSet full_state : [&] {
             std::vector<PlacementSet> maximal;
             for (int s = 0; s < fleet.graph(state).size(); ++s)
               if (fleet.graph(state).maximal(static_cast<StateId>(s)))
                 maximal.push_back(fleet.graph(state).state(static_cast<StateId>(s)));
             return maximal;
           }())
        futures += (after - full_state).empty() ? 1 : 0;
      const auto number = static_cast<double>(g);
      const double start = place.start, fresh = state.idle.contains(id) ? 0 : 1;
      std::array<double, 5> key{};
      if (policy == "first-fit") key = {number, start};
      if (policy == "load-balanced") key = {load, number, start};
      if (policy == "preference")
        key = {-full, number, static_cast<double>(place.profile->starts.rank(place.start))};
      if (policy == "largest-gap") key = {-static_cast<double>(longest), -full, number, start};
      if (policy == "reachability") key = {number, fresh, -static_cast<double>(futures), start};
      if (best && *best <= key) continue;
      best = key;
      answer = file.gpus[g].name + ": " + wanted + "@" + std::to_string(place.start);
    }
  }
  return answer;
}

TEST(Laws, EveryOtherPolicyIsWhatItsDefinitionSays) {
  for (const char* name :
       {"first-fit", "load-balanced", "preference", "largest-gap", "reachability"}) {
    Random random(4);
    const FleetFile file =
        file_of(gpu("A100-40GB", "") + "," + gpu("A30-24GB", "1g.6gb@1!", 1) + "," +
                gpu("A100-40GB", "2g.10gb@2! 1g.5gb@6", 2) + "," + gpu("A100-40GB", "", 3));
    Fleet fleet(file);
    const ChosenPolicy policy = *choose_policy(name, {});
    std::vector<std::string> names;
    for (const Geometry& geometry : file.geometries)
      for (const std::string& profile_name : geometry.profile_names())
        names.push_back(profile_name);
    std::vector<std::pair<GpuId, PlacementId>> running;
    for (int step = 0; step < 400; ++step) {
      if (!running.empty() && random.uniform() < 0.45) {
        const std::size_t which = random.below(running.size());
        fleet.release(running[which].first, running[which].second);
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(which));
        continue;
      }
      const std::string& wanted = names[random.below(names.size())];
      const auto decision =
          decide_by_scan(fleet, resolve(profile(wanted), file.geometries), policy);
      std::string got = "nowhere";
      if (decision)
        got = file.gpus[index(decision->gpu)].name + ": " +
              layout_text(fleet.geometry(fleet[decision->gpu]),
                          PlacementSet::of(decision->placement));
      ASSERT_EQ(got, by_its_definition(name, file, fleet, wanted)) << name << " step " << step;
      if (!decision) continue;
      fleet.hold(decision->gpu, decision->placement);
      running.emplace_back(decision->gpu, decision->placement);
    }
  }
}

// Random arrivals and departures on a mixed fleet with walls. After each: the rules hold, the
// decision is the paper's, and nothing but idle instances of ours was destroyed.
TEST(Laws, RandomArrivalsAndDepartures) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    const FleetFile file =
        file_of(gpu("A100-40GB", "") + "," + gpu("A30-24GB", "1g.6gb@1!", 1) + "," +
                    gpu("A100-40GB", "2g.10gb@2! 1g.5gb@6", 2) + "," +
                    gpu("RTX-PRO-6000-BW-96GB", "", 3) + "," + gpu("A100-40GB", "", 4),
                seed % 2 == 0 ? "all" : "plain");
    Fleet fleet(file);
    const bool rise = seed % 3 == 0;
    const ChosenPolicy policy = *choose_policy(
        "fragmentation",
        {{"threshold", seed % 4 == 0 ? "0.7" : "0.4"}, {"across", rise ? "rise" : "result"}});
    std::vector<std::string> names;
    for (const Geometry& geometry : file.geometries)
      for (const std::string& name : geometry.profile_names()) names.push_back(name);
    std::vector<std::pair<GpuId, PlacementId>> running;
    for (int step = 0; step < 300; ++step) {
      if (!running.empty() && random.uniform() < 0.45) {
        const std::size_t which = random.below(running.size());
        fleet.release(running[which].first, running[which].second);
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(which));
      } else {
        const std::string& wanted = names[random.below(names.size())];
        const ResolvedRequest request = resolve(profile(wanted), file.geometries);
        const auto decision = decide_by_scan(fleet, request, policy);
        std::string got = "nowhere";
        if (decision) {
          const Geometry& geometry = fleet.geometry(fleet[decision->gpu]);
          got = file.gpus[index(decision->gpu)].name + ": " +
                layout_text(geometry, PlacementSet::of(decision->placement)) +
                (decision->reuse ? " reuse" : "");
          ASSERT_TRUE((decision->destroys - fleet[decision->gpu].idle).empty());
        }
        ASSERT_EQ(got, by_the_paper(file, fleet, wanted, policy.options.threshold, rise))
            << "seed " << seed << " step " << step;
        if (decision) {
          fleet.hold(decision->gpu, decision->placement);
          running.emplace_back(decision->gpu, decision->placement);
        }
      }
      for (const GpuState& state : fleet.gpus()) {
        const Geometry& geometry = fleet.geometry(state);
        ASSERT_TRUE(geometry.legal(state.held | state.idle | state.walls));
        ASSERT_EQ(fleet.graph(state).state(state.occupied), state.held | state.walls);
        ASSERT_FALSE(state.held.meets(state.idle) || state.walls.meets(state.held | state.idle));
        ASSERT_EQ(geometry.compute(state.held).value, state.held_compute);
        ASSERT_EQ(geometry.memory(state.held).value, state.held_memory);
      }
      ASSERT_EQ(fleet.gpus()[1].walls.size(), 1);
      ASSERT_EQ(fleet.gpus()[2].walls.size(), 1);
    }
  }
}

/// Where a request for a 3g goes on two GPUs with an instance each.
std::string place_of_3g(std::string_view first, int first_start, std::string_view second,
                        int second_start, const char* tie) {
  auto file = parse_fleet_in_short("2xA100-80GB", ProfileChoice());
  const auto hold = [&](std::size_t gpu, std::string_view profile, int start) {
    InstanceEntry held;
    held.placement = *file->geometries[0].find(profile, start);
    held.workload = fmt::format("w{}", gpu);
    file->gpus[gpu].instances.push_back(held);
  };
  hold(0, first, first_start);
  hold(1, second, second_start);
  const Fleet fleet(*file);
  const ResolvedRequest request = resolve({ByProfile{"3g.40gb"}, std::nullopt}, file->geometries);
  const auto decision =
      decide_by_scan(fleet, request, *choose_policy("fragmentation", {{"tie", tie}}));
  return fmt::format("{}@{}", index(decision->gpu), file->geometries[0][decision->placement].start);
}

// *Optimal Workload Placement*, figure 3: only one of the two keeps room for a 4g. Fragmentation is
// the same after both, so that the tie decides; where it is not the same, the tie changes nothing.
TEST(Fragmentation, TheTieByWasteKeepsRoomForA4g) {
  EXPECT_EQ(place_of_3g("1g.20gb", 6, "1g.10gb", 0, "lowest"), "0@0");
  EXPECT_EQ(place_of_3g("1g.20gb", 6, "1g.10gb", 0, "waste"), "1@4");
  EXPECT_EQ(place_of_3g("3g.40gb", 4, "4g.40gb", 0, "lowest"), "0@0");
  EXPECT_EQ(place_of_3g("3g.40gb", 4, "4g.40gb", 0, "waste"), "1@4");
  EXPECT_EQ(place_of_3g("1g.10gb", 0, "1g.20gb", 6, "waste"), "0@4");
  for (const char* tie : {"lowest", "waste"})
    EXPECT_EQ(place_of_3g("1g.10gb", 1, "7g.80gb", 0, tie), "0@4");
}

}  // namespace
}  // namespace cleave
