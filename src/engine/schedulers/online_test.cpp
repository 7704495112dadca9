// The online scheduler: its departures by hand, against a reference written from the paper's steps,
// and with and without the index.

#include <gtest/gtest.h>

#include <map>

#include "base/format.hpp"
#include "base/random.hpp"
#include "engine/engine.hpp"
#include "engine/schedulers/online.hpp"
#include "model/layout_text.hpp"
#include "placement/policy.hpp"

namespace cleave {
namespace {

/// Every third job may not move.
class SomeMovable final : public JobFacts {
 public:
  [[nodiscard]] bool movable(JobId job) const override { return may_move(job); }
  static bool may_move(JobId job) { return index(job) % 3 != 2; }
};

std::string word(const Geometry& rules, const char* what, GpuId gpu, PlacementId placement) {
  return fmt::format("{} {} {}", what, index(gpu), layout_text(rules, PlacementSet::of(placement)));
}

/// Drives one scheduler; answers as text.
class Online {
 public:
  Online(const std::string& spec, const FleetFile& file, bool use_index = true)
      : fleet_(file),
        requests_(file.geometries),
        spec_(*parse_scheduler(spec)),
        engine_(*Engine::make(spec_, {fleet_, requests_, use_index, &facts_}, requests_, nullptr)) {
  }

  std::string tell(const Event& event) {
    std::vector<Command> commands;
    engine_.on(event, Instant{}, commands);
    engine_.settle(Instant{}, commands);
    std::string text;
    for (const Command& command : commands) {
      note(command);
      text += show(command) + "\n";
    }
    return text;
  }
  std::string submit(std::uint32_t job, const std::string& profile) {
    return tell(Submitted{static_cast<JobId>(job), requests_.intern({ByProfile{profile}, {}})});
  }
  std::string finish(std::uint32_t job) { return tell(Finished{static_cast<JobId>(job)}); }

  /// Where each running job is.
  std::map<JobId, GpuId> running;

 private:
  void note(const Command& command) {
    if (const auto* start = std::get_if<StartJob>(&command)) running[start->job] = start->gpu;
    if (const auto* move = std::get_if<MigrateJob>(&command)) running[move->job] = move->gpu;
  }
  const Geometry& rules(GpuId gpu) const { return fleet_.geometry(fleet_[gpu]); }
  std::string show(const Command& command) const {
    if (const auto* what = std::get_if<DestroyInstance>(&command))
      return word(rules(what->gpu), "destroy", what->gpu, what->placement);
    if (const auto* what = std::get_if<CreateInstance>(&command))
      return word(rules(what->gpu), "create", what->gpu, what->placement);
    if (const auto* what = std::get_if<StartJob>(&command))
      return fmt::format("{}: {}", index(what->job),
                         word(rules(what->gpu), "start", what->gpu, what->placement));
    if (const auto* what = std::get_if<MigrateJob>(&command))
      return fmt::format("{}: {}", index(what->job),
                         word(rules(what->gpu), "migrate", what->gpu, what->placement));
    if (const auto* what = std::get_if<RejectJob>(&command))
      return fmt::format("{}: reject", index(what->job));
    if (const auto* what = std::get_if<FailJob>(&command))
      return fmt::format("{}: fail", index(what->job));
    return "something else";
  }

  Fleet fleet_;
  RequestTable requests_;
  SomeMovable facts_;
  SchedulerSpec spec_;
  Engine engine_;
};

FleetFile fleet_of(std::string_view text) {
  return *parse_fleet_in_short(text, *ProfileChoice::parse("plain"));
}

// The paper's steps, on A100s of one kind, with nothing but lists. Costs in 420ths of a profile:
// every ideal number is at most 7 and divides that.
struct Reference {
  struct Gpu {
    std::map<PlacementId, JobId> jobs;
    PlacementSet idle;
  };
  struct Options {
    Ratio threshold{2, 5};
    bool automatic = false, intra = true, inter = true, before = false, guard = false,
         dynamic = true;
  };

