// Jobs of several places among others, under every scheduler that takes them and with true times:
// all processes of a gang start at once on legal places as far apart as was asked, and from the
// moment that a job leads the queue it starts within the longest time for which what then runs goes
// on. So neither wide jobs nor what waits behind them starve.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/format.hpp"
#include "base/random.hpp"
#include "engine/engine.hpp"
#include "model/fleet_file.hpp"

namespace cleave {
namespace {

Instant at(std::int64_t seconds) {
  return Instant{} + std::chrono::seconds(seconds);
}

struct Given {
  Request asked;
  std::int64_t arrival_s = 0, work_s = 0;  // work: the time on one compute slice
  JobId others{};
};

class TrueTimes final : public JobFacts {
 public:
  TrueTimes(const Fleet& fleet, const std::vector<Given>& jobs) : fleet_(fleet), jobs_(jobs) {
    for (std::size_t i = 0; i < jobs.size(); ++i)
      for (std::uint32_t rank = 1; rank < jobs[i].asked.places; ++rank)
        leaders_[static_cast<JobId>(index(jobs[i].others) + rank - 1)] = static_cast<JobId>(i);
  }
  [[nodiscard]] JobId leader(JobId job) const {
    const auto found = leaders_.find(job);
    return found == leaders_.end() ? job : found->second;
  }
  [[nodiscard]] Gang gang(JobId job) const override {
    const Given& given = jobs_[index(leader(job))];
    return {leader(job), given.others, given.asked.places};
  }
  [[nodiscard]] bool movable(JobId job) const override {
    return jobs_[index(leader(job))].asked.places == 1;
  }
  [[nodiscard]] std::optional<Duration> time_on(JobId job, std::size_t kind,
                                                int profile) const override {
    const GpuModel& model = fleet_.graphs()[kind]->geometry().model();
    return std::chrono::seconds(
        1 + jobs_[index(leader(job))].work_s /
                model.profiles[static_cast<std::size_t>(profile)].compute.value);
  }

 private:
  const Fleet& fleet_;
  const std::vector<Given>& jobs_;
  std::map<JobId, JobId> leaders_;
};

/// One random run, with an account of its own of what is where.
class OneRun {
 public:
  OneRun(std::uint64_t seed, const std::string& spec)
      : random_(seed),
        file_(fleet_file()),
        fleet_(file_),
        requests_(file_.geometries),
        jobs_(workload()),
        facts_(fleet_, jobs_),
        engine_(
            *Engine::make(*parse_scheduler(spec),
                          {.fleet = fleet_, .requests = requests_, .facts = &facts_, .gangs = true},
                          requests_, nullptr)),
        there_(fleet_.size()),
        whole_(fleet_.size()) {}

  void play() {
    std::size_t next = 0;
    while ((next < jobs_.size() || !ends_.empty()) && !testing::Test::HasFailure()) {
      Instant now = Instant::max();
      if (next < jobs_.size()) now = at(jobs_[next].arrival_s);
      for (const auto& [job, end] : ends_) now = std::min(now, end);
      std::vector<Command> commands;
      for (auto each = ends_.begin(); each != ends_.end();) {
        if (each->second > now) {
          ++each;
          continue;
        }
        const JobId job = each->first;
        each = ends_.erase(each);
        leave(job);
        engine_.on(Finished{job}, now, commands);
        carry_out(commands, now);
      }
      for (; next < jobs_.size() && at(jobs_[next].arrival_s) <= now; ++next) {
        const auto job = static_cast<JobId>(next);
        waiting_.insert(job);
        engine_.on(Submitted{job, requests_.intern(jobs_[next].asked)}, now, commands);
        carry_out(commands, now);
      }
      engine_.settle(now, commands);
      carry_out(commands, now);
      note_head(now);
    }
    EXPECT_TRUE(waiting_.empty()) << index(*waiting_.begin());
  }

  std::size_t gangs = 0, bounds = 0;

 private:
  struct Seat {
    GpuId gpu{};
    std::optional<PlacementId> placement;
  };

  FleetFile fleet_file() {
    constexpr std::string_view fleets[] = {"3xA100-40GB", "2xA100-40GB,2xA30-24GB", "4xA30-24GB",
                                           "1xA100-40GB", "5xA100-40GB"};
    FleetFile file = *parse_fleet_in_short(fleets[random_.below(std::size(fleets))],
                                           *ProfileChoice::parse("plain"));
    for (std::size_t i = 0; i < file.gpus.size(); ++i)
      file.gpus[i].name = fmt::format("n{}/{}", i / 2, i);
    return file;
  }

  std::vector<Given> workload() {
    constexpr std::string_view profiles[] = {"1g.5gb", "1g.6gb", "2g.10gb", "2g.12gb", "3g.20gb"};
    std::vector<Given> jobs(60);
    std::int64_t now = 0;
    std::size_t others = jobs.size();
    for (Given& job : jobs) {
      now += static_cast<std::int64_t>(random_.below(60));
      job.arrival_s = now;
      job.work_s = static_cast<std::int64_t>(random_.below(random_.below(5) == 0 ? 3000 : 300));
      job.asked.wanted = ByProfile{std::string(profiles[random_.below(std::size(profiles))])};
      if (random_.below(4) == 0) job.asked.wanted = BySize{MiB{4000}, {}};
      if (random_.below(8) == 0) job.asked.wanted = WholeGpu{};
      if (random_.below(3) == 0) {
        job.asked.places = 2 + static_cast<std::uint32_t>(random_.below(5));
        job.asked.together = static_cast<Together>(random_.below(4));
      }
      job.others = static_cast<JobId>(others);
      others += job.asked.places - 1;
    }
    return jobs;
  }

