// The simulator against a second one that knows only the definitions and takes small steps: 500
// small worlds with every term on and off. In 181 of them jobs share instances, in some of the
// others they have several places.

#include <gtest/gtest.h>

#include <cmath>

#include "base/format.hpp"
#include "base/random.hpp"
#include "simulate/random_places_test.hpp"
#include "slow_world.hpp"

namespace cleave {
namespace {

struct SmallWorld {
  FleetFile fleet;
  Workload workload;
  SimulationOptions options;
  std::string scheduler;
};

Duration seconds(double s) {
  return Duration{std::llround(s * 1e9)};
}

SpeedModel random_speed(Random& random, const std::vector<const Profile*>& profiles) {
  SpeedModel speed;
  speed.kappa = random.below(3) == 0 ? 0.3 + 1.5 * random.uniform() : 1;
  switch (random.below(4)) {
    case 0:
      speed.phases = Phases{seconds(3 * random.uniform()), seconds(40 * random.uniform()),
                            seconds(5 * random.uniform()), seconds(1 + 3 * random.uniform())};
      return speed;
    case 1:
      speed.table.emplace();
      for (const Profile* profile : profiles)
        (*speed.table)[std::string(profile->name)] =
            std::pow(profile->compute.value / 7.0, 0.3 + 0.5 * random.uniform());
      // Below the time of transfers at the slowest link of any instance.
      speed.transfer_share = random.below(2) == 0 ? 0 : 0.1 * random.uniform();
      return speed;
    case 2:
      speed.flat = true;
      break;
    default:
      break;
  }
  speed.transfer_share = random.below(2) == 0 ? 0 : 0.9 * random.uniform();
  return speed;
}

/// What the jobs keep, drawn apart from all else.
void keep_some(Workload& workload, std::uint64_t seed) {
  Random random(seed ^ 0x6b6565);
  for (Job& job : workload.jobs) {
    JobDetails details;
    details.keeps = static_cast<Keeps>(random.below(words_of_keeps.size()));
    if (random.below(2) == 0) details.movable = true;
    job.details = static_cast<std::uint32_t>(workload.details.size());
    workload.details.push_back(details);
  }
}

/// A job by size that can keep a part on the host and goes through that now and then.
void offload_some(Random& random, const Profile& holds_it, Request& request, SpeedModel& speed) {
  const auto part = [&](MiB of) {
    return MiB{std::llround(random.uniform() * static_cast<double>(of.value))};
  };
  const MiB memory = *holds_it.usable - part(MiB{holds_it.usable->value / 2});
  const MiB most = part(memory);
  request = {BySize{memory, {}}, {}, {}};
  request.offload = most;
  // Within the listed times of a table.
  const double most_touches = speed.table ? 0.01 : 1.5;
  speed.offload = Offload{memory, most, most_touches * random.uniform()};
}

/// Jobs whose time follows the law of slices, in a third of the worlds and in all that share
/// instances; drawn apart from all else.
void give_laws(SmallWorld& world, std::uint64_t seed) {
  Random random(seed ^ 0x6c6177);
  if (!world.scheduler.starts_with("static") && random.below(3) > 0) return;
  for (Job& job : world.workload.jobs) {
    SpeedModel speed = world.workload.speeds[job.speed];
    if (speed.table || speed.phases || random.below(2) == 0) continue;
    speed.flat = false;
    speed.law = SliceLaw{random.uniform(), random.uniform(), 1 + 4 * random.uniform()};
    job.speed = world.workload.intern(speed);
  }
}

/// Jobs that share instances, in about two worlds of five, drawn apart from all else. Only such
/// worlds need much bandwidth, which nothing else shares.
void share_some(SmallWorld& world, std::uint64_t seed) {
  Random random(seed ^ 0x736861);
  if (random.below(5) > 1) return;
  const GpuModel& model = world.fleet.geometries.front().model();
  const std::string halves = model.memory_slices.value == 4      ? "2g.12gb@0+2g.12gb@2"
                             : model.id == GpuModelId::a100_40gb ? "3g.20gb@0+3g.20gb@4"
                                                                 : "4g.48gb@0+3g.48gb@4";
  const std::string whole = fmt::format("{}@0", model.largest().name);
  const auto mode = static_cast<SharingMode>(random.below(words_of_sharing.size()));
  world.scheduler = fmt::format("static:layout={};sharing={};sharers={}",
                                random.below(2) == 0 ? whole : halves, name(mode), random.below(6));
  const std::uint64_t percent = 10 + random.below(91);
  if (mode == SharingMode::mps && random.below(2) == 0)
    world.scheduler += fmt::format(";percent={}", percent);
  if (random.below(2) == 0) world.scheduler += ";fit=any";
  world.options.world.sharing.switch_cost = random.uniform();
  world.options.world.sharing.fixed_holds = random.below(2) == 0;
  const bool much_bandwidth = random.below(2) == 0;
  for (Job& job : world.workload.jobs) {
    if (world.workload.speeds[job.speed].offload || random.below(4) == 0) continue;
    if (much_bandwidth && random.below(4) > 0) {
      SpeedModel speed;
      speed.phases = Phases{seconds(random.uniform()), seconds(3 * random.uniform()),
                            seconds(3 * random.uniform()), seconds(5 + 5 * random.uniform())};
      job.speed = world.workload.intern(speed);
    }
    const double part = std::pow(random.uniform(), 2);
    const MiB size{std::llround(part * static_cast<double>(model.largest().usable->value))};
    job.request = world.workload.intern(Request{BySize{size, {}}, {}, {}});
  }
}

SmallWorld small_world(std::uint64_t seed) {
  Random random(seed);
  SmallWorld world;
  constexpr std::string_view models[] = {"A30-24GB", "A100-40GB", "H100-96GB-GH200"};
  const std::string_view model = models[random.below(3)];
  world.fleet = *parse_fleet_in_short(fmt::format("{}x{}", 1 + random.below(2), model),
                                      ProfileChoice::plain());
  const auto profiles = world.fleet.geometries.front().profile_list();
  const std::size_t jobs = 4 + random.below(12);
  double now_s = 0;
  for (std::size_t i = 0; i < jobs; ++i) {
    Job job;
    job.id = fmt::format("{}", i);
    job.arrival = Instant{} + seconds(now_s);
    job.duration = seconds(1 + random.exponential(6));
    SpeedModel speed = random_speed(random, profiles);
    const Profile& profile = *profiles[random.below(profiles.size())];
    Request request{ByProfile{std::string(profile.name)}, {}, {}};
    if (random.below(3) == 0) offload_some(random, profile, request, speed);
    job.request = world.workload.intern(request);
    job.speed = world.workload.intern(speed);
    world.workload.jobs.push_back(job);
    if (random.below(3) > 0) now_s += random.exponential(1);
  }
  world.workload.read = jobs;
  SimulationOptions& options = world.options;
  constexpr LinkSharing links[] = {LinkSharing::off, LinkSharing::spread, LinkSharing::together};
  options.world.link = links[random.below(3)];
  options.world.has_power = random.below(5) > 0;
  options.world.power.beta = 0.7 + 0.9 * random.uniform();
  if (random.below(2) == 0) {
    const GpuPower& power = gpu_power(world.fleet.geometries.front().model());
    const double part = 0.15 + 0.8 * random.uniform();
    options.world.power.cap =
        power.idle +
        Milliwatts{std::llround(part * static_cast<double>((power.cap - power.idle).value))};
  }
  if (random.below(3) == 0) options.process_start = seconds(random.uniform());
  if (random.below(3) == 0) options.reconfiguration = seconds(random.uniform());
  options.stops.checkpoint = seconds(2 * random.uniform());
  if (random.below(4) == 0) {
    options.faults.between_losses = seconds(40);
    options.faults.repair = seconds(5);
  }
  options.seed = seed;
  constexpr std::string_view schedulers[] = {"online", "miso", "full-gpu", "dyna-p"};
  world.scheduler = schedulers[random.below(std::size(schedulers))];
  options.world.slow_allocation = random.below(3) == 0;
  options.world.jitter = !options.reconfiguration && seed % 3 == 0;
  keep_some(world.workload, seed);
  share_some(world, seed);
  give_laws(world, seed);
  if (parse_scheduler(world.scheduler)->row->several && !world.scheduler.starts_with("static"))
    ask_for_several(world.workload, seed, 3);
  return world;
}

TEST(SlowWorld, AgreesOn500SmallWorlds) {
  constexpr double step_s = 0.002;
  std::size_t compared = 0, saturated = 0, capped = 0, moved = 0, offloaded = 0;
  std::size_t shared = 0, ran_out = 0, wide = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SmallWorld world = small_world(seed);
    EventList events;
    std::vector<JobOutcome> outcomes;
    world.options.observer = &events;
    world.options.outcomes = &outcomes;
    const auto quick =
        simulate(world.fleet, world.workload, *parse_scheduler(world.scheduler), world.options);
    ASSERT_TRUE(quick) << seed << ": " << quick.error().text();
    offloaded += quick->offloads;
    const double begin_s = in_seconds(world.workload.jobs.front().arrival.time_since_epoch());
    const double until_s = begin_s + in_seconds(quick->makespan);
    const SlowRun slow =
        run_slowly(world.fleet, world.workload, world.options, events.events, until_s + 5, step_s);
    // Whatever happens on a GPU within a step is a step late here, for better or worse.
    constexpr double bound_s = 8 * step_s;
    for (const RunEvent& event : events.events) {
      moved += event.kind == RunEvent::Kind::migrated ? 1 : 0;
      shared += event.share ? 1 : 0;
      ran_out += event.kind == RunEvent::Kind::ran_out ? 1 : 0;
      if (event.kind != RunEvent::Kind::finished || !event.counts()) continue;
      wide += event.rank ? 1 : 0;
      const std::size_t job = index(*event.job);
      EXPECT_TRUE(slow.ends_s[job]) << "seed " << seed << " job " << job;
      if (!slow.ends_s[job]) continue;
      EXPECT_NEAR(*slow.ends_s[job], in_seconds(event.at.time_since_epoch()), bound_s)
          << "seed " << seed << " job " << job << " " << world.scheduler;
      ++compared;
    }
    EXPECT_EQ(slow.misjudged, 0U) << "seed " << seed << " " << world.scheduler;
    if (world.options.world.link != LinkSharing::off) {
      EXPECT_LE(slow.most_link, 1 + 1e-9) << "seed " << seed;
      saturated += slow.most_link > 0.999 ? 1 : 0;
    }
    if (!world.options.world.has_power) continue;
    EXPECT_LE(slow.most_over_cap_w, 1e-9) << "seed " << seed;
    EXPECT_NEAR(*quick->energy_j, *quick->job_energy_j + *quick->idle_energy_j, 1e-3);
    double watts = 0;
    for (const GpuEntry& gpu : world.fleet.gpus)
      watts += in_watts(gpu_power(world.fleet.geometries[gpu.geometry].model()).cap);
    EXPECT_LE(*quick->power_peak_w, watts) << "seed " << seed;
    for (std::size_t job = 0; job < outcomes.size(); ++job)
      EXPECT_NEAR(slow.joules[job], *outcomes[job].energy_j, watts * bound_s)
          << "seed " << seed << " job " << job;
    capped += slow.most_over_cap_w > -1e-6 ? 1 : 0;
  }
  EXPECT_GT(compared, 2000U);
  EXPECT_GT(capped, 50U);
  EXPECT_GT(saturated, 20U);
  EXPECT_GT(moved, 10U);
  EXPECT_GT(offloaded, 50U);
  EXPECT_GT(shared, 1000U);
  EXPECT_GT(wide, 50U);
  EXPECT_GT(ran_out, 50U);
}

}  // namespace
}  // namespace cleave