  Reference(const FleetFile& file, const Options& chosen)
      : rules(file.geometries.front()), options(chosen), gpus(file.gpus.size()) {
    for (std::size_t i = 0; i < gpus.size(); ++i)
      for (const InstanceEntry& instance : file.gpus[i].instances)
        gpus[i].idle.insert(instance.placement);
  }

  static PlacementSet held(const Gpu& gpu) {
    PlacementSet set;
    for (const auto& [placement, job] : gpu.jobs) set.insert(placement);
    return set;
  }
  int cost(PlacementSet occupied) const {
    const int compute = rules.model().compute.value - rules.compute(occupied).value;
    const int memory = rules.model().memory_slices.value - rules.memory(occupied).value;
    int sum = 0;
    for (const Profile* profile : rules.profile_list()) {
      const int ideal = std::min(compute / profile->compute.value, memory / profile->memory.value);
      if (ideal == 0) continue;
      int valid = 0;
      for (const PlacementId start :
           rules.of_profile(static_cast<int>(profile - rules.model().profiles.data())))
        valid += free(occupied, start) ? 1 : 0;
      sum += (ideal - valid) * 420 / ideal;
    }
    return sum;
  }
  bool free(PlacementSet occupied, PlacementId placement) const {
    return !occupied.contains(placement) && !occupied.meets(rules[placement].conflicts);
  }
  int load(const Gpu& gpu) const { return rules.compute(held(gpu)).value; }
  bool busy(const Gpu& gpu) const {
    int all = 0;
    for (const Gpu& each : gpus) all += load(each);
    const Ratio average(all, 7 * static_cast<std::int64_t>(gpus.size()));
    return Ratio(load(gpu), 7) >= (options.automatic ? average : options.threshold);
  }
  bool open(const Gpu& gpu, PlacementSet occupied, PlacementId placement) const {
    return free(occupied, placement) && (options.dynamic || gpu.idle.contains(placement));
  }
  int profile_of(PlacementId placement) const { return rules[placement].profile_index; }

  void make(std::size_t number, PlacementId placement, std::string& text) {
    Gpu& gpu = gpus[number];
    const auto id = static_cast<GpuId>(number);
    if (!gpu.idle.contains(placement)) {
      for (const PlacementId idle : gpu.idle& rules[placement].conflicts) {
        text += word(rules, "destroy", id, idle) + "\n";
        gpu.idle.erase(idle);
      }
      text += word(rules, "create", id, placement) + "\n";
    }
    gpu.idle.erase(placement);
  }

  using Choice = std::tuple<int, bool, std::size_t, int, PlacementId>;

  bool start(JobId job, int profile, std::string& text) {
    for (const bool busy_ones : {false, true}) {
      std::optional<Choice> best;
      for (std::size_t i = 0; i < gpus.size(); ++i) {
        if (busy(gpus[i]) != busy_ones) continue;
        for (const PlacementId to : rules.of_profile(profile)) {
          if (!open(gpus[i], held(gpus[i]), to)) continue;
          const Choice choice{cost(held(gpus[i]) | PlacementSet::of(to)),
                              !gpus[i].idle.contains(to), i, rules[to].start, to};
          if (!best || choice < *best) best = choice;
        }
      }
      if (!best) continue;
      const std::size_t gpu = std::get<2>(*best);
      const PlacementId to = std::get<4>(*best);
      make(gpu, to, text);
      gpus[gpu].jobs[to] = job;
      text +=
          fmt::format("{}: {}\n", index(job), word(rules, "start", static_cast<GpuId>(gpu), to));
      return true;
    }
    return false;
  }

