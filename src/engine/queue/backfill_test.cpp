// Backfill, with and without its index, against its definition, written slowly: every spot at every
// time that matters; for jobs of several places, every choice of GPUs. The schedulers are driven
// through the engine with random jobs, exact and wrong times, and GPUs that come and go.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/format.hpp"
#include "base/random.hpp"
#include "base/sanitized_test.hpp"
#include "engine/command_words_test.hpp"
#include "engine/engine.hpp"
#include "engine/queue/slow_gangs_test.hpp"
#include "model/fleet_file.hpp"

namespace cleave {
namespace {

using namespace std::chrono_literals;

constexpr auto forever = Instant::max();

Instant at(std::int64_t seconds) {
  return Instant{} + std::chrono::seconds(seconds);
}

/// A job: its true time and the one that is told, in seconds on one compute slice.
struct TestJob {
  Request asked;
  std::int64_t priority = 0, true_s = 1;
  std::optional<std::int64_t> told_s;
  JobId others{};  // its processes but the first
};

class ToldTimes final : public JobFacts {
 public:
  ToldTimes(const Fleet& fleet, const std::vector<TestJob>& jobs) : fleet_(fleet), jobs_(jobs) {}

  [[nodiscard]] std::int64_t priority(JobId job) const override {
    return jobs_[index(gang(job).leader)].priority;
  }
  [[nodiscard]] Gang gang(JobId job) const override {
    const auto found = leader_.find(job);
    const JobId leader = found == leader_.end() ? job : found->second;
    return {leader, jobs_[index(leader)].others, jobs_[index(leader)].asked.places};
  }
  /// Their other processes have numbers behind all jobs.
  void number_processes(std::vector<TestJob>& jobs) {
    std::size_t next = jobs.size();
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      jobs[i].others = static_cast<JobId>(next);
      for (std::uint32_t rank = 1; rank < jobs[i].asked.places; ++rank)
        leader_[static_cast<JobId>(next++)] = static_cast<JobId>(i);
    }
  }
  [[nodiscard]] std::optional<Duration> time_on(JobId job, std::size_t kind,
                                                int profile) const override {
    const auto& told = jobs_[index(gang(job).leader)].told_s;
    const GpuModel& model = fleet_.graphs()[kind]->geometry().model();
    if (!told) return std::nullopt;
    return std::chrono::seconds(
        *told / model.profiles[static_cast<std::size_t>(profile)].compute.value + 1);
  }

 private:
  const Fleet& fleet_;
  const std::vector<TestJob>& jobs_;
  std::map<JobId, JobId> leader_;  // by process
};

/// Where a scheduler may put jobs, and in which order it prefers places.
class SlowRule {
 public:
  SlowRule(const Fleet& fleet, const RequestTable& requests, bool whole, PlacementSet layout)
      : fleet_(fleet), requests_(requests), whole_(whole), layout_(layout) {}

  /// Best first.
  [[nodiscard]] std::vector<Place> places(RequestId request) const {
    std::vector<Place> all;
    for (unsigned gpu = 0; gpu < fleet_.size(); ++gpu) {
      const std::size_t kind = fleet_[static_cast<GpuId>(gpu)].kind;
      if (whole_ && !requests_[request].candidates[kind].empty()) all.push_back({gpu, -1});
      if (whole_) continue;
      for (const PlacementId id : requests_[request].holds[kind] & layout_)
        all.push_back({gpu, id});
    }
    std::ranges::stable_sort(all, {}, [&](const Place& place) {
      return std::tuple(slices(place), place.gpu, start(place));
    });
    return all;
  }
  [[nodiscard]] const Request& asked(RequestId request) const { return requests_[request].request; }
  [[nodiscard]] const Fleet& fleet() const { return fleet_; }
  [[nodiscard]] int slices(const Place& place) const {
    const Geometry& rules = geometry(place);
    return place.placement < 0
               ? rules.model().memory_slices.value
               : rules[static_cast<PlacementId>(place.placement)].profile->memory.value;
  }
  [[nodiscard]] int start(const Place& place) const {
    return place.placement < 0 ? 0
                               : geometry(place)[static_cast<PlacementId>(place.placement)].start;
  }
  [[nodiscard]] const Geometry& geometry(const Place& place) const {
    return fleet_.geometry(fleet_[static_cast<GpuId>(place.gpu)]);
  }
  [[nodiscard]] bool meet(const Place& a, const Place& b) const {
    if (a.gpu != b.gpu) return false;
    if (a.placement < 0 || b.placement < 0) return true;
    const Geometry& rules = geometry(a);
    return (rules[static_cast<PlacementId>(a.placement)].slices &
            rules[static_cast<PlacementId>(b.placement)].slices) != 0;
  }
  [[nodiscard]] std::optional<Duration> time(const JobFacts& facts, JobId job,
                                             const Place& place) const {
    const Geometry& rules = geometry(place);
    const int profile =
        place.placement < 0
            ? static_cast<int>(&rules.model().largest() - rules.model().profiles.data())
            : rules[static_cast<PlacementId>(place.placement)].profile_index;
    return facts.time_on(job, fleet_[static_cast<GpuId>(place.gpu)].kind, profile);
  }

