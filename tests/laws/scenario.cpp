#include "scenario.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "simulate/random_places_test.hpp"

namespace cleave::laws {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view models[] = {"A30-24GB", "A100-40GB", "A100-80GB", "H100-80GB-SXM5"};
constexpr std::string_view choices[] = {"five", "plain", "all", "four"};

class Maker {
 public:
  Maker(std::uint64_t seed, std::size_t jobs) : random_(seed), most_jobs_(jobs) {
    scenario_.options.seed = seed;
  }

  Scenario make() {
    fleet();
    pools();
    jobs();
    faults();
    times();
    priorities();
    users();
    reservations();
    knowledge();
    return std::move(scenario_);
  }

 private:
  bool chance(double probability) { return random_.uniform() < probability; }
  std::size_t below(std::size_t count) { return random_.below(count); }
  template <class List>
  auto& any(List& list) {
    return list[below(std::size(list))];
  }
  Duration seconds(double s) { return Duration{std::llround(s * 1e9)}; }

  // The fleet.

  void fleet() {
    std::vector<std::string_view> kinds{any(models)};
    if (chance(0.3)) kinds.push_back(any(models));
    const bool furnished = chance(0.4);
    std::vector<std::string_view> clean;
    Json gpus = Json::array();
    const std::size_t count = chance(0.5) ? 1 + below(3) : 2 + below(20);
    const auto choice = *ProfileChoice::parse(any(choices));
    for (std::size_t i = 0; i < count; ++i) {
      const std::string_view kind = any(kinds);
      Json entry = {{"name", fmt::format("n0/{}", i)}, {"model", std::string(kind)}};
      bool touched = false;
      if (furnished && chance(0.5)) entry["instances"] = instances(kind, choice, touched);
      if (!touched) clean.push_back(kind);
      gpus.push_back(std::move(entry));
    }
    scenario_.fleet = *parse_fleet(Json{{"gpus", std::move(gpus)}}.dump(), "fleet", choice);
    for (const Geometry& geometry : scenario_.fleet.geometries)
      if (std::ranges::find(clean, geometry.model().key) == clean.end()) scenario_.must_end = false;
  }

  Json instances(std::string_view kind, const ProfileChoice& choice, bool& touched) {
    const GpuModel& model = **find_gpu_model(kind);
    const Geometry geometry(model, choice.on(model));
    PlacementSet state;
    Json list = Json::array();
    for (std::size_t tries = below(8); tries > 0; --tries) {
      const PlacementSet free = geometry.free(state);
      if (free.empty()) break;
      auto at = free.begin();
      for (auto skip = below(static_cast<std::size_t>(free.size())); skip > 0; --skip) ++at;
      state.insert(*at);
      Json entry = {{"profile", std::string(geometry[*at].profile->name)},
                    {"start", geometry[*at].start}};
      const double what = random_.uniform();
      if (what < 0.15) entry["workload"] = fmt::format("w{}", names_++);
      if (what > 0.85) entry[chance(0.5) ? "owned" : "movable"] = false;
      touched = touched || what < 0.15 || what > 0.85;
      list.push_back(std::move(entry));
    }
    return list;
  }

  // The parts that jobs are made of.

  std::vector<const Profile*> profiles() const {
    std::vector<const Profile*> all;
    for (const Geometry& geometry : scenario_.fleet.geometries)
      for (const Profile* profile : geometry.profile_list()) all.push_back(profile);
    return all;
  }

  void pools() {
    Workload& workload = scenario_.workload;
    for (std::size_t i = 1 + below(4); i > 0; --i) {
      SpeedModel speed;
      const double kind = random_.uniform();
      if (kind < 0.4) {
        speed.flat = true;
      } else if (kind < 0.8) {
        speed.table = table();
      }
      speeds_.push_back(workload.intern(speed));
    }
    for (std::size_t i = 1 + below(8); i > 0; --i) requests_.push_back({wanted(), {}, {}});
  }

  SpeedTable table() {
    SpeedTable table;
    const double bend = 0.3 + random_.uniform();
    const bool gaps = chance(0.3);
    for (const Profile* profile : profiles()) {
      if (gaps && chance(0.2) && profile->compute.value < 4) continue;
      table[std::string(profile->name)] = std::pow(profile->compute.value / 7.0, bend);
    }
    if (chance(0.3)) table[std::string(mig_off)] = 1 + random_.uniform() / 10;
    return table;
  }

