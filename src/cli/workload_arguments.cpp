#include "cli/workload_arguments.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <mutex>
#include <set>

#include "base/format.hpp"
#include "base/human_time.hpp"
#include "base/json.hpp"
#include "base/length_text.hpp"
#include "base/options.hpp"
#include "base/read_limits.hpp"
#include "base/read_text.hpp"
#include "base/tell.hpp"
#include "base/text.hpp"
#include "cli/forecast/model_input.hpp"
#include "cli/time_option.hpp"
#include "forecast/choice/warp_folding.hpp"
#include "forecast/memory/forecaster.hpp"
#include "model/workload_file.hpp"
#include "physics/reconfiguration.hpp"
#include "physics/speed.hpp"
#include "simulate/generate/generate.hpp"
#include "simulate/gpu_times.hpp"
#include "simulate/reservations.hpp"
#include "simulate/traces/trace.hpp"

namespace cleave::cli {

void RunArguments::add(CommandLine& command) {
  Option* const of_fleet = command.add_option(
      "--fleet", fleet, "A fleet file, or empty GPUs: 4xA100-40GB, or 4x8xA100-80GB on four nodes");
  if (!fleet_may_be_asked) of_fleet->required();
  command.add_option("--workload", workload,
                     "A workload file, JSON lines or CSV; - reads standard input");
  command.add_option("--trace", trace,
                     fmt::format("A public trace: {}; gzip or not", any_of(trace_forms())));
  std::vector<std::string> made;
  for (const GeneratorRow& row : generators()) made.emplace_back(row.name);
  command.add_option("--generate", generate,
                     fmt::format("Generate a workload from the seed: {}", any_of(made)));
  trace_options.add(command);
  add_run_options(command);
  add_world_options(command);
  command
      .add_option("--seed", seed,
                  "Seed of everything random: draws, generated workloads and failures")
      ->check(whole_number(0))
      ->default_str("1");
  add_profiles(command, profiles);
  command.add_flag("--no-index", no_index,
                   "Look at every GPU for every decision; slower, with the same answer");
  command.add_flag("--timing", timing, "Also print how long the run took");
  add_json(command, json);
}

void RunArguments::add_run_options(CommandLine& command) {
  command
      .add_option("--faults", faults,
                  "Random failures: mtbf=TIME;repair=TIME;job-failure=SHARE, each optional: "
                  "the mean time between two losses of a GPU, the time until it returns, and the "
                  "share of jobs that fail")
      ->check(not_empty());
  command
      .add_option(
          "--outage", outages,
          "GPU@FROM-UNTIL: the GPU is lost from FROM to UNTIL, times since the beginning such as "
          "600-900 or 1h-1h30m; may be repeated")
      ->one_each_time();
  command
      .add_option(
          "--reserve", reservations,
          "GPU@FROM-UNTIL=NAME: from FROM to UNTIL, as of --outage, only jobs of the user or "
          "account start on the GPU, and none without a name; may be repeated")
      ->one_each_time();
  command
      .add_option("--forecast", forecast,
                  fmt::format("Forecaster that predicts which jobs run out of memory: {}",
                              any_of(names_of(forecasters()))))
      ->default_str("none");
  command
      .add_option("--reconfiguration", reconfiguration,
                  "Time that each change of a GPU's instances takes; measured times by default")
      ->type_name(time_type);
  command
      .add_option("--checkpoint", checkpoint,
                  "Time to write and restore a checkpoint, half of it each; memory: what the "
                  "job holds over the link to the host, once each way, and replicas load it too; "
                  "memory:RATE: at most RATE GB/s, that of a file system for example")
      ->default_str("30");
  command
      .add_option("--mig-switch", mig_switch,
                  "Time to switch MIG off on a GPU, and to switch it on")
      ->default_str("0")
      ->type_name(time_type);
  add_told_options(command);
}

void RunArguments::add_told_options(CommandLine& command) {
  command
      .add_option("--profiles-repository", profiles_repository,
                  "Tell schedulers the times that follow from this profile repository for each "
                  "job's application and batch, in place of the true ones")
      ->check(not_empty())
      ->type_name("FILE");
  command
      .add_option("--time-model", time_model,
                  "The same by a model that `cleave forecast time --train` saved, where nothing "
                  "was measured")
      ->check(not_empty())
      ->type_name("FILE");
  command
      .add_option("--know", know,
                  "What all schedulers are told of jobs: speeds=true|learn|none, "
                  "times=true|noise:S|unknown, memory=true|forecast|none, each optional (true), "
                  "joined by ';'; see docs/simulated-world.md")
      ->check(not_empty())
      ->default_str(know.empty() ? "the truth" : know);
  command
      .add_option("--may", may,
                  "What may happen to jobs that run: nothing, stops that cost (checkpoint), or all "
                  "that a scheduler does, moves without a loss too")
      ->check(Check::one_of({"none", "checkpoint", "all"}))
      ->default_str(may);
  command
      .add_option("--compaction", compaction,
                  "Move jobs to make room for one that waits: on, or when_waiting=TIME;gain=FACTOR;"
                  "at_most=N moves/TIME per job;hours=FROM-UNTIL, each optional (docs/planner.md)")
      ->check(not_empty())
      ->default_str("off");
  command
      .add_option("--process-start", process_start,
                  "Time from the start of a process until it makes progress")
      ->default_str("0")
      ->type_name(time_type);
}

namespace {

constexpr std::pair<std::string_view, LinkSharing> link_sharings[] = {
    {"spread", LinkSharing::spread},
    {"together", LinkSharing::together},
    {"off", LinkSharing::off}};

constexpr OptionRow sharing_options[] = {
    {"switch-cost", "SHARE", "0.1", "what switching adds to each turn, 0 to 1"},
    {"fixed", "holds|leaves", "leaves",
     "whether a job's fixed part keeps others off the instance"}};

constexpr OptionRow power_options[] = {
    {"beta", "NUMBER", "1", "clocks follow power^(1/beta) at the cap, 0.7 to 1.6"},
    {"idle-factor", "NUMBER", "1", "what open contexts make of idle power, 1 to 2"}};

}  // namespace

void RunArguments::add_world_options(CommandLine& command) {
  command
      .add_option("--link", link,
                  "How the jobs on a GPU share its link to the host: transfers spread over their "
                  "time, all together, or off (no job slows another)")
      ->check(Check::one_of({"spread", "together", "off"}))
      ->default_str(link);
  command
      .add_option("--allocation", allocation,
                  "How much more slowly processes allocate memory beside other GPU instances: not "
                  "at all (off), or as measured for one application, 0.76 s as one of seven")
      ->check(Check::one_of({"off", "measured"}))
      ->default_str(allocation);
  command.add_option(
      "--sharing", sharing,
      "switch-cost=C;fixed=leaves|holds, each optional, for time slicing: switching between jobs "
      "adds C to each turn, 0 to 1 (default 0.1); the fixed part of a job's work leaves the "
      "instance to others (default) or holds it");
  command.add_flag("--jitter", jitter,
                   "Draw the times of creating and destroying instances about their medians");
  command.add_option(
      "--power", power,
      "beta=B;idle-factor=F, each optional: at the cap clocks follow power^(1/B), "
      "0.7 to 1.6; open contexts make F times the idle power, 1 to 2. off: no power, "
      "no energy");
  command.add_option("--power-cap", power_cap,
                     "Watts that each GPU may draw; its model's default cap if not given");
  command
      .add_option("--sample", sample,
                  "Also add up the energy that a meter would see that reads once in this time")
      ->type_name(time_type);
}

namespace {

/// Null where neither is given.
Result<std::shared_ptr<const ApplicationTimes>> read_applications(const std::string& repository,
                                                                  const std::string& model) {
  const auto profiles = read_if_named(repository), trained = read_if_named(model);
  if (!profiles) return std::unexpected(profiles.error());
  if (!trained) return std::unexpected(trained.error());
  return parse_application_times(*profiles, *trained);
}

Result<Duration> seconds_option(const char* name, const std::string& text) {
  const auto time = parse_human(text);
  if (!time) return fail_at(name, time.error());
  return time;
}

}  // namespace

Result<SimulationOptions> RunArguments::read_simulation(const FleetFile& of) const {
  SimulationOptions options;
  options.seed = seed;
  options.use_index = !no_index;
  if (!faults.empty()) {
    const auto plan = parse_faults(faults);
    if (!plan) return std::unexpected(plan.error());
    options.faults = *plan;
  }
  for (const std::string& text : outages) {
    const auto outage = parse_outage(text, of);
    if (!outage) return std::unexpected(outage.error());
    options.faults.outages.push_back(*outage);
  }
  // Those of one GPU begin in this order.
  std::ranges::stable_sort(options.faults.outages, {}, &Outage::from);
  if (const auto checked = check_outages(options.faults, of); !checked)
    return std::unexpected(checked.error());
  for (const std::string& text : reservations) {
    const auto reservation = parse_reservation(text, of);
    if (!reservation) return std::unexpected(reservation.error());
    options.reservations.push_back(*reservation);
  }
  if (const auto checked = check_reservations(options.reservations, of); !checked)
    return std::unexpected(checked.error());
  if (const auto made = make_forecaster(forecast); !made)
    return fail_at("--forecast", made.error());
  options.forecaster = forecast;
  if (!reconfiguration.empty()) {
    const auto time = seconds_option("--reconfiguration", reconfiguration);
    if (!time) return std::unexpected(time.error());
    options.reconfiguration = *time;
  }
  const auto stops = parse_stop_terms(checkpoint);
  if (!stops) return fail_at("--checkpoint", stops.error());
  options.stops = *stops;
  const auto rules = parse_compaction(compaction.empty() ? "off" : compaction);
  if (!rules) return fail_at("--compaction", rules.error());
  options.compaction = *rules;
  const std::tuple<const char*, const std::string*, Duration*> times[] = {
      {"--process-start", &process_start, &options.process_start}};
  for (const auto& [name, text, value] : times) {
    const auto time = seconds_option(name, *text);
    if (!time) return std::unexpected(time.error());
    *value = *time;
  }
  const auto applications = read_applications(profiles_repository, time_model);
  if (!applications) return std::unexpected(applications.error());
  options.applications = *applications;
  if (const auto known = read_knowledge(of, options); !known) return std::unexpected(known.error());
  const auto world = read_world(of);
  if (!world) return std::unexpected(world.error());
  options.world = *world;
  return options;
}

Result<void> RunArguments::read_knowledge(const FleetFile& of, SimulationOptions& options) const {
  const auto knowledge = parse_knowledge(know);
  if (!knowledge) return fail_at("--know", knowledge.error());
  const auto may_happen = parse_may(may);
  if (!may_happen) return fail_at("--may", may_happen.error());
  options.know = *knowledge;
  options.may = *may_happen;
  const bool of_times =
      knowledge->times != KnownTimes::truth || knowledge->speeds != KnownSpeeds::truth;
  if (of_times && options.applications != nullptr)
    return fail(ErrorKind::bad_usage, "--know",
                "predicted times are told, from a repository or a model",
                "leave out times and speeds here, or --profiles-repository and --time-model");
  const bool forecasts = forecast != "none";
  if (knowledge->memory == KnownMemory::forecast && !forecasts)
    return fail(ErrorKind::bad_usage, "--know", "memory=forecast needs a forecaster",
                "name one with --forecast");
  if (knowledge->memory == KnownMemory::unknown && forecasts)
    return fail(ErrorKind::bad_usage, "--know", "memory=none leaves no place for a forecaster",
                "write memory=forecast, or leave out --forecast");
  if (knowledge->memory == KnownMemory::truth) return {};
  for (const Geometry& geometry : of.geometries)
    for (const Profile* profile : geometry.profile_list())
      if (!profile->usable)
        return fail(ErrorKind::bad_usage, "--know",
                    fmt::format("how much memory programs can use on {} of {} is not known, so a "
                                "job that runs out there cannot be sized",
                                profile->name, geometry.model().key),
                    "leave out memory, or choose another GPU model");
  return {};
}

Result<WorldTerms> RunArguments::read_world(const FleetFile& of) const {
  WorldTerms terms;
  for (const auto& [name, means] : link_sharings)
    if (link == name) terms.link = means;
  terms.slow_allocation = allocation == "measured";
  terms.jitter = jitter;
  const auto switches = seconds_option("--mig-switch", mig_switch);
  if (!switches) return std::unexpected(switches.error());
  terms.mig_switch = *switches;
  const auto turns = options_of(sharing.empty() ? "sharing" : "sharing:" + sharing, "--sharing");
  if (!turns) return fail_at("--sharing", turns.error());
  const auto slicing = complete(*turns, sharing_options, "--sharing");
  if (!slicing) return fail_at("--sharing", slicing.error());
  OptionReader of_slicing(*slicing);
  terms.sharing.switch_cost = of_slicing.number("switch-cost", 0, most_switch_cost);
  terms.sharing.fixed_holds = of_slicing.is("fixed", "holds");
  if (of_slicing.error()) return fail_at("--sharing", *of_slicing.error());
  if (jitter && !reconfiguration.empty())
    return fail(ErrorKind::bad_usage, "--jitter", "--reconfiguration says what every change takes",
                "leave one of them out");
  if (power == "off") {
    terms.has_power = false;
    if (!power_cap.empty() || !sample.empty())
      return fail(ErrorKind::bad_usage, power_cap.empty() ? "--sample" : "--power-cap",
                  "the run leaves power out", "leave out --power off");
    return terms;
  }
  const auto given = options_of(power.empty() ? "power" : "power:" + power, "--power");
  if (!given) return std::unexpected(given.error());
  const auto settings = complete(*given, power_options, "--power");
  if (!settings) return std::unexpected(settings.error());
  OptionReader in(*settings);
  terms.power.beta = in.number("beta", least_beta, most_beta);
  terms.power.idle_factor = in.number("idle-factor", 1, 2);
  if (in.error()) return fail_at("--power", *in.error());
  if (!power_cap.empty()) {
    const auto watts = parse_number(power_cap);
    if (!watts)
      return fail(ErrorKind::bad_usage, "--power-cap",
                  fmt::format("'{}' is not a number of watts", shown(power_cap)),
                  "give a number such as 250");
    for (const Geometry& geometry : of.geometries) {
      const PowerBounds bounds = power_bounds(geometry.model(), terms.power);
      if (*watts < in_watts(bounds.idle) + 1)
        return fail(ErrorKind::bad_usage, "--power-cap",
                    fmt::format("'{}' leaves nothing for work on {}", shown(power_cap),
                                geometry.model().key),
                    fmt::format("give watts above the {:g} that it draws idle; its default cap is "
                                "{:g}",
                                in_watts(bounds.idle), in_watts(bounds.cap)));
    }
    terms.power.cap = Milliwatts{std::llround(std::min(*watts, 1e6) * 1000)};
  }
  if (!sample.empty()) {
    const auto interval = seconds_option("--sample", sample);
    if (!interval) return std::unexpected(interval.error());
    if (*interval < std::chrono::microseconds(1))
      return fail(ErrorKind::bad_usage, "--sample", "the interval must be at least a microsecond",
                  "give a time such as 0.1");
    terms.sample = *interval;
  }
  return terms;
}

Result<void> RunArguments::not_read(const char* option, const std::string& path) const {
  const std::string of_trace = trace.substr(std::min(trace.size(), trace.find(':') + 1));
  return not_read_too(
      option, path,
      {workload, fleet, of_trace, profiles_repository, time_model, trace_options.dcgm});
}

bool RunArguments::workload_is_drawn() const {
  return !generate.empty() || trace.starts_with("miso:") ||
         (trace.starts_with("philly:") && trace_options.shares == "alibaba");
}

Result<ComputeSlices> RunArguments::slices_of(const KernelUse& kernel) const {
  const auto of = read_fleet();
  if (!of) return std::unexpected(of.error());
  std::vector<const GpuModel*> models;
  for (const Geometry& each : of->geometries) models.push_back(&each.model());
  return slices_for(kernel, models);
}

Result<Workload> RunArguments::read_workload(std::uint64_t with_seed) const {
  BadLines bad;
  auto read = read_lines_of_workload(with_seed, bad);
  if (with_seed == seed) report(bad);  // others read the same lines
  return read;
}

Result<Workload> RunArguments::read_lines_of_workload(std::uint64_t with_seed,
                                                      BadLines& bad) const {
  if (std::ranges::count(std::array{workload.empty(), trace.empty(), generate.empty()}, false) != 1)
    return fail(
        ErrorKind::bad_usage, "",
        "say what to run: --workload FILE, --trace FORMAT:FILE or --generate NAME, one of them");
  if (trace.empty()) {
    if (const auto none = trace_options.without_trace(); !none)
      return std::unexpected(none.error());
    if (!generate.empty()) {
      auto made = generate_workload(generate, with_seed);
      if (made) made->options["generator"] = generate;
      return made;
    }
    const auto text = read_text(workload, trace_limits);
    if (!text) return std::unexpected(text.error());
    return parse_workload(
        *text, workload == "-" ? "standard input" : shown(workload, 200), model_sizer(workload),
        [this](const KernelUse& kernel) { return slices_of(kernel); },
        trace_options.skip_bad_lines ? &bad : nullptr);
  }
  const auto options = trace_options.read(trace, with_seed, bad);
  if (!options) return std::unexpected(options.error());
  return read_trace(trace, *options);
}

namespace {

std::vector<std::string> outage_texts(const FaultPlan& faults, const FleetFile& fleet) {
  std::vector<std::string> texts;
  for (const Outage& outage : faults.outages)
    texts.push_back(text_of(GpuTime{outage.gpu, outage.from, outage.until}, fleet));
  return texts;
}

std::vector<std::string> reservation_texts(const SimulationOptions& options,
                                           const FleetFile& fleet) {
  std::vector<std::string> texts;
  for (const GpuReservation& each : options.reservations) texts.push_back(text_of(each, fleet));
  return texts;
}

}  // namespace

Json run_json(const SimulationOptions& options, const FleetFile& fleet, const SchedulerSpec& spec) {
  const FaultPlan& faults = options.faults;
  const Knowledge told = spec.row->truth ? Knowledge() : options.know;
  Json json = {
      {"reconfiguration_s",
       options.reconfiguration ? Json(in_seconds(*options.reconfiguration)) : Json(nullptr)},
      {"checkpoint_s",
       options.stops.by_memory ? Json(nullptr) : Json(in_seconds(options.stops.checkpoint))},
      {"process_start_s", in_seconds(options.process_start)},
      {"forecast", options.forecaster},
      {"times", options.applications && !spec.row->truth ? "predicted" : text_of_times(told)},
      {"faults",
       {{"mtbf_s",
         faults.between_losses ? Json(in_seconds(*faults.between_losses)) : Json(nullptr)},
        {"repair_s", faults.between_losses ? Json(in_seconds(faults.repair)) : Json(nullptr)},
        {"job_failure", faults.job_failure},
        {"outages", outage_texts(faults, fleet)}}},
      {"reservations", reservation_texts(options, fleet)}};
  // Where something else than usual was said.
  if (options.know != Knowledge()) json["know"] = text(told);
  if (options.stops.by_memory) json["checkpoint"] = text(options.stops);
  if (options.world.mig_switch > Duration::zero())
    json["mig_switch_s"] = in_seconds(options.world.mig_switch);
  if (options.may != MayInterrupt::all) json["may"] = name(options.may);
  if (options.compaction) json["compaction"] = text(*options.compaction);
  return json;
}

Json world_json(const WorldTerms& terms, const Workload& workload) {
  const auto transferring = std::ranges::count_if(
      workload.jobs, [&](const Job& job) { return uses_link(workload.speeds[job.speed]); });
  const auto* link = std::ranges::find(link_sharings, terms.link,
                                       &std::pair<std::string_view, LinkSharing>::second);
  Json json = {{"link", link->first},
               {"jobs_that_transfer", transferring},
               {"allocation", terms.slow_allocation ? "measured" : "off"},
               {"jitter", terms.jitter},
               {"sharing",
                {{"switch_cost", terms.sharing.switch_cost},
                 {"fixed", terms.sharing.fixed_holds ? "holds" : "leaves"}}},
               {"power", nullptr},
               {"sample_s", terms.sample ? Json(in_seconds(*terms.sample)) : Json(nullptr)}};
  if (terms.has_power)
    json["power"] = {{"beta", terms.power.beta},
                     {"idle_factor", terms.power.idle_factor},
                     {"cap_w", terms.power.cap ? Json(in_watts(*terms.power.cap)) : Json(nullptr)}};
  return json;
}

std::string run_text(const SimulationOptions& options, const FleetFile& fleet) {
  const SimulationOptions usual;
  const FaultPlan& faults = options.faults;
  std::vector<std::string> said;
  if (options.reconfiguration)
    said.push_back(
        fmt::format("{} for each change of a GPU", length_text(*options.reconfiguration)));
  if (options.stops.by_memory)
    said.push_back(
        fmt::format("checkpoints and moves by memory{}",
                    options.stops.by_memory->gb_per_s
                        ? fmt::format(", at most {:g} GB/s", *options.stops.by_memory->gb_per_s)
                        : ""));
  else if (options.stops.checkpoint != usual.stops.checkpoint)
    said.push_back(fmt::format("checkpoints of {}", length_text(options.stops.checkpoint)));
  if (options.world.mig_switch > Duration::zero())
    said.push_back(
        fmt::format("{} to switch MIG on or off", length_text(options.world.mig_switch)));
  if (options.process_start != usual.process_start)
    said.push_back(fmt::format("processes start in {}", length_text(options.process_start)));
  if (options.compaction)
    said.push_back(fmt::format("jobs are moved to make room ({})", text(*options.compaction)));
  if (options.forecaster != usual.forecaster)
    said.push_back(fmt::format("forecast {}", options.forecaster));
  if (options.applications)
    said.push_back(
        fmt::format("schedulers are told predicted times, from {}{}",
                    counted(options.applications->repository().records().size(), "profile"),
                    options.applications->model() != nullptr ? " and a trained model" : ""));
  if (options.know != Knowledge())
    said.push_back(fmt::format("schedulers are told {} (oracle the truth)", words(options.know)));
  if (options.may == MayInterrupt::never) said.push_back("no job may be stopped or moved");
  if (options.may == MayInterrupt::checkpoint)
    said.push_back("jobs may be stopped at a price, and not moved for nothing");
  if (options.world.link == LinkSharing::off) said.push_back("jobs do not share links");
  if (options.world.link == LinkSharing::together)
    said.push_back("all transfers on a GPU coincide");
  if (options.world.slow_allocation)
    said.push_back("processes allocate more slowly beside other instances");
  if (options.world.sharing.switch_cost != usual.world.sharing.switch_cost)
    said.push_back(fmt::format("switching adds {:g} to the turns of time-sliced jobs",
                               options.world.sharing.switch_cost));
  if (options.world.sharing.fixed_holds) said.push_back("fixed parts hold a time-sliced instance");
  if (options.world.jitter) said.push_back("times of creating and destroying are drawn");
  if (options.world.power.cap)
    said.push_back(fmt::format("GPUs draw at most {:g} W", in_watts(*options.world.power.cap)));
  if (options.world.power.beta != 1)
    said.push_back(fmt::format("clocks follow power^(1/{:g})", options.world.power.beta));
  if (options.world.power.idle_factor != 1)
    said.push_back(fmt::format("idle power times {:g}", options.world.power.idle_factor));
  if (faults.between_losses)
    said.push_back(fmt::format("each GPU is lost every {} on average, for {}",
                               length_text(*faults.between_losses), length_text(faults.repair)));
  if (faults.job_failure > 0)
    said.push_back(fmt::format("a share of {} of the jobs fails", faults.job_failure));
  if (!faults.outages.empty())
    said.push_back(fmt::format("lost: {}", fmt::join(outage_texts(faults, fleet), ", ")));
  if (!options.reservations.empty())
    said.push_back(fmt::format("reserved: {}", fmt::join(reservation_texts(options, fleet), ", ")));
  return said.empty() ? "" : fmt::format("run: {}\n", fmt::join(said, "; "));
}

struct ProgressLine::State {
  std::string what;
  std::vector<double> shares;
  int shown = -1;
  bool terminal = false;
  std::mutex mutex;
};

ProgressLine::ProgressLine(std::string what, std::size_t runs) : state_(std::make_shared<State>()) {
  state_->what = std::move(what);
  state_->shares.assign(runs, 0);
  state_->terminal = ::isatty(STDERR_FILENO) == 1;
}

ProgressLine::~ProgressLine() {
  // Wipes the line: results follow in its place.
  if (state_->shown >= 0) fmt::print(stderr, "\r{:{}}\r", "", state_->what.size() + 8);
}

Progress ProgressLine::of_run(std::size_t run) {
  if (!state_->terminal) return {};
  return [state = state_, run](std::size_t done, std::size_t all) {
    const std::scoped_lock lock(state->mutex);
    state->shares[run] = all == 0 ? 1 : static_cast<double>(done) / static_cast<double>(all);
    double sum = 0;
    for (const double share : state->shares) sum += share;
    const int now = static_cast<int>(100 * sum / static_cast<double>(state->shares.size()));
    if (now == state->shown) return;
    state->shown = now;
    fmt::print(stderr, "\r{} {:3} %", state->what, now);
    std::fflush(stderr);
  };
}

namespace {

/// Some words of a list, so that a line stays readable.
std::string some_of(const std::set<std::string>& words) {
  constexpr std::size_t most = 8;
  std::vector<std::string> first;
  for (const std::string& word : words)
    if (first.size() < most) first.push_back(shown(word));
  const std::string more =
      words.size() > most ? fmt::format(" and {} more", words.size() - most) : "";
  return fmt::format("{}{}", fmt::join(first, ", "), more);
}

bool predicts(const ApplicationTimes& times, const FleetFile& fleet, const JobDetails& job) {
  return std::ranges::any_of(fleet.geometries, [&](const Geometry& geometry) {
    return std::ranges::any_of(geometry.profile_list(), [&](const Profile* profile) {
      return times.time_on(*job.application, job.batch.value_or(1), geometry.model(), *profile)
          .has_value();
    });
  });
}

}  // namespace

std::string without_predictions(const SimulationOptions& options, const FleetFile& fleet,
                                const Workload& workload) {
  if (!options.applications || workload.jobs.empty()) return "";
  std::map<std::pair<std::string, std::int64_t>, bool> known;
  std::set<std::string> unknown;
  std::size_t nameless = 0, without = 0;
  for (const Job& job : workload.jobs) {
    const JobDetails* details = workload.details_of(job);
    if (details == nullptr || !details->application) {
      ++nameless;
      continue;
    }
    const auto [at, fresh] =
        known.try_emplace({*details->application, details->batch.value_or(1)}, false);
    if (fresh) at->second = predicts(*options.applications, fleet, *details);
    if (at->second) continue;
    ++without;
    unknown.insert(fmt::format("{} with batch {}", at->first.first, at->first.second));
  }
  if (nameless + without == 0) return "";
  std::set<std::string> recorded;
  for (const auto& [key, record] : options.applications->repository().records())
    if (std::ranges::any_of(fleet.geometries, [&](const Geometry& geometry) {
          return geometry.model().key == key.gpu_model;
        }))
      recorded.insert(fmt::format("{} with batch {}", key.application, key.batch));
  std::string text = fmt::format("no time is predicted for {} of {}", nameless + without,
                                 counted(workload.jobs.size(), "job"));
  if (nameless > 0) text += fmt::format("; {} without `application`", counted(nameless, "job"));
  if (without > 0) text += fmt::format("; nothing is known of {}", some_of(unknown));
  text += recorded.empty()
              ? "; the repository has no profile of this fleet's GPU models"
              : fmt::format("; the repository knows {} on these GPUs", some_of(recorded));
  return text + ": give jobs the `application` and `batch` that were measured";
}

void report_without_predictions(const SimulationOptions& options, const FleetFile& fleet,
                                const Workload& workload) {
  if (const std::string what = without_predictions(options, fleet, workload); !what.empty())
    tell("cleave: {}\n", what);
}

std::string introduction(const FleetFile& fleet, const Workload& workload) {
  std::vector<std::string> gpus;
  for (std::size_t i = 0; i < fleet.geometries.size(); ++i) {
    std::size_t count = 0;
    for (const GpuEntry& gpu : fleet.gpus) count += gpu.geometry == i ? 1 : 0;
    const GpuModel& model = fleet.geometries[i].model();
    gpus.push_back(fmt::format("{} x {}{}", count, model.key,
                               model.placements_inferred ? " (placements inferred)" : ""));
  }
  std::string text =
      fmt::format("{} on {}\n", counted(workload.jobs.size(), "job"), fmt::join(gpus, " + "));
  if (!workload.options.contains("generator")) return text + trace_text(workload);
  std::vector<std::string> options;
  for (const auto& [key, value] : workload.options)
    options.push_back(fmt::format("{} {}", key, value));
  return text + fmt::format("{}\n", fmt::join(options, ", "));
}

namespace {

/// Of a trace, where not all of its jobs' work was done; empty otherwise.
std::string gpu_hours_text(const RunSummary& summary) {
  const GpuHours& hours = summary.gpu_hours;
  const double all = hours.finished + hours.failed + hours.rejected + hours.waiting;
  std::vector<std::string> others;
  const std::pair<const char*, double> ends[] = {
      {"failed", hours.failed}, {"rejected", hours.rejected}, {"waiting", hours.waiting}};
  for (const auto& [end, sum] : ends)
    if (sum > 0) others.push_back(fmt::format("{:.1f} {}", sum, end));
  if (others.empty()) return "";
  return fmt::format("{}: {:.1f} of {:.1f} GPU-hours finished, {}\n", summary.scheduler,
                     hours.finished, all, fmt::join(others, ", "));
}

}  // namespace

std::string remarks(const RunSummary& summary, bool measured_times) {
  std::string text;
  for (const ReasonCount& entry : summary.rejections)
    text += fmt::format("{} rejected: {}\n", counted(entry.count, "job"), entry.reason);
  text += gpu_hours_text(summary);
  if (summary.waiting > 0)
    text += fmt::format("{} jobs still wait when the run ends: what they need is never freed\n",
                        summary.waiting);
  if (summary.speeds_inferred > 0)
    text += fmt::format(
        "the speed of {} jobs is inferred from compute slices: their SM counts are unknown\n",
        summary.speeds_inferred);
  if (summary.creates > 0 && measured_times) text += fmt::format("{}\n", reconfiguration_note);
  if (summary.energy_j)
    text += "watts are a scenario, not a prediction: docs/simulated-world.md has their sources\n";
  return text;
}

}  // namespace cleave::cli