 private:
  const Fleet& fleet_;
  const RequestTable& requests_;
  bool whole_;
  PlacementSet layout_;
};

/// The definition.
class SlowQueue {
 public:
  SlowQueue(SlowRule rule, const JobFacts& facts, std::size_t reservations)
      : rule_(rule), facts_(facts), most_(reservations) {}

  std::map<JobId, RequestId> waiting;
  struct Running {
    RequestId request;
    std::vector<Place> places;
    Instant told_end;
    Duration patience{};
    /// As far as is known at this time.
    [[nodiscard]] Instant free_from(Instant now) const {
      if (told_end == forever || now > told_end + patience) return forever;
      return std::max(told_end, now);
    }
  };
  std::map<JobId, Running> running;
  std::set<unsigned> away;
  /// The first time that each job was promised, as the head of the queue.
  std::map<JobId, Instant> promised;

  std::vector<std::pair<JobId, Place>> serve(Instant now) {
    std::vector<std::pair<JobId, Place>> started;
    kept_.clear();
    kept_jobs_ = 0;
    std::size_t jobs_started = 0;
    std::vector<JobId> order;
    for (const auto& [job, request] : waiting) order.push_back(job);
    std::ranges::stable_sort(order, {}, [&](JobId job) { return -facts_.priority(job); });
    for (const JobId job : order) {
      const RequestId request = waiting[job];
      const std::vector<Place> places = start_of(job, request, now);
      if (!places.empty()) {
        const auto time = time_on_all(job, places);
        running[job] = {request, places, time ? now + *time : forever,
                        time ? 1min + *time / 10 : Duration{}};
        waiting.erase(job);
        for (std::uint32_t rank = 0; rank < places.size(); ++rank)
          started.emplace_back(facts_.gang(job).member(rank), places[rank]);
        ++jobs_started;
      } else if (kept_jobs_ < most_) {
        const std::size_t before = kept_.size();
        if (gang(request)) {
          keep_gang(job, request, now);
        } else {
          keep(job, request, now);
        }
        if (kept_.size() > before) ++kept_jobs_;
        if (kept_jobs_ == 1 && before == 0 && !kept_.empty() && !promised.contains(job) &&
            job == order[jobs_started])
          promised[job] = kept_.front().from;
      }
      if (most_ == 0 && waiting.contains(job)) break;
    }
    return started;
  }

 private:
  struct Kept {
    Place place;
    Instant from, end;
  };

  [[nodiscard]] bool gang(RequestId request) const { return seated_together(rule_.asked(request)); }

  [[nodiscard]] std::optional<Duration> time_on_all(JobId job,
                                                    const std::vector<Place>& places) const {
    std::optional<Duration> longest = Duration{};
    for (const Place& place : places) {
      const auto time = rule_.time(facts_, job, place);
      if (!time) return std::nullopt;
      longest = std::max(longest, time);
    }
    return longest;
  }

  std::vector<Place> start_of(JobId job, RequestId request, Instant now) {
    if (gang(request)) return gang_now(job, request, now);
    const auto place = free_now(job, request, now);
    return place ? std::vector{*place} : std::vector<Place>{};
  }

  // Gangs. One that takes so long may have those of the places on which it takes no longer.