  void sit(JobId process, Seat seat) {
    const GpuState& state = fleet_[seat.gpu];
    PlacementSet& held = there_[index(seat.gpu)];
    EXPECT_FALSE(whole_[index(seat.gpu)]);
    if (seat.placement) {
      EXPECT_FALSE(held.contains(*seat.placement));
      held.insert(*seat.placement);
      EXPECT_TRUE(fleet_.geometry(state).legal(held));
    } else {
      EXPECT_TRUE(held.empty());
      whole_[index(seat.gpu)] = true;
    }
    seats_[process] = seat;
  }
  void rise(JobId process) {
    const Seat seat = seats_.at(process);
    if (seat.placement) {
      there_[index(seat.gpu)].erase(*seat.placement);
    } else {
      whole_[index(seat.gpu)] = false;
    }
    seats_.erase(process);
  }
  void leave(JobId job) {
    const Gang gang = facts_.gang(job);
    for (std::uint32_t rank = 0; rank < gang.size; ++rank) rise(gang.member(rank));
  }

  void carry_out(std::vector<Command>& commands, Instant now) {
    std::map<JobId, std::vector<Seat>> started;
    const auto start = [&](JobId process, Seat seat) {
      const JobId job = facts_.leader(process);
      EXPECT_EQ(process, facts_.gang(job).member(static_cast<std::uint32_t>(started[job].size())));
      sit(process, seat);
      started[job].push_back(seat);
    };
    for (const Command& command : commands) {
      if (const auto* begun = std::get_if<StartJob>(&command))
        start(begun->job, {begun->gpu, begun->placement});
      if (const auto* begun = std::get_if<StartOnWholeGpu>(&command))
        start(begun->job, {begun->gpu, std::nullopt});
      if (const auto* moved = std::get_if<MigrateJob>(&command)) {
        EXPECT_EQ(jobs_[index(facts_.leader(moved->job))].asked.places, 1U);
        rise(moved->job);
        sit(moved->job, {moved->gpu, moved->placement});
      }
      if (const auto* rejected = std::get_if<RejectJob>(&command)) waiting_.erase(rejected->job);
    }
    commands.clear();
    for (const auto& [job, seats] : started) begin(job, seats, now);
  }

  void begin(JobId job, const std::vector<Seat>& seats, Instant now) {
    const Given& given = jobs_[index(job)];
    EXPECT_EQ(seats.size(), given.asked.places);
    std::set<GpuId> gpus;
    std::set<std::uint32_t> nodes;
    Duration time{};
    for (const Seat& seat : seats) {
      gpus.insert(seat.gpu);
      nodes.insert(fleet_.node(seat.gpu));
      const Geometry& geometry = fleet_.geometry(fleet_[seat.gpu]);
      const Profile& profile =
          seat.placement ? *geometry[*seat.placement].profile : geometry.model().largest();
      time = std::max(
          time, *facts_.time_on(job, fleet_[seat.gpu].kind,
                                static_cast<int>(&profile - geometry.model().profiles.data())));
    }
    EXPECT_TRUE(given.asked.together != Together::gpu || gpus.size() == 1);
    EXPECT_TRUE(given.asked.together != Together::node || nodes.size() == 1);
    EXPECT_TRUE(given.asked.together != Together::spread || gpus.size() == seats.size());
    gangs += seats.size() > 1 ? 1 : 0;
    waiting_.erase(job);
    ends_[job] = now + time;
    if (const auto bound = bounds_.find(job); bound != bounds_.end()) {
      ++bounds;
      EXPECT_LE(now, bound->second) << "job " << index(job);
    }
  }

  void note_head(Instant now) {
    if (waiting_.empty() || bounds_.contains(*waiting_.begin())) return;
    Instant longest = now;
    for (const auto& [job, end] : ends_) longest = std::max(longest, end);
    bounds_[*waiting_.begin()] = longest;
  }

  Random random_;
  FleetFile file_;
  Fleet fleet_;
  RequestTable requests_;
  std::vector<Given> jobs_;
  TrueTimes facts_;
  Engine engine_;
  std::vector<PlacementSet> there_;  // by GPU: instances with processes
  std::vector<bool> whole_;          // by GPU
  std::map<JobId, Seat> seats_;      // by process
  std::set<JobId> waiting_;
  std::map<JobId, Instant> ends_, bounds_;
};

TEST(GangBound, TheFirstWaitsNoLongerThanWhatRuns) {
  for (const char* scheduler :
       {"full-gpu", "static", "scheme-b", "online", "online:policy=first-fit"})
    for (const char* backfill : {"none", "easy", "conservative"}) {
      std::size_t gangs = 0, bounds = 0;
      for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        SCOPED_TRACE(fmt::format("{} {} {}", scheduler, backfill, seed));
        const char* joint = std::string_view(scheduler).contains(':') ? ";" : ":";
        OneRun run(seed, fmt::format("{}{}backfill={}", scheduler, joint, backfill));
        run.play();
        gangs += run.gangs;
        bounds += run.bounds;
        if (HasFailure()) return;
      }
      EXPECT_GT(gangs, 200U) << scheduler;
      EXPECT_GT(bounds, 200U) << scheduler;
    }
}

}  // namespace
}  // namespace cleave
