// `cleave bench placement`: what a placement decision costs, found in four ways on the same
// generated sequence of arrivals and departures. The fleet and the policies are those that the
// engine uses.
//
// A fleet is filled to a load and churned until it is steady. Then a request of each kind is as
// likely as any other; after each arrival as much work leaves, drawn evenly, as keeps the load. A
// decision is an arrival, placed or not, with its commit and the departures that balance it; `ns`
// is the mean over arrivals and departures.

#include "base/format.hpp"
#include "base/random.hpp"
#include "cli/columns.hpp"
#include "placement/index.hpp"
#include "study/bench/bench_parts.hpp"

namespace cleave::cli {

namespace {

struct BenchPlacementCommandOptions {
  std::vector<std::size_t> gpus = {8, 100, 1000, 10000, 100000};
  std::vector<std::string> models = {"A100-40GB"};
  std::string policy{default_policy}, profiles = "plain";
  double load = 0.75;     // share of memory slices held
  double walls = 0;       // share of GPUs with an instance that is not ours
  double seconds = 0.25;  // for each way of finding
  bool json = false;
};

/// The options with their names looked up.
struct Measuring {
  ChosenPolicy policy;
  std::vector<const GpuModel*> models;  // the fleet's GPUs in turn
  ProfileChoice profiles;
  double load, walls, seconds;
};

/// One way of finding on one fleet.
struct PlacementPace {
  double decisions_per_s = 0;
  double ns = 0;  // an operation: an arrival or a departure
};

struct PlacementBench {
  std::size_t gpus = 0;
  bool idle_instances = false;  // instances stay for reuse when work leaves
  PlacementPace index, plain, scan;
  std::optional<PlacementPace> vector;  // none where a policy has too many levels for it
  bool identical = true;                // every way decided the same, decision by decision ...
  std::size_t compared = 0;             // ... as far as the slowest of them, the definition, came
  double rejected = 0;                  // share of arrivals that fitted nowhere
  double index_bytes_per_gpu = 0;
  std::size_t classes = 0;
  double build_seconds = 0;  // index of the steady fleet, its states known
};

std::optional<double> vector_ns(const PlacementBench& run) {
  return run.vector ? std::optional(run.vector->ns) : std::nullopt;
}

template <auto Way, auto Figure>
double pace(const PlacementBench& run) {
  return run.*Way.*Figure;
}

using P = PlacementBench;
const Columns<PlacementBench> columns = {
    {"gpus", "GPUs", &P::gpus},
    {"idle_instances", "idle kept", &P::idle_instances},
    {"index_decisions_per_s", "million decisions/s",
     pace<&P::index, &PlacementPace::decisions_per_s>, decimals(1, 1e-6)},
    {"index_ns", "index ns", pace<&P::index, &PlacementPace::ns>, decimals(1)},
    {"vector_ns", "vector ns", vector_ns, decimals(1)},
    {"scan_ns", "scan ns", pace<&P::scan, &PlacementPace::ns>, decimals(0)},
    {"plain_ns", "plain ns", pace<&P::plain, &PlacementPace::ns>, decimals(0)},
    {"identical", "identical", &P::identical, yes_or_alarm},
    {"compared", json_only, &P::compared},
    {"rejected", "rejected", &P::rejected, percent_text},
    {"index_bytes_per_gpu", "bytes a GPU", &P::index_bytes_per_gpu, decimals(1)},
    {"row_classes", json_only, &P::classes},
    {"build_seconds", "build ms", &P::build_seconds, decimals(2, 1e3)}};

struct Running {
  GpuId gpu;
  PlacementId placement;
};

/// A fleet with its running work: what every way of finding starts from.
struct Scene {
  Fleet fleet;
  std::vector<Running> running;
  std::int64_t held = 0, target = 0;     // memory slices
  std::vector<std::vector<int>> memory;  // of each placement of each model
};

/// Drawn beforehand, so that drawing is not timed; used in a circle.
struct Draws {
  std::vector<RequestId> requests;
  std::vector<std::uint32_t> departures;
  std::size_t next_request = 0, next_departure = 0;