  decltype(Request::wanted) wanted() {
    const auto all = profiles();
    const Profile& profile = *all[below(all.size())];
    switch (below(5)) {
      case 0:
        return Unknown{};
      case 1:
        return ByShare{static_cast<int>(1 + below(1000)),
                       chance(0.5) ? ShareRule::round_up : ShareRule::nearest};
      case 2:
        if (profile.usable && profile.attribute == Attribute::none)
          return BySize{MiB{profile.usable->value - static_cast<std::int64_t>(below(3000))},
                        ComputeSlices{static_cast<int>(below(3))}};
        return Unknown{};
      default:
        return ByProfile{std::string(profile.name)};
    }
  }

  // Jobs.

  void jobs() {
    const std::size_t count = chance(0.6) ? 1 + below(1 + most_jobs_ / 6) : 1 + below(most_jobs_);
    mean_s_ = std::pow(10, random_.uniform() * 3 - 0.5);
    const double load = 0.2 + random_.uniform() * 1.5;
    const double gap_s = mean_s_ / load / (3 * static_cast<double>(scenario_.fleet.gpus.size()));
    const double burst = chance(0.3) ? 1 : random_.uniform() * 0.8;
    details_share_ = chance(0.3) ? 0 : random_.uniform();
    Duration now{};
    for (std::size_t i = 0; i < count; ++i) {
      if (!chance(burst)) now += seconds(random_.exponential(gap_s));
      scenario_.workload.jobs.push_back(job(i, Instant{} + now));
    }
    scenario_.workload.read = count;
  }

  Job job(std::size_t number, Instant arrival) {
    Workload& workload = scenario_.workload;
    Job job;
    job.id = fmt::format("j{}", number);
    job.arrival = arrival;
    const double length = random_.uniform();
    job.duration = length < 0.05   ? 0ns
                   : length < 0.08 ? 1ns
                   : length < 0.3  ? seconds(mean_s_)
                                   : seconds(random_.exponential(mean_s_));
    job.speed = any(speeds_);
    Request request = any(requests_);
    if (const auto& table = workload.speeds[job.speed].table) {
      // As in the reader of workloads: the job runs where its table has a speed.
      request.fits.emplace();
      for (const auto& [profile, speed] : *table)
        if (profile != mig_off) request.fits->push_back(profile);
    }
    if (chance(details_share_)) add_details(job, request);
    job.request = workload.intern(request);
    return job;
  }

  void add_details(Job& job, Request& request) {
    JobDetails details;
    if (chance(0.4)) details.deadline = seconds(random_.uniform() * 12 * mean_s_);
    if (chance(0.4)) {
      details.growth = growth();
      if (chance(0.5)) request.wanted = Unknown{};
    }
    if (chance(0.4)) {
      const std::size_t application = below(4);
      details.application = fmt::format("app{}", application);
      details.batch = std::int64_t{1} << below(5);
      details.latency = std::chrono::milliseconds(5 + static_cast<std::int64_t>(application) * 7 +
                                                  *details.batch);
    }
    if (chance(0.3)) details.restartable = chance(0.5);
    if (chance(0.3)) details.movable = chance(0.5);
    if (chance(0.1)) details.fails_after = random_.uniform() * 1.2;
    job.details = static_cast<std::uint32_t>(scenario_.workload.details.size());
    scenario_.workload.details.push_back(details);
  }

  MemoryGrowth growth() {
    const std::int64_t largest =
        profiles().front()->usable ? profiles().front()->usable->value : 40000;
    MemoryGrowth growth;
    growth.iterations = static_cast<std::int64_t>(1 + below(chance(0.9) ? 30 : 2000));
    const double peak =
        static_cast<double>(largest) * random_.uniform() * (chance(0.9) ? 0.95 : 1.3);
    const double base = peak * random_.uniform();
    growth.base = MiB{std::llround(base)};
    growth.per_iteration =
        MiB{std::llround((peak - base) / static_cast<double>(growth.iterations))};
    if (chance(0.5)) growth.noise = MiB{static_cast<std::int64_t>(below(400))};
    return growth;
  }