  /// Whether a job was moved to the target.
  bool move(std::size_t target, bool intra, std::string& text) {
    using Move = std::tuple<int, bool, int, std::size_t, JobId, PlacementId, PlacementId>;
    std::optional<Move> best;
    Gpu& gpu = gpus[target];
    const int now = cost(held(gpu));
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      if (intra != (i == target) || (!intra && !busy(gpus[i]))) continue;
      for (const auto& [from, job] : gpus[i].jobs) {
        if (!SomeMovable::may_move(job)) continue;
        const int size = rules[from].profile->compute.value;
        if (!intra && load(gpu) + size >= load(gpus[i]) - (options.before ? 0 : size)) continue;
        for (const PlacementId to : rules.of_profile(profile_of(from))) {
          if (!open(gpu, held(gpu), to)) continue;
          PlacementSet after = held(gpu) | PlacementSet::of(to);
          if (intra) after.erase(from);
          if (cost(after) >= now + (intra ? 0 : options.guard ? 1 : 1'000'000)) continue;
          const Move offer{cost(after), !gpu.idle.contains(to), rules[to].start, i, job, from, to};
          if (!best || offer < *best) best = offer;
        }
      }
    }
    if (!best) return false;
    const auto [after, fresh, start, source, job, from, to] = *best;
    make(target, to, text);
    gpu.jobs[to] = job;
    gpus[source].jobs.erase(from);
    gpus[source].idle.insert(from);
    text +=
        fmt::format("{}: {}\n", index(job), word(rules, "migrate", static_cast<GpuId>(target), to));
    return true;
  }

  std::string submit(std::uint32_t number, int profile) {
    std::string text;
    const auto job = static_cast<JobId>(number);
    if (!queue.empty() || !start(job, profile, text)) queue.emplace_back(job, profile);
    return text;
  }
  std::string finish(std::uint32_t number) {
    std::string text;
    std::size_t target = 0;
    for (std::size_t i = 0; i < gpus.size(); ++i)
      for (const auto& [placement, job] : std::map(gpus[i].jobs))
        if (index(job) == number) {
          target = i;
          gpus[i].jobs.erase(placement);
          gpus[i].idle.insert(placement);
        }
    const bool intra = busy(gpus[target]);
    if (intra ? options.intra : options.inter)
      while (move(target, intra, text)) {
      }
    while (!queue.empty() && start(queue.front().first, queue.front().second, text))
      queue.erase(queue.begin());
    return text;
  }

  Geometry rules;
  Options options;
  std::vector<Gpu> gpus;
  std::vector<std::pair<JobId, int>> queue;
};

/// How often something of the kind occurred, over all events.
struct Seen {
  std::size_t moves = 0, starts = 0;
};

Seen compare_with_reference(const FleetFile& file, const std::string& spec,
                            const Reference::Options& options, std::uint64_t seed) {
  Seen seen;
  Online online(spec, file);
  Reference reference(file, options);
  Random random(seed);
  const char* profiles[] = {"1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"};
  const GpuModel& model = file.geometries.front().model();
  for (std::uint32_t next = 0; next < 150;) {
    std::string got, wanted;
    if (online.running.empty() || random.below(100) < 52) {
      const std::size_t last = options.dynamic ? std::size(profiles) : 4;
      const std::string profile = profiles[random.below(last)];
      got = online.submit(next, profile);
      wanted =
          reference.submit(next++, static_cast<int>(model.find(profile) - model.profiles.data()));
    } else {
      auto job = online.running.begin();
      std::advance(job, random.below(online.running.size()));
      const std::uint32_t number = static_cast<std::uint32_t>(index(job->first));
      online.running.erase(job);
      got = online.finish(number);
      wanted = reference.finish(number);
    }
    EXPECT_EQ(got, wanted) << spec << ", seed " << seed << ", job " << next;
    if (got != wanted) return seen;
    seen.moves += got.find("migrate") != std::string::npos ? 1U : 0U;
    seen.starts += got.find("start") != std::string::npos ? 1U : 0U;
  }
  return seen;
}

TEST(Online, DoesWhatTheStepsOfThePaperSay) {
  using Options = Reference::Options;
  const auto with = [](auto&& change) {
    Options options;
    change(options);
    return options;
  };
  const std::pair<const char*, Options> cases[] = {
      {"online", {}},
      {"online:threshold=0.8", with([](Options& o) {
         o.threshold = {4, 5};
       })},
      {"online:threshold=auto", with([](Options& o) { o.automatic = true; })},
      {"online:migration=off", with([](Options& o) { o.intra = o.inter = false; })},
      {"online:migration=intra", with([](Options& o) { o.inter = false; })},
      {"online:migration=inter;guard=on", with([](Options& o) {
         o.intra = false;
         o.guard = true;
       })},
      {"online:eligibility=lowers-imbalance", with([](Options& o) { o.before = true; })},
  };
  for (const auto& [spec, options] : cases) {
    Seen all;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      const Seen seen = compare_with_reference(fleet_of("4xA100-40GB"), spec, options, seed);
      all.moves += seen.moves;
      all.starts += seen.starts;
    }
    EXPECT_GT(all.starts, 300U) << spec;
    EXPECT_EQ(all.moves > 10, options.intra || options.inter) << spec << ": " << all.moves;
  }
}