  [[nodiscard]] SlowRooms rooms(JobId job, RequestId request, std::optional<Duration> longest,
                                const std::function<bool(const Place&)>& free) const {
    SlowRooms rooms(rule_.fleet());
    for (const Place& place : rule_.places(request)) {
      const auto time = rule_.time(facts_, job, place);
      if (!away.contains(place.gpu) && (!longest || (time && *time <= *longest)) && free(place))
        rooms.add(place);
    }
    return rooms;
  }

  /// The longest first; unknown ones before.
  [[nodiscard]] std::vector<std::optional<Duration>> times(JobId job, RequestId request) const {
    std::set<std::optional<Duration>> all;
    for (const Place& place : rule_.places(request)) all.insert(rule_.time(facts_, job, place));
    std::vector<std::optional<Duration>> sorted(all.rbegin(), all.rend());
    if (all.contains(std::nullopt)) std::ranges::rotate(sorted, sorted.end() - 1);
    return sorted;
  }

  std::vector<Place> gang_now(JobId job, RequestId request, Instant now) {
    for (const auto longest : times(job, request)) {
      const SlowRooms free = rooms(job, request, longest, [&](const Place& place) {
        for (const auto& [other, run] : running)
          if (meets(run, place)) return false;
        return std::ranges::none_of(kept_, [&](const Kept& kept) {
          return rule_.meet(kept.place, place) &&
                 (kept.from == forever || !longest || now + *longest > kept.from);
        });
      });
      const Request& asked = rule_.asked(request);
      if (free.fits(asked)) return free.choose(asked);
    }
    return {};
  }

  void keep_gang(JobId job, RequestId request, Instant now) {
    const Request& asked = rule_.asked(request);
    std::optional<std::pair<Instant, std::vector<Place>>> best;
    for (const auto longest : times(job, request))
      for (const Instant from : times_that_matter(now)) {
        if (best && best->first <= from) break;
        const SlowRooms free = rooms(job, request, longest, [&](const Place& place) {
          return free_for(longest, place, from, now);
        });
        if (!free.fits(asked)) continue;
        best = {from, free.choose(asked)};
        break;
      }
    if (!best) {
      const SlowRooms ever = rooms(job, request, std::nullopt, [&](const Place& place) {
        return std::ranges::none_of(kept_, [&](const Kept& kept) {
          return kept.end == forever && rule_.meet(kept.place, place);
        });
      });
      const auto cheapest = ever.cheapest(asked, [&](const Place& place) {
        return std::pair(in_the_way(place), rule_.slices(place));
      });
      if (!cheapest.empty()) best = {forever, cheapest};
    }
    if (!best) return;
    const auto time = time_on_all(job, best->second);
    for (const Place& place : best->second)
      kept_.push_back(
          {place, best->first, best->first == forever || !time ? forever : best->first + *time});
  }

  [[nodiscard]] bool meets(const Running& run, const Place& place) const {
    return std::ranges::any_of(run.places,
                               [&](const Place& each) { return rule_.meet(each, place); });
  }

  [[nodiscard]] std::set<Instant> times_that_matter(Instant now) const {
    std::set<Instant> times{now};
    for (const auto& [other, run] : running)
      if (run.free_from(now) != forever) times.insert(run.free_from(now));
    for (const Kept& kept : kept_)
      if (kept.end != forever) times.insert(kept.end);
    return times;
  }

  [[nodiscard]] int in_the_way(const Place& place) const {
    int slices = 0;
    for (const auto& [other, run] : running)
      for (const Place& each : run.places)
        if (rule_.meet(each, place)) slices += slices_covered(each);
    return slices;
  }

  std::optional<Place> free_now(JobId job, RequestId request, Instant now) {
    for (const bool beside : {false, true}) {  // reserved GPUs last, by number
      std::optional<Place> found;
      for (const Place& place : rule_.places(request)) {
        if (away.contains(place.gpu) || has_kept(place.gpu) != beside) continue;
        if (found && (!beside || found->gpu <= place.gpu)) continue;
        if (allowed_now(job, place, now)) found = place;
      }
      if (found) return found;
    }
    return std::nullopt;
  }

  bool has_kept(unsigned gpu) const {
    return std::ranges::any_of(kept_, [&](const Kept& kept) { return kept.place.gpu == gpu; });
  }

  bool allowed_now(JobId job, const Place& place, Instant now) const {
    for (const auto& [other, run] : running)
      if (meets(run, place)) return false;
    const auto time = rule_.time(facts_, job, place);
    for (const Kept& kept : kept_)
      if (rule_.meet(kept.place, place) &&
          (kept.from == forever || !time || now + *time > kept.from))
        return false;
    return true;
  }