  // What goes wrong, and how long things take.

  void faults() {
    FaultPlan& faults = scenario_.options.faults;
    if (chance(0.3)) faults.job_failure = random_.uniform() * 0.3;
    const double kind = random_.uniform();
    if (kind < 0.4) {
      faults.between_losses = seconds(mean_s_ * (40 + 400 * random_.uniform()));
      faults.repair = seconds(mean_s_ * 10 * random_.uniform());
    } else if (kind < 0.7) {
      const double span =
          in_seconds(scenario_.workload.jobs.back().arrival.time_since_epoch()) + 5 * mean_s_;
      for (std::uint32_t gpu = 0; gpu < scenario_.fleet.gpus.size(); ++gpu) {
        Instant from{};
        for (std::size_t i = below(3); i > 0; --i) {
          from += seconds(random_.uniform() * span / 2);
          const Instant until = from + seconds(random_.uniform() * mean_s_ * 5);
          faults.outages.push_back({static_cast<GpuId>(gpu), from, until});
          from = until + 1ns;
        }
      }
    }
  }

  void times() {
    SimulationOptions& options = scenario_.options;
    if (chance(0.5)) options.reconfiguration = chance(0.5) ? 0ns : seconds(random_.uniform() * 5);
    if (chance(0.5)) options.process_start = seconds(random_.uniform() * 3);
    options.stops.checkpoint = chance(0.3) ? 0ns : seconds(random_.uniform() * 20);
    if (chance(0.5)) options.forecaster = "last-value";
  }

  /// Those of this job alone.
  JobDetails& details(Job& job) {
    std::vector<JobDetails>& all = scenario_.workload.details;
    if (scenario_.workload.details_of(job) == nullptr) {
      job.details = static_cast<std::uint32_t>(all.size());
      all.emplace_back();
    }
    return all[job.details];
  }

  /// Of some jobs, in half of the scenarios. Drawn last and apart, so that a seed means the same
  /// without them.
  void priorities() {
    Random random(scenario_.options.seed ^ 0x7072696f);
    if (random.uniform() < 0.5) return;
    const double share = random.uniform();
    const std::size_t different = 2 + random.below(4);
    for (Job& job : scenario_.workload.jobs) {
      if (random.uniform() >= share) continue;
      details(job).priority = static_cast<std::int64_t>(random.below(different)) - 1;
    }
  }

  /// The users of jobs, and of some of them the accounts. Drawn apart, as priorities are.
  void users() {
    Random random(scenario_.options.seed ^ 0x75736572);
    const std::size_t users = random.below(5);
    if (users == 0) return;
    const double share = random.uniform();
    for (Job& job : scenario_.workload.jobs) {
      if (random.uniform() >= share) continue;
      const std::size_t user = random.below(users);
      details(job).user = fmt::format("u{}", user);
      if (user % 2 == 1) details(job).account = "a";
    }
  }

  /// In a third of the scenarios, of some GPUs. Drawn apart, as priorities are.
  void reservations() {
    Random random(scenario_.options.seed ^ 0x72657376);
    if (random.uniform() < 0.67) return;
    constexpr std::array names = {"u0", "u1", "u2", "a", ""};
    const double span =
        in_seconds(scenario_.workload.jobs.back().arrival.time_since_epoch()) + 5 * mean_s_;
    for (std::uint32_t gpu = 0; gpu < scenario_.fleet.gpus.size(); ++gpu) {
      if (random.uniform() < 0.5) continue;
      Instant from = Instant{} + seconds(random.uniform() * span);
      for (std::size_t i = 1 + random.below(3); i > 0; --i) {
        const Instant until = from + seconds((random.uniform() + 0.01) * mean_s_ * 20);
        scenario_.options.reservations.push_back(
            {static_cast<GpuId>(gpu), from, until, names[random.below(names.size())]});
        from = until + (random.uniform() < 0.5 ? 0ns : seconds(random.uniform() * span / 2));
      }
    }
  }