/// What help shows is what holds: the defaults of policy fragmentation, and no others where the
/// policy has no such options.
TEST(Online, ItsDefaultsAreThoseOfThePolicy) {
  const auto& policy = **find_row(policies(), "fragmentation", "policy");
  for (const char* name : {"threshold", "load"}) {
    const auto row = std::ranges::find(online_options(), name, &OptionRow::name);
    const auto of_policy = std::ranges::find(policy.options, name, &OptionRow::name);
    EXPECT_EQ(row->otherwise, of_policy->otherwise) << name;
  }
  EXPECT_EQ(
      Online("online:policy=first-fit;migration=off", fleet_of("1xA100-40GB")).submit(0, "1g.5gb"),
      "create 0 1g.5gb@0\n0: start 0 1g.5gb@0\n");
}

constexpr std::string_view cut_fleet = R"({"gpus": [
  {"name": "a/%d", "model": "A100-40GB", "count": 3, "instances": [
   {"profile": "3g.20gb", "start": 0},
   {"profile": "2g.10gb", "start": 4}, {"profile": "1g.5gb", "start": 6}]},
  {"name": "b/%d", "model": "A100-40GB", "count": 2, "instances": [
   {"profile": "1g.5gb", "start": 0}, {"profile": "1g.5gb", "start": 1},
   {"profile": "2g.10gb", "start": 2}, {"profile": "3g.20gb", "start": 4}]}]})";

TEST(Online, WithoutDynamicPartitioningOnlyWhatStandsIsUsed) {
  const FleetFile file = *parse_fleet(cut_fleet, "fleet", *ProfileChoice::parse("plain"));
  Reference::Options options;
  options.dynamic = false;
  std::size_t moves = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed)
    moves += compare_with_reference(file, "online:dynamic=off", options, seed).moves;
  EXPECT_GT(moves, 10U);

  Online online("online:dynamic=off", file);
  EXPECT_EQ(online.submit(0, "7g.40gb"), "0: reject\n") << "no GPU has one";
  EXPECT_EQ(online.submit(1, "3g.20gb"), "1: start 3 3g.20gb@4\n")
      << "leaves less fragmentation than at 0";
  online.tell(GpuLost{GpuId{0}});
  EXPECT_EQ(online.tell(GpuReturned{GpuId{0}}),
            "create 0 3g.20gb@0\ncreate 0 2g.10gb@4\ncreate 0 1g.5gb@6\n");
}