  bool free_at(JobId job, const Place& place, Instant from, Instant now) const {
    return free_for(rule_.time(facts_, job, place), place, from, now);
  }

  bool free_for(std::optional<Duration> time, const Place& place, Instant from, Instant now) const {
    for (const auto& [other, run] : running)
      if (meets(run, place) && run.free_from(now) > from) return false;
    for (const Kept& kept : kept_) {
      if (!rule_.meet(kept.place, place) || from >= kept.end) continue;
      if (kept.from == forever || !time || from + *time > kept.from) return false;
    }
    return true;
  }

  void keep(JobId job, RequestId request, Instant now) {
    const std::set<Instant> times = times_that_matter(now);
    std::optional<std::tuple<Instant, int, int, Place>> best;
    for (const Place& place : rule_.places(request)) {
      if (away.contains(place.gpu)) continue;
      for (const Instant from : times) {
        if (!free_at(job, place, from, now)) continue;
        const std::tuple rank{from, 0, rule_.slices(place), place};
        if (!best || rank < *best) best = rank;
        break;
      }
      const bool kept_for_long = std::ranges::any_of(kept_, [&](const Kept& kept) {
        return kept.end == forever && rule_.meet(kept.place, place);
      });
      if (kept_for_long) continue;
      const std::tuple rank{forever, in_the_way(place), rule_.slices(place), place};
      if (!best || rank < *best) best = rank;
    }
    if (!best) return;
    const auto [from, ways, slices, place] = *best;
    const auto time = rule_.time(facts_, job, place);
    kept_.push_back({place, from, from == forever || !time ? forever : from + *time});
  }

  [[nodiscard]] int slices_covered(const Place& place) const {
    if (place.placement < 0) return rule_.slices(place);
    return std::popcount(rule_.geometry(place)[static_cast<PlacementId>(place.placement)].slices);
  }

  SlowRule rule_;
  const JobFacts& facts_;
  std::size_t most_, kept_jobs_ = 0;
  std::vector<Kept> kept_;
};

/// One random run of a scheduler beside the definition.
class Beside {
 public:
  Beside(std::uint64_t seed, const std::string& scheduler, const std::string& backfill, bool gangs)
      : random_(seed),
        whole_(scheduler == "full-gpu"),
        gangs_(gangs),
        at_once_(whole_ && backfill == "none" && !gangs),
        file_(fleet_file()),
        fleet_(file_),
        requests_(file_.geometries),
        layout_(layout()),
        facts_(fleet_, jobs_),
        exact_(random_.below(2) == 0),
        slow_({fleet_, requests_, whole_, layout_}, facts_,
              backfill == "none"   ? 0
              : backfill == "easy" ? 1
                                   : 1'000'000) {
    std::string spec = scheduler + (whole_ ? ":" : ":layout=" + layout_text_ + ";");
    spec += "backfill=" + backfill;
    engine_.emplace(*Engine::make(*parse_scheduler(spec),
                                  {.fleet = fleet_,
                                   .requests = requests_,
                                   .use_index = seed % 3 > 0,
                                   .facts = &facts_,
                                   .gangs = gangs},
                                  requests_, nullptr));
    const std::size_t count = 20 + random_.below(60);
    const bool all_known = random_.below(2) == 0;
    for (std::size_t i = 0; i < count; ++i) jobs_.push_back(job(all_known));
    facts_.number_processes(jobs_);
  }

  void run() {
    std::size_t next = 0;
    std::int64_t now = 0;
    settle(now);
    while ((next < jobs_.size() || !ends_.empty()) && !testing::Test::HasFailure()) {
      now += 1 + static_cast<std::int64_t>(random_.below(15));
      std::vector<Command> commands;
      for (auto end = ends_.begin(); end != ends_.end() && end->first <= now;) {
        slow_.running.erase(end->second);
        engine_->on(Finished{end->second}, at(now), commands);
        end = ends_.erase(end);
        if (at_once_) expect(commands, now);
      }
      if (!faults_ && random_.below(40) == 0) {
        faults_ = true;
        toggle(now, commands);
      } else if (faults_ && random_.below(10) == 0) {
        faults_ = false;
        toggle(now, commands);
      }
      for (std::size_t burst = random_.below(4); burst > 0 && next < jobs_.size(); --burst) {
        const auto id = static_cast<JobId>(next);
        const RequestId request = requests_.intern(jobs_[next++].asked);
        slow_.waiting[id] = request;
        // A job of higher priority need not respect what was promised to others.
        if (jobs_[index(id)].priority > 0) slow_.promised.clear();
        engine_->on(Submitted{id, request}, at(now), commands);
        if (at_once_) expect(commands, now);
      }
      if (!at_once_) {
        engine_->settle(at(now), commands);
        expect(commands, now);
      }
    }
  }