  /// What schedulers are told, less than the truth in half of the scenarios. Drawn apart too.
  void knowledge() {
    Random random(scenario_.options.seed ^ 0x6b6e6f77);
    if (random.uniform() < 0.5) return;
    Knowledge& know = scenario_.options.know;
    know.times = static_cast<KnownTimes>(random.below(3));
    if (know.times == KnownTimes::noise) know.noise = random.uniform();
    know.speeds = static_cast<KnownSpeeds>(random.below(3));
    if (random.uniform() < 0.3) know.memory = KnownMemory::forecast;
    if (random.uniform() < 0.3) scenario_.options.may = MayInterrupt::checkpoint;
  }

  Random random_;
  std::size_t most_jobs_;
  Scenario scenario_;
  std::vector<std::uint32_t> speeds_;
  std::vector<Request> requests_;
  double mean_s_ = 1, details_share_ = 0;
  std::size_t names_ = 0;
};

/// Values to try for options that are not choices: a name or number of each that matters.
struct FurtherValue {
  std::string_view scheduler, option, values;
};
constexpr FurtherValue further[] = {
    {"adaptive", "patience", "1|5|1000000"},
    {"adaptive", "disruptions", "0|2|6"},
    {"online", "policy",
     "fragmentation|reachability|preference|largest-gap|first-fit|load-balanced"},
    {"online", "threshold", "0|0.4|auto"},
    {"online", "compact", "off|off|off|60"},
    {"online", "moves", "1|4"},
    {"static", "layout", "stacon|best|file"},
    {"static", "sharers", "0|2|9"},
    {"static", "percent", "100|30"},
    {"miso", "measure", "0|1|30|200"},
    {"miso", "speed-error", "0|0.3"},
    {"miso", "gain", "0|0.05|1"},
    {"dyna-p", "w", "auto|1|2|4"},
    {"dyna-p", "window", "all|auto|3|16"},
    {"dyna-p", "overtakes", "auto|any|0|1|10"},
    {"dyna-p", "lambda", "0|0.5|1"},
    {"dyna-p", "margin", "0|3"},
    {"dyna-p", "alpha", "0|5"},
    {"dyna-p", "beta", "0|1000|1000000"},
    {"dyna-p", "penalty", "0|100"},
    {"dyna-p", "time-error", "0|0.1|0.9"},
    {"oracle", "w", "auto|1|2|4"},
    {"oracle", "window", "all|auto|3|16"},
    {"oracle", "overtakes", "auto|any|0|1|10"},
    {"shortest-first", "longest-wait", "0|60|3600|1000000"},
    {"oracle", "alpha", "0|5"},
    {"oracle", "beta", "0|1000|1000000"},
    {"oracle", "penalty", "0|100"},
};

/// The same for every scheduler that keeps a queue.
constexpr std::pair<std::string_view, std::string_view> further_of_queues[] = {
    {"order", "submission|deadline|fair-share|fair-share+deadline|deadline+submission"},
    {"depth", "1|5|20|50"},
    {"half-life", "10|100000"},
    {"user-jobs", "1|3|all|all"},
    {"user-slices", "4|9|all|all"},
};

std::string_view values_of(const SchedulerRow& row, const OptionRow& option) {
  const bool queues = std::ranges::find(row.options, std::string_view("backfill"),
                                        &OptionRow::name) != row.options.end();
  for (const auto& [name, values] : further_of_queues)
    if (queues && option.name == name) return values;
  const auto more = std::ranges::find_if(further, [&](const FurtherValue& f) {
    return f.scheduler == row.name && f.option == option.name;
  });
  if (more != std::end(further)) return more->values;
  return option.values.find('|') != std::string_view::npos ? option.values : std::string_view();
}

}  // namespace

SimulationOptions Scenario::options_of(const SchedulerSpec& spec) const {
  SimulationOptions taken = options;
  if (!has_queue_options(*spec.row)) taken.reservations.clear();
  return taken;
}