TEST(Online, AMoveComesBeforeTheQueueIsServed) {
  Online online("online:threshold=0.1", fleet_of("1xA100-40GB"));
  online.submit(0, "3g.20gb");
  online.submit(1, "2g.10gb");
  online.submit(3, "4g.20gb");
  EXPECT_EQ(online.finish(0),
            "destroy 0 3g.20gb@4\ncreate 0 2g.10gb@4\n1: migrate 0 2g.10gb@4\n"
            "destroy 0 2g.10gb@0\ncreate 0 4g.20gb@0\n3: start 0 4g.20gb@0\n");
}

class SameWithoutIndex : public ::testing::TestWithParam<const char*> {};

TEST_P(SameWithoutIndex, UnderArrivalsEndsAndFaults) {
  const FleetFile file = *parse_fleet(
      R"({"gpus": [
  {"name": "a/%d", "model": "A100-40GB", "count": 3, "instances": [
   {"profile": "1g.5gb", "start": 0}, {"profile": "1g.5gb", "start": 1},
   {"profile": "2g.10gb", "start": 2}, {"profile": "3g.20gb", "start": 4}]},
  {"name": "c", "model": "A100-40GB", "instances": [
   {"profile": "3g.20gb", "start": 4, "workload": "w"}, {"profile": "2g.10gb", "start": 0}]},
  {"name": "b/%d", "model": "A30-24GB", "count": 2, "instances": [
   {"profile": "1g.6gb", "start": 0}, {"profile": "2g.12gb", "start": 2}]}]})",
      "fleet", *ProfileChoice::parse("plain"));
  const char* profiles[] = {"1g.5gb", "2g.10gb", "3g.20gb", "1g.6gb", "2g.12gb", "7g.40gb"};
  std::size_t moves = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Online quick(GetParam(), file), plain(GetParam(), file, false);
    Random random(seed);
    std::vector<bool> absent(file.gpus.size());
    const auto both = [&](const auto& event) {
      const std::string got = quick.tell(event);
      moves += got.find("migrate") != std::string::npos ? 1U : 0U;
      return got == plain.tell(event);
    };
    for (std::uint32_t next = 0; next < 400;) {
      const std::uint64_t what = random.below(100);
      if (what < 3) {
        const auto gpu = static_cast<GpuId>(random.below(file.gpus.size()));
        const bool away = absent[index(gpu)];
        absent[index(gpu)] = !away;
        if (!away) std::erase_if(quick.running, [&](const auto& job) { return job.second == gpu; });
        ASSERT_TRUE(away ? both(GpuReturned{gpu}) : both(GpuLost{gpu})) << seed << " " << next;
      } else if (quick.running.empty() || what < 55) {
        const std::string profile = profiles[random.below(random.below(20) == 0 ? 6 : 5)];
        ASSERT_EQ(quick.submit(next, profile), plain.submit(next, profile)) << seed << " " << next;
        ++next;
      } else {
        auto job = quick.running.begin();
        std::advance(job, random.below(quick.running.size()));
        const JobId id = job->first;
        quick.running.erase(job);
        const bool dies = random.below(8) == 0;
        ASSERT_TRUE(dies ? both(OutOfMemory{id, MiB{6000}}) : both(Finished{id}))
            << seed << " " << next;
      }
    }
  }
  EXPECT_EQ(moves > 0, std::string_view(GetParam()).find("migration=off") == std::string_view::npos)
      << moves;
}

INSTANTIATE_TEST_SUITE_P(
    Options, SameWithoutIndex,
    ::testing::Values("online", "online:threshold=auto", "online:threshold=auto;load=memory",
                      "online:threshold=auto;load=joint;across=rise",
                      "online:threshold=auto;migration=off",
                      "online:threshold=auto;migration=inter;eligibility=lowers-imbalance",
                      "online:dynamic=off", "online:dynamic=off;threshold=auto",
                      "online:policy=first-fit;threshold=0.6;load=joint",
                      "online:policy=preference;threshold=auto;guard=on", "online:migration=off"));

}  // namespace
}  // namespace cleave