  std::size_t overtaken = 0, promises = 0, gangs_started = 0;
  [[nodiscard]] bool exact() const { return exact_; }

 private:
  FleetFile fleet_file() {
    FleetFile file = *parse_fleet_in_short(fleet_text(), *ProfileChoice::parse("plain"));
    std::size_t node = 0;
    for (std::size_t i = 0; gangs_ && i < file.gpus.size(); ++i) {
      node += random_.below(2);
      file.gpus[i].name = fmt::format("n{}/{}", node, i);
    }
    return file;
  }
  std::string fleet_text() {
    const std::size_t a100 = 1 + random_.below(4);
    if (!whole_) return fmt::format("{}xA100-40GB", a100);
    return fmt::format("{}xA100-40GB,{}xA30-24GB", a100, 1 + random_.below(3));
  }
  PlacementSet layout() {
    constexpr std::string_view layouts[] = {
        "3g.20gb@0+2g.10gb@4+1g.5gb@6", "4g.20gb@0+2g.10gb@4+1g.5gb@6",
        "2g.10gb@0+2g.10gb@2+1g.5gb@4+1g.5gb@5+1g.5gb@6", "3g.20gb@0+3g.20gb@4"};
    layout_text_ = layouts[random_.below(std::size(layouts))];
    PlacementSet set;
    if (whole_) return set;
    for (const std::string_view each : split(layout_text_, '+'))
      set.insert(*file_.geometries.front().find(each.substr(0, each.find('@')), each.back() - '0'));
    return set;
  }
  TestJob job(bool all_known) {
    constexpr std::string_view sizes[] = {"1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb"};
    constexpr std::string_view models[] = {"A100-40GB:7g.40gb", "A30-24GB:4g.24gb", "1g.6gb",
                                           "1g.5gb"};
    TestJob job;
    job.asked.wanted =
        ByProfile{std::string(whole_ ? models[random_.below(4)] : sizes[random_.below(4)])};
    if (gangs_ && random_.below(3) == 0) {
      constexpr Together together[] = {Together::anywhere, Together::gpu, Together::node,
                                       Together::spread};
      if (whole_ && random_.below(2) == 0) job.asked.wanted = WholeGpu{};
      job.asked.places = 1 + static_cast<std::uint32_t>(random_.below(6));
      job.asked.together = together[random_.below(4)];
    }
    job.priority = static_cast<std::int64_t>(random_.below(8) == 0);
    job.true_s = 1 + static_cast<std::int64_t>(random_.below(random_.below(8) == 0 ? 3000 : 300));
    if (exact_)
      job.told_s = job.true_s;
    else if (all_known || random_.below(3) > 0)
      job.told_s = 1 + static_cast<std::int64_t>(random_.below(300));
    return job;
  }
  void toggle(std::int64_t now, std::vector<Command>& commands) {
    if (!slow_.away.empty()) {
      const unsigned gpu = *slow_.away.begin();
      slow_.away.clear();
      engine_->on(GpuReturned{static_cast<GpuId>(gpu)}, at(now), commands);
    } else {
      const auto gpu = static_cast<unsigned>(random_.below(fleet_.size()));
      slow_.away.insert(gpu);
      std::erase_if(slow_.running, [&](const auto& each) {
        if (std::ranges::find(each.second.places, gpu, &Place::gpu) == each.second.places.end())
          return false;
        slow_.waiting[each.first] = each.second.request;
        std::erase_if(ends_, [&](const auto& end) { return end.second == each.first; });
        return true;
      });
      engine_->on(GpuLost{static_cast<GpuId>(gpu)}, at(now), commands);
      slow_.promised.clear();
      broken_ = true;
    }
    if (at_once_) expect(commands, now);
  }
  void settle(std::int64_t now) {
    std::vector<Command> commands;
    engine_->settle(at(now), commands);
    expect(commands, now);
  }