  RequestId request() { return requests[next_request++ % requests.size()]; }
  std::size_t departure(std::size_t running) {
    return (std::uint64_t{departures[next_departure++ % departures.size()]} * running) >> 32;
  }
};

Draws draw(const RequestTable& requests, std::uint64_t seed) {
  constexpr std::size_t count = std::size_t{1} << 20;
  Random random(seed);
  Draws draws;
  for (std::size_t i = 0; i < count; ++i) {
    draws.requests.push_back(static_cast<RequestId>(random.below(requests.size())));
    draws.departures.push_back(static_cast<std::uint32_t>(random.bits() >> 32));
  }
  return draws;
}

FleetFile make_fleet(const Measuring& options, std::size_t size) {
  Random random(11);
  FleetFile file;
  for (const GpuModel* model : options.models)
    file.geometries.emplace_back(*model, options.profiles.on(*model));
  for (std::size_t i = 0; i < size; ++i) {
    GpuEntry gpu{"", i % file.geometries.size(), {}};
    if (random.uniform() < options.walls) {
      InstanceEntry wall;
      wall.placement = static_cast<PlacementId>(
          random.below(static_cast<std::uint64_t>(file.geometries[gpu.geometry].size())));
      wall.owned = false;
      gpu.instances.push_back(wall);
    }
    file.gpus.push_back(std::move(gpu));
  }
  return file;
}

/// The definition for the policy `fragmentation`: every GPU, every start, the cost worked out again
/// each time. Other policies are defined by decide_by_scan itself.
std::optional<Decision> decide_by_definition(const Fleet& fleet, const ResolvedRequest& request,
                                             const ChosenPolicy& policy) {
  if (policy.policy->name != "fragmentation") return decide_by_scan(fleet, request, policy);
  std::optional<std::array<int, 4>> best;
  GpuId gpu{};
  PlacementId placement = 0;
  for (std::size_t i = 0; i < fleet.size(); ++i) {
    const GpuState& state = fleet[static_cast<GpuId>(i)];
    const Geometry& geometry = fleet.geometry(state);
    const PlacementSet occupied = state.held | state.walls;
    const int lazy = busy({fleet.graph(state), state}, policy.options) ? 1 : 0;
    for (const PlacementId id : request.candidates[state.kind] & geometry.free(occupied)) {
      int cost = fragmentation_cost(geometry, occupied | PlacementSet::of(id)).units;
      if (policy.options.across == Across::rise)
        cost -= fragmentation_cost(geometry, occupied).units;
      const std::array<int, 4> key = {lazy, cost, state.idle.contains(id) ? 0 : 1,
                                      -geometry[id].profile->compute.value};
      if (best && key >= *best) continue;
      best = key;
      gpu = static_cast<GpuId>(i);
      placement = id;
    }
  }
  if (!best) return std::nullopt;
  return Decision{gpu, placement, fleet[gpu].idle.contains(placement),
                  fleet.destroys(fleet[gpu], placement)};
}

/// What a decision came to, small enough to keep by the million.
std::uint64_t mark(const std::optional<Decision>& decision) {
  if (!decision) return ~std::uint64_t{0};
  const std::uint64_t where = std::uint64_t{static_cast<std::uint32_t>(decision->gpu)} << 6 |
                              (std::uint64_t{decision->placement} << 1) |
                              std::uint64_t{decision->reuse};
  return where ^ std::uint64_t{decision->destroys.bits()} << 32;
}

struct Measured {
  std::uint64_t arrivals = 0, departures = 0, rejected = 0;
  double seconds = 0;
  std::vector<std::uint64_t> marks;  // of the first decisions

