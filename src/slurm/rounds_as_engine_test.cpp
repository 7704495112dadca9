// Rounds, each of which looks at everything anew, against one engine that lives through all: the
// same jobs begin at the same moments in the same places.

#include <gtest/gtest.h>

#include <map>
#include <queue>

#include "base/format.hpp"
#include "engine/engine.hpp"
#include "model/default_scheduler.hpp"
#include "model/profile_set.hpp"
#include "slurm/slurm_double.hpp"

namespace cleave {
namespace {

constexpr std::size_t played_nodes = 3, gpus_of_node = 4;

struct PlayedJob {
  Instant arrival;
  std::string profile;
  Duration takes;
  std::int64_t priority = 0;
};

/// Where and when a job began.
struct PlayedStart {
  Instant when;
  std::size_t gpu = 0;
  PlacementId placement{};
  friend bool operator==(const PlayedStart&, const PlayedStart&) = default;
};

using Starts = std::map<std::size_t, PlayedStart>;
using Endings = std::priority_queue<std::pair<Instant, std::size_t>,
                                    std::vector<std::pair<Instant, std::size_t>>, std::greater<>>;

const Instant played_from{std::chrono::seconds(1'764'000'000)};

std::vector<PlayedJob> some_jobs(std::uint64_t seed, bool one_priority) {
  constexpr std::string_view profiles[] = {"1g.5gb",  "1g.5gb",  "2g.10gb",
                                           "3g.20gb", "4g.20gb", "7g.40gb"};
  Random random(seed);
  std::vector<PlayedJob> jobs;
  Instant arrival = played_from;
  for (int i = 0; i < 200; ++i) {
    arrival += std::chrono::milliseconds(random.below(1600));
    jobs.push_back({arrival, std::string(profiles[random.below(std::size(profiles))]),
                    std::chrono::milliseconds(25'000 + random.below(30'000)),
                    one_priority ? 1000 : static_cast<std::int64_t>(1 + random.below(100))});
  }
  return jobs;
}

/// Goes from arrival to arrival and end to end; `decide` is called at each such moment.
class Play {
 public:
  explicit Play(const std::vector<PlayedJob>& jobs) : jobs_(&jobs) {}

  template <class Arrive, class End, class Decide>
  Starts run(const Arrive& arrive, const End& end, const Decide& decide) {
    Starts starts;
    Endings endings;
    for (std::size_t next = 0; next < jobs_->size() || !endings.empty();) {
      Instant now = Instant::max();
      if (next < jobs_->size()) now = (*jobs_)[next].arrival;
      if (!endings.empty()) now = std::min(now, endings.top().first);
      for (; !endings.empty() && endings.top().first <= now; endings.pop())
        end(endings.top().second, now);
      for (; next < jobs_->size() && (*jobs_)[next].arrival <= now; ++next) arrive(next, now);
      for (const auto& [job, start] : decide(now)) {
        starts.emplace(job, start);
        endings.emplace(now + (*jobs_)[job].takes, job);
      }
    }
    return starts;
  }

 private:
  const std::vector<PlayedJob>* jobs_;
};

Starts by_rounds(const std::vector<PlayedJob>& jobs) {
  SlurmDouble slurm({played_nodes, gpus_of_node, "A100-40GB", 256}, 1);
  ControllerSettings settings;
  settings.mode = SlurmMode::cluster;
  settings.cluster.overtaken = std::chrono::hours(24);
  ControllerMemory memory;
  Starts known;
  const auto new_starts = [&](Instant now) {
    Starts fresh;
    for (std::size_t n = 0; n < slurm.world().reports.size(); ++n)
      for (const SlurmClaim& claim : slurm.world().reports[n].claims) {
        const auto job = static_cast<std::size_t>(*claim.job() - 1);
        const PlayedStart start{now, n * gpus_of_node + claim.gpu, claim.placement};
        if (known.emplace(job, start).second) fresh.emplace(job, start);
      }
    return fresh;
  };
  return Play(jobs).run(
      [&](std::size_t job, Instant now) {
        slurm.at(now);
        slurm.submit({{jobs[job].profile, 1}}, true, jobs[job].priority);
      },
      [&](std::size_t job, Instant) { slurm.end(static_cast<std::int64_t>(job + 1)); },
      [&](Instant now) {
        slurm.at(now);
        EXPECT_TRUE(run_round(slurm, settings, memory, now, [] { return true; }));
        slurm.schedule();
        slurm.prolog();
        return new_starts(now);
      });
}

class PlayedFacts final : public JobFacts {
 public:
  explicit PlayedFacts(const std::vector<PlayedJob>& jobs) : jobs_(&jobs) {}
  [[nodiscard]] std::int64_t priority(JobId job) const override {
    return (*jobs_)[index(job)].priority;
  }
  [[nodiscard]] bool tells_times() const override { return false; }

 private:
  const std::vector<PlayedJob>* jobs_;
};

Starts by_one_engine(const std::vector<PlayedJob>& jobs) {
  const GpuModel& model = **find_gpu_model("A100-40GB");
  FleetFile file;
  file.geometries.push_back(StateGraph::of(model, ProfileChoice::plain().on(model))->geometry());
  for (std::size_t g = 0; g < played_nodes * gpus_of_node; ++g)
    file.gpus.push_back({fmt::format("g{}", g), 0, {}});
  const Fleet fleet(file);
  RequestTable requests(file.geometries);
  const PlayedFacts facts(jobs);
  auto engine =
      Engine::make(*parse_scheduler(std::string(default_scheduler)),
                   {.fleet = fleet, .requests = requests, .facts = &facts}, requests, nullptr);
  std::vector<Command> commands;
  return Play(jobs).run(
      [&](std::size_t job, Instant now) {
        const std::string& profile = jobs[job].profile;
        engine->on(
            Submitted{static_cast<JobId>(job),
                      requests.intern({ByProfile{profile}, std::vector<std::string>{profile}})},
            now, commands);
      },
      [&](std::size_t job, Instant now) {
        engine->on(Finished{static_cast<JobId>(job)}, now, commands);
      },
      [&](Instant now) {
        engine->settle(now, commands);
        Starts fresh;
        for (const Command& command : commands)
          if (const auto* start = std::get_if<StartJob>(&command))
            fresh.emplace(index(start->job), PlayedStart{now, index(start->gpu), start->placement});
        commands.clear();
        return fresh;
      });
}

class RoundsAsEngine : public ::testing::TestWithParam<bool> {};

TEST_P(RoundsAsEngine, JobsBeginWhenAndWhereOneEngineWouldHaveThem) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto jobs = some_jobs(seed, GetParam());
    const Starts rounds = by_rounds(jobs), engine = by_one_engine(jobs);
    ASSERT_EQ(engine.size(), jobs.size()) << "all began";
    ASSERT_EQ(rounds.size(), jobs.size());
    std::size_t late = 0;
    for (const auto& [job, start] : engine) {
      EXPECT_TRUE(rounds.at(job) == start) << "seed " << seed << ", job " << job;
      late += start.when > jobs[job].arrival ? 1 : 0;
    }
    EXPECT_GT(late, 40U) << "else nothing was decided";
  }
}

INSTANTIATE_TEST_SUITE_P(Priorities, RoundsAsEngine, ::testing::Bool(),
                         [](const auto& row) { return row.param ? "One" : "Many"; });

}  // namespace
}  // namespace cleave