  void expect(std::vector<Command>& commands, std::int64_t now) {
    std::vector<std::pair<JobId, Place>> starts;
    for (const Command& command : commands) {
      if (const auto* start = std::get_if<StartJob>(&command))
        starts.emplace_back(start->job,
                            Place{static_cast<unsigned>(index(start->gpu)), start->placement});
      if (const auto* rejected = std::get_if<RejectJob>(&command))
        slow_.waiting.erase(rejected->job);
      if (const auto* start = std::get_if<StartOnWholeGpu>(&command))
        starts.emplace_back(start->job, Place{static_cast<unsigned>(index(start->gpu)), -1});
    }
    commands.clear();
    const auto defined = slow_.serve(at(now));
    EXPECT_EQ(words(starts), words(defined)) << "at " << now;
    std::map<JobId, std::int64_t> true_end;
    for (const auto& [process, place] : starts) {
      const JobId job = facts_.gang(process).leader;
      const std::int64_t slices =
          place.placement < 0 ? fleet_.geometry(fleet_[static_cast<GpuId>(place.gpu)])
                                    .model()
                                    .largest()
                                    .compute.value
                              : file_.geometries.front()[static_cast<PlacementId>(place.placement)]
                                    .profile->compute.value;
      std::int64_t& end = true_end[job];
      end = std::max(end, now + jobs_[index(job)].true_s / slices + 1);
      if (process != job) continue;
      if (jobs_[index(job)].asked.places > 1) ++gangs_started;
      if (std::ranges::any_of(slow_.waiting, [&](const auto& each) { return each.first < job; }))
        ++overtaken;
      // Where times are exact, no job starts later than was promised first.
      const auto promise = slow_.promised.find(job);
      if (exact_ && !broken_ && promise != slow_.promised.end()) {
        ++promises;
        EXPECT_LE(at(now), promise->second + 15s) << index(job);  // events are that far apart
      }
    }
    for (const auto& [job, end] : true_end) ends_.emplace(end, job);
  }
  static std::string words(const std::vector<std::pair<JobId, Place>>& starts) {
    std::string text;
    for (const auto& [job, place] : starts)
      text += fmt::format("{} on {}/{} ", index(job), place.gpu, place.placement);
    return text;
  }

  Random random_;
  bool whole_, gangs_, at_once_;  // at_once_: it answers each event by itself
  FleetFile file_;
  Fleet fleet_;
  RequestTable requests_;
  std::string layout_text_;
  PlacementSet layout_;
  std::vector<TestJob> jobs_;
  ToldTimes facts_;
  bool exact_, faults_ = false, broken_ = false;
  SlowQueue slow_;
  std::optional<Engine> engine_;
  std::multimap<std::int64_t, JobId> ends_;
};

void compare_with_definition(bool gangs) {
  constexpr std::uint64_t seeds = sanitized ? 200 : 1000;
  std::size_t overtaken[3] = {}, promises = 0, gangs_started = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const std::string scheduler = seed % 2 == 0 ? "full-gpu" : "static";
    constexpr const char* kinds[] = {"none", "easy", "conservative"};
    const std::size_t kind = seed / 2 % 9 == 0 ? 0 : 1 + seed / 2 % 2;
    SCOPED_TRACE(fmt::format("seed {} {} {}", seed, scheduler, kinds[kind]));
    Beside run(seed, scheduler, kinds[kind], gangs);
    run.run();
    overtaken[kind] += run.overtaken;
    promises += run.promises;
    gangs_started += run.gangs_started;
    if (testing::Test::HasFailure()) return;
  }
  // Otherwise nothing was tried.
  EXPECT_GT(overtaken[1], seeds);
  EXPECT_GT(overtaken[2], seeds);
  EXPECT_GT(promises, seeds / 2);
  EXPECT_EQ(gangs_started > 5 * seeds, gangs);
}

TEST(Backfill, IsWhatItsDefinitionSays) {
  compare_with_definition(false);
}

TEST(Backfill, OfGangsIsWhatItsDefinitionSays) {
  compare_with_definition(true);
}

}  // namespace
}  // namespace cleave