LawOptions Scenario::laws(const SchedulerSpec& spec) const {
  // If no instance is ever made, those of a lost GPU are gone for good.
  const auto dynamic = spec.options.find("dynamic");
  const bool made_again = dynamic == spec.options.end() || dynamic->second != "off";
  // What was dealt to one instance waits for that, and what is chosen by slices alone may fit
  // nowhere while something smaller does.
  const auto is = [&](const char* option, const char* value) {
    const auto given = spec.options.find(option);
    return given != spec.options.end() && given->second == value;
  };
  const bool shares = spec.options.contains("sharing") && !is("sharing", "none");
  // Partitions by predicted times differ between jobs that ask for the same, and so do users.
  const bool users =
      (spec.options.contains("user-jobs") && !is("user-jobs", "all")) ||
      (spec.options.contains("user-slices") && !is("user-slices", "all")) ||
      (spec.options.contains("order") && spec.options.find("order")->second.contains("fair-share"));
  // Backfill prefers the shorter of two that ask for the same, and jobs that have waited for long
  // wait by other rules than those that have not.
  const bool backfills = spec.options.contains("backfill") && !is("backfill", "none") &&
                         (spec.row->fcfs || !is("order", "submission"));
  const bool mixes = spec.options.contains("patience") && !is("patience", "1000000");
  const bool chooses = !spec.row->fcfs && !users && !backfills && !mixes &&
                       !is("shares", "equal") && !is("layout", "after") && !is("base", "priced");
  std::optional<std::size_t> overtakes;
  if (const auto given = spec.options.find("overtakes"); given != spec.options.end()) {
    if (is("overtakes", "auto")) {
      overtakes = 0;
      for (const GpuEntry& gpu : fleet.gpus)
        *overtakes +=
            4 * static_cast<std::size_t>(fleet.geometries[gpu.geometry].model().compute.value);
    } else if (!is("overtakes", "any")) {
      overtakes = std::stoul(given->second);
    }
  }
  const auto limit = [&](const char* option) -> std::optional<std::int64_t> {
    const auto given = spec.options.find(option);
    if (given == spec.options.end() || given->second == "all") return std::nullopt;
    return parse_integer(given->second);
  };
  // Where jobs move by checkpoints, these cannot be told from others.
  const bool evicts = spec.options.contains("evict") && !spec.options.contains("disruptions") &&
                      (!spec.options.contains("migration") || is("migration", "off"));
  std::optional<std::int64_t> most_evictions;
  if (evicts) most_evictions = is("evict", "off") ? 0 : limit("evict");
  std::optional<std::size_t> disruptions;
  if (const auto most = limit("disruptions")) disruptions = static_cast<std::size_t>(*most);
  const bool reserves = has_queue_options(*spec.row) && !options.reservations.empty();
  return {.fcfs = keeps_order(spec) && !reserves,
          .alike_by_priority = chooses && !reserves,
          .by_speed = spec.row->name == "adaptive",
          .overtakes = overtakes,
          .user_jobs = limit("user-jobs"),
          .user_slices = limit("user-slices"),
          .most_evictions = most_evictions,
          .most_disruptions = disruptions,
          .reservations = reserves ? options.reservations : std::vector<GpuReservation>(),
          .sharing = spec.row->name == "miso" || shares,
          .must_end = must_end && made_again,
          .process_start = options.process_start,
          .checkpoint = options.stops.checkpoint};
}

Scenario random_scenario(std::uint64_t seed, std::size_t jobs) {
  return Maker(seed, jobs).make();
}

Scenario with_gangs(Scenario scenario) {
  const std::uint64_t seed = scenario.options.seed;
  Random random(seed ^ 0x6e6f6465);
  const std::size_t per_node = 1 + random.below(4);
  for (std::size_t i = 0; i < scenario.fleet.gpus.size(); ++i)
    scenario.fleet.gpus[i].name = fmt::format("n{}/{}", i / per_node, i % per_node);
  ask_for_several(scenario.workload, seed, 2 + static_cast<std::uint32_t>(random.below(7)));
  return scenario;
}

std::string random_spec(const SchedulerRow& row, std::uint64_t seed) {
  Random random(seed);
  std::string spec(row.name);
  char separator = ':';
  for (const OptionRow& option : row.options) {
    const auto values = split(values_of(row, option), '|');
    const auto value = values[random.below(values.size())];
    if (value.empty() || random.uniform() < 0.3) continue;
    spec += fmt::format("{}{}={}", separator, option.name, value);
    separator = ';';
  }
  return spec;
}

}  // namespace cleave::laws