  [[nodiscard]] PlacementPace pace() const {
    return {static_cast<double>(arrivals) / seconds,
            seconds / static_cast<double>(arrivals + departures) * 1e9};
  }
};

/// Plays the sequence on `scene` until `seconds` are over. `decide` and `changed` are the way of
/// finding.
template <class Decide, class Changed>
Measured play(Scene& scene, Draws draws, double seconds, bool keep_idle, const Decide& decide,
              const Changed& changed) {
  constexpr std::size_t keep = 200000;
  Measured measured;
  measured.marks.reserve(keep);
  const auto begin = ProcessorClock::now();
  // The clock is read after ever more decisions: quick ones are not slowed by it, slow ones end in
  // time.
  for (std::uint64_t until = 4;;
       until = measured.arrivals + std::min<std::uint64_t>(measured.arrivals, 4096)) {
    while (measured.arrivals < until) {
      const std::optional<Decision> decision = decide(draws.request());
      ++measured.arrivals;
      if (measured.marks.size() < keep) measured.marks.push_back(mark(decision));
      if (!decision) {
        ++measured.rejected;
        continue;
      }
      scene.fleet.hold(decision->gpu, decision->placement);
      changed(decision->gpu);
      scene.running.push_back({decision->gpu, decision->placement});
      scene.held += scene.memory[scene.fleet[decision->gpu].kind][decision->placement];
      while (scene.held > scene.target) {
        Running& leaver = scene.running[draws.departure(scene.running.size())];
        const Running gone = leaver;
        leaver = scene.running.back();
        scene.running.pop_back();
        scene.held -= scene.memory[scene.fleet[gone.gpu].kind][gone.placement];
        if (keep_idle) {
          scene.fleet.release(gone.gpu, gone.placement);
        } else {
          scene.fleet.vacate(gone.gpu, gone.placement);
        }
        changed(gone.gpu);
        ++measured.departures;
      }
    }
    measured.seconds = seconds_since(begin);
    if (measured.seconds >= seconds) return measured;
  }
}

Measured play_indexed(Scene& scene, const Draws& draws, double seconds, bool keep_idle,
                      PlacementIndex& index) {
  return play(
      scene, draws, seconds, keep_idle, [&](RequestId request) { return index.decide(request); },
      [&](GpuId gpu) { index.changed(gpu); });
}

/// Whether two ways agree on every decision that both made and kept.
bool agree(const Measured& a, const Measured& b) {
  const std::size_t both = std::min(a.marks.size(), b.marks.size());
  return std::equal(a.marks.begin(), a.marks.begin() + static_cast<std::ptrdiff_t>(both),
                    b.marks.begin());
}

/// Plays until jobs have been replaced a few times over and new states have become rare: a fleet
/// that has run for a while, not one whose states are being met for the first time.
void churn(Scene& scene, const RequestTable& requests, const Measuring& options, bool keep_idle) {
  PlacementIndex index(scene.fleet, requests, options.policy);
  const double a_while = std::max(0.05, static_cast<double>(scene.fleet.size()) * 4e-6);
  std::size_t known = 0;
  for (int round = 0; round < 40; ++round) {
    play_indexed(scene, draw(requests, 3 + static_cast<std::uint64_t>(round)), a_while, keep_idle,
                 index);
    const std::size_t learned = scene.fleet.states().size() - known;
    known += learned;
    if (round > 0 && learned * 200 < known) break;
  }
}

PlacementBench bench_one(const Measuring& options, std::size_t size, bool keep_idle) {
  using Method = PlacementIndex::Method;
  const FleetFile file = make_fleet(options, size);
  RequestTable requests(file.geometries);
  for (const Geometry& geometry : file.geometries)
    for (const std::string& name : geometry.profile_names()) requests.intern({ByProfile{name}, {}});
  const Draws draws = draw(requests, 7);

  Scene steady{Fleet(file), {}, 0, 0, {}};
  for (const auto& graph : steady.fleet.graphs()) {
    steady.memory.emplace_back();
    for (const PlacementId id : graph->geometry().all())
      steady.memory.back().push_back(graph->geometry()[id].profile->memory.value);
  }
  double slices = 0;
  for (const GpuState& gpu : steady.fleet.gpus())
    slices += steady.fleet.geometry(gpu).model().memory_slices.value;
  steady.target = static_cast<std::int64_t>(slices * options.load);
  churn(steady, requests, options, keep_idle);

  PlacementBench bench;
  bench.gpus = size;
  bench.idle_instances = keep_idle;
  // `used` is told how the decisions were found in the end.
  const auto run = [&](Method method, Method& used) {
    Scene scene = steady;
    PlacementIndex index(scene.fleet, requests, options.policy, method);
    const Measured measured = play_indexed(scene, draws, options.seconds, keep_idle, index);
    used = index.method();
    return measured;
  };
  Measured indexed;
  {
    Scene scene = steady;
    const auto begin = ProcessorClock::now();
    PlacementIndex index(scene.fleet, requests, options.policy);
    bench.build_seconds = seconds_since(begin);
    indexed = play_indexed(scene, draws, options.seconds, keep_idle, index);
    bench.index_bytes_per_gpu = static_cast<double>(index.bytes()) / static_cast<double>(size);
    bench.classes = index.classes();
  }
  bench.index = indexed.pace();
  bench.rejected = static_cast<double>(indexed.rejected) / static_cast<double>(indexed.arrivals);
  Method used = Method::automatic;
  const Measured scalar = run(Method::scalar_scan, used);
  bench.scan = scalar.pace();
  const Measured vector = run(Method::vector_scan, used);
  if (used == Method::vector_scan) bench.vector = vector.pace();
  Scene scene = steady;
  const Measured plain = play(
      scene, draws, options.seconds, keep_idle,
      [&](RequestId request) {
        return decide_by_definition(scene.fleet, requests[request], options.policy);
      },
      [](GpuId) {});
  bench.plain = plain.pace();
  bench.compared = std::min(plain.marks.size(), indexed.marks.size());
  bench.identical = agree(indexed, scalar) && agree(indexed, vector) && agree(indexed, plain);
  return bench;
}

/// Of the index's ns with idle instances, from the smallest to the largest fleet.
double growth(const std::vector<PlacementBench>& runs) {
  const auto with_idle = std::span(runs).first(runs.size() / 2);
  const auto [smallest, largest] = std::ranges::minmax_element(with_idle, {}, &P::gpus);
  return largest->index.ns / smallest->index.ns;
}

Result<Measuring> look_up(const BenchPlacementCommandOptions& given) {
  Measuring measuring{{}, {}, {}, given.load, given.walls, given.seconds};
  const auto policy = choose_policy(given.policy, {});
  if (!policy) return std::unexpected(policy.error());
  measuring.policy = *policy;
  for (const std::string& name : given.models) {
    const auto model = find_gpu_model(name);
    if (!model) return std::unexpected(model.error());
    measuring.models.push_back(*model);
  }
  const auto profiles = ProfileChoice::parse(given.profiles);
  if (!profiles) return std::unexpected(profiles.error());
  if (const auto checked = profiles->check(measuring.models); !checked)
    return std::unexpected(checked.error());
  measuring.profiles = *profiles;
  return measuring;
}

Result<int> placement(const BenchPlacementCommandOptions& given) {
  const auto measuring = look_up(given);
  if (!measuring) return std::unexpected(measuring.error());
  std::vector<PlacementBench> runs;
  for (const bool keep_idle : {true, false})
    for (const std::size_t size : given.gpus)
      runs.push_back(bench_one(*measuring, size, keep_idle));
  if (given.json)
    print(Json{{"fleets", json_rows(columns, runs)}, {"growth", growth(runs)}});
  else
    fmt::print(
        "Policy {}, {} of memory held. A decision is an arrival with its commit and the departures "
        "that balance it;\n"
        "ns are the mean over arrivals and departures.\n\n{}\n"
        "growth of the index's ns with idle instances, smallest to largest fleet: {:.2f}\n",
        given.policy, percent(given.load), text_rows(columns, runs), growth(runs));
  return 0;
}

}  // namespace

void add_bench_placement(CommandLine& bench, Run& run) {
  const auto [command, options] = add_command(
      bench, run, "placement", "A placement decision by the index, by scans and by the definition",
      "cleave bench placement --gpus 8,1000 --seconds 0.02", placement);
  add_fleet_sizes(*command, options.gpus);
  command->add_option("--policy", options.policy, "Placement policy; `cleave policies` lists them")
      ->default_str(std::string(default_policy));
  command->add_option("--models", options.models, "GPU models of the fleet, in turn")
      ->delimiter(',');
  command
      ->add_option("--profiles", options.profiles,
                   "The profiles asked for, each as often as any other: all, plain, five, four or "
                   "names")
      ->default_str("plain");
  command->add_option("--load", options.load, "Share of memory slices held by work")
      ->check(number_from(0.01, 1))
      ->default_str("0.75");
  command->add_option("--walls", options.walls, "Share of GPUs with an instance that is not ours")
      ->check(number_from(0, 1))
      ->default_str("0");
  command->add_option("--seconds", options.seconds, "Seconds for each method on each fleet")
      ->check(number_from(0.001, 3600))
      ->default_str("0.25");
  add_json(*command, options.json);
}

}  // namespace cleave::cli
