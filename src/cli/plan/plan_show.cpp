#include "cli/plan/plan_show.hpp"

#include <algorithm>
#include <map>

#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/table.hpp"
#include "model/layout_text.hpp"
#include "planner/objective.hpp"

namespace cleave::cli {

namespace {

/// More GPUs or workloads than this are left to --json.
constexpr std::size_t most_shown = 40;

class Page {
 public:
  Page(const PlanProblem& problem, const Plan& plan)
      : problem_(problem), plan_(plan), before_(problem.gpus.size()), after_(problem.gpus.size()) {
    for (WorkloadIndex i = 0; i < plan.goal.size(); ++i) {
      const PlanWorkload& who = problem.workloads[i];
      if (who.now) before_[index(who.now->gpu)][who.now->placement] = i;
      if (plan.goal[i]) after_[index(plan.goal[i]->gpu)][plan.goal[i]->placement] = i;
    }
  }

  std::string text(bool explain) {
    summary();
    for (const std::size_t gpu : changed_shown()) draw_gpu(gpu);
    moves();
    pending();
    metrics();
    if (explain) proofs();
    return std::move(out_);
  }

 private:
  using Instances = std::map<PlacementId, WorkloadIndex>;

  template <class... Parts>
  void write(fmt::format_string<Parts...> format, Parts&&... parts) {
    out_ += fmt::format(format, std::forward<Parts>(parts)...);
  }

  [[nodiscard]] std::string_view gpu_name(GpuId gpu) const {
    return problem_.gpus[index(gpu)].name;
  }

  void summary() {
    std::size_t placed = 0, moved = 0;
    int slices = 0;
    for (WorkloadIndex i = 0; i < plan_.goal.size(); ++i) {
      if (!plan_.goal[i]) continue;
      const PlanWorkload& who = problem_.workloads[i];
      const Action action = action_of(who, *plan_.goal[i]);
      if (action == Action::place) ++placed;
      if (action != Action::migrate && action != Action::move_within) continue;
      ++moved;
      slices += problem_.placement(*who.now).profile->memory.value;
    }
    const bool places = problem_.kind == ProblemKind::deploy || problem_.kind == ProblemKind::joint;
    const bool given = plan_.method == "given";
    write("{}: ", given ? "migrate" : fmt::format("{} by {}", name(problem_.kind), plan_.method));
    if (places) write("{} placed, {} pending, ", counted(placed, "workload"), plan_.pending.size());
    write("{} moved ({}), {} in use of {} ({} now)\n",
          places ? std::to_string(moved) : counted(moved, "workload"),
          counted(static_cast<std::size_t>(slices), "memory slice"),
          counted(static_cast<std::size_t>(plan_.then.gpus), "GPU"), problem_.gpus.size(),
          plan_.now.gpus);
    if (plan_.status == PlanStatus::optimal) {
      write("{} {}.\n\n",
            plan_.method == "optimal" ? "Proven optimal: no plan is better in"
                                      : "As good as the proven optimum in",
            objectives());
      return;
    }
    if (plan_.objective.empty()) write("\n");
    for (const Objective& objective : plan_.objective)
      if (objective.value != objective.bound) {
        write("Not proven optimal: {} is {}{}.\n\n", words(objective.name),
              shown_value(objective.value),
              objective.proof.empty()
                  ? ", and how low it could be is not known"
                  : fmt::format(", and cannot be below {}", shown_value(objective.bound)));
        return;
      }
  }

  [[nodiscard]] std::string objectives() const {
    if (plan_.weights) return "the weighted sum";
    std::string text;
    for (const Objective& objective : plan_.objective)
      text += fmt::format("{}{} ({})", text.empty() ? "" : ", then ", words(objective.name),
                          objective.value);
    return text;
  }

  static std::string words(std::string_view name) {
    std::string text(name);
    std::ranges::replace(text, '_', ' ');
    if (const std::size_t at = text.find("gpus"); at != std::string::npos)
      text.replace(at, 4, "GPUs");
    return text;
  }

  /// Weighted sums are kept in thousandths.
  [[nodiscard]] std::string shown_value(std::int64_t value) const {
    if (!plan_.weights) return std::to_string(value);
    return fmt::format("{}", static_cast<double>(value) / 1000);
  }

  std::vector<std::size_t> changed_shown() {
    std::vector<std::size_t> list;
    std::size_t changed = 0;
    for (std::size_t gpu = 0; gpu < before_.size(); ++gpu) {
      if (before_[gpu] == after_[gpu]) continue;
      if (++changed <= most_shown) list.push_back(gpu);
    }
    if (changed == 0)
      write("{}\n\n",
            plan_.moves.waves.empty() ? "Nothing changes." : "Only idle instances change.");
    if (changed > list.size())
      write("The first {} of {} GPUs that change; --json has them all.\n\n", list.size(), changed);
    width_ = 0;
    for (const std::size_t gpu : list) width_ = std::max(width_, problem_.gpus[gpu].name.size());
    return list;
  }

  /// Two lines: what is on the GPU now and where it goes, and what will be and where it comes from.
  void draw_gpu(std::size_t gpu) {
    const Geometry& geometry = problem_.graphs[problem_.gpus[gpu].kind]->geometry();
    PlacementSet now, then;
    for (const auto& [id, i] : before_[gpu]) now.insert(id);
    for (const auto& [id, i] : after_[gpu]) then.insert(id);
    const PlacementSet walls = problem_.gpus[gpu].walls, idle = problem_.gpus[gpu].idle;
    const PlacementSet idle_left = idle - geometry.blocked(then);
    write("{:{}}  now   [{}]{}\n", problem_.gpus[gpu].name, width_,
          draw(geometry, now, idle, walls), people(gpu, now, idle, walls, false));
    write("{:{}}  goal  [{}]{}\n\n", "", width_, draw(geometry, then, idle_left, walls),
          people(gpu, then, idle_left, walls, true));
  }

  std::string people(std::size_t gpu, PlacementSet held, PlacementSet idle, PlacementSet walls,
                     bool goal) {
    const Geometry& geometry = problem_.graphs[problem_.gpus[gpu].kind]->geometry();
    std::string text;
    char letter = 'A';
    for (const PlacementId id : by_start(geometry, held | idle | walls)) {
      if (walls.contains(id)) continue;
      const bool is_idle = idle.contains(id);
      text += fmt::format("{}{} {}", text.empty() ? "  " : ", ",
                          is_idle ? static_cast<char>(letter - 'A' + 'a') : letter,
                          geometry[id].profile->name);
      ++letter;
      text += is_idle ? std::string(" (idle)")
                      : fmt::format(" {}", person((goal ? after_ : before_)[gpu].at(id), goal));
    }
    return text;
  }

  /// A workload's name, and where it goes or comes from when that is elsewhere.
  std::string person(WorkloadIndex i, bool goal) {
    const PlanWorkload& who = problem_.workloads[i];
    const std::string name = shown(who.name);
    const auto& seat = plan_.goal[i];
    if (!goal) {
      if (!seat) return fmt::format("{} (to stop)", name);
      if (*seat == *who.now) return name;
      return fmt::format("{} -> {}", name,
                         seat->gpu == who.now->gpu ? "here" : gpu_name(seat->gpu));
    }
    if (!who.now) return fmt::format("{} (new)", name);
    if (*seat == *who.now) return name;
    return fmt::format("{} <- {}", name,
                       seat->gpu == who.now->gpu ? "here" : gpu_name(who.now->gpu));
  }

  struct Row {
    std::size_t wave;
    WorkloadIndex workload;
    std::optional<Seat> from, to;
  };

  /// What each wave does to workloads, from the steps.
  std::vector<Row> rows() const {
    std::vector<Row> list;
    for (std::size_t wave = 0; wave < plan_.moves.waves.size(); ++wave) {
      std::map<WorkloadIndex, std::size_t> at;
      for (const Step& step : plan_.moves.waves[wave]) {
        if (step.op == Op::create || step.op == Op::destroy) continue;
        const auto [found, fresh] = at.try_emplace(step.workload, list.size());
        if (fresh) list.push_back({wave, step.workload, std::nullopt, std::nullopt});
        (step.op == Op::start ? list[found->second].to : list[found->second].from) = step.seat;
      }
    }
    return list;
  }

  [[nodiscard]] std::string place(const std::optional<Seat>& seat) const {
    return seat ? fmt::format("{} at {}", gpu_name(seat->gpu), problem_.placement(*seat).start)
                : "-";
  }

  [[nodiscard]] std::string what(const Row& row) const {
    if (!row.to) return "stop";
    if (row.to != plan_.goal[row.workload]) return "step aside";
    if (!row.from) return problem_.workloads[row.workload].now ? "start again" : "place";
    return row.from->gpu == row.to->gpu ? "move within" : "migrate";
  }

  void moves() {
    const std::vector<Row> list = rows();
    Table table({"wave", "workload", "what", "profile", "from", "to"});
    for (std::size_t i = 0; i < std::min(list.size(), most_shown); ++i) {
      const Row& row = list[i];
      const Placement& where = problem_.placement(row.to ? *row.to : *row.from);
      table.add({std::to_string(row.wave + 1), shown(problem_.workloads[row.workload].name),
                 what(row), std::string(where.profile->name), place(row.from), place(row.to)});
    }
    if (!list.empty()) write("{}", table.text());
    if (list.size() > most_shown)
      write("and {} more; --json has them all\n", list.size() - most_shown);
    disruptions();
    if (!plan_.moves.waves.empty()) cost();
  }

  void disruptions() {
    if (plan_.moves.disruptive.empty()) return;
    write("\n{}:\n", plan_.moves.reached.goal == plan_.goal
                         ? "Stopped for a while, since nothing else leads to the goal"
                         : "Out of reach; without an interruption the waves stop short of it "
                           "(--allow-disruptive plans one where that helps)");
    std::size_t count = 0;
    for (const Disruption& one : plan_.moves.disruptive)
      if (++count <= most_shown)
        write("  {}: {}\n", shown(problem_.workloads[one.workload].name), one.reason);
    if (count > most_shown) write("  and {} more; --json has them all\n", count - most_shown);
  }

  void cost() {
    Duration time{};
    std::int64_t mib = 0;
    for (const WaveCost& wave : cost_of(problem_, plan_.moves.waves)) {
      time += wave.time();
      mib += wave.moved_mib;
    }
    const std::size_t waves = plan_.moves.waves.size();
    const bool least = static_cast<std::int64_t>(waves) == plan_.moves.waves_bound;
    write("\n{}{}, about {} and {:.1f} GiB moved{}\n\n", counted(waves, "wave"),
          least ? ", the fewest possible"
                : fmt::format(", at least {} needed", plan_.moves.waves_bound),
          human(time), static_cast<double>(mib) / 1024,
          plan_.moves.temporary == 0
              ? ""
              : fmt::format(", {}", counted(plan_.moves.temporary, "temporary move")));
  }

  void pending() {
    std::size_t count = 0;
    for (const Pending& pending : plan_.pending)
      if (++count <= most_shown)
        write("pending: {}: {}\n", shown(problem_.workloads[pending.workload].name),
              pending.reason);
    if (count > most_shown)
      write("pending: and {} more; --json has them all\n", count - most_shown);
    if (count > 0) write("\n");
  }

  void metrics() {
    Table table({"metric", "now", "goal"});
    const auto row = [&](const char* name, std::int64_t PlanMetrics::*metric) {
      table.add({name, std::to_string(plan_.now.*metric), std::to_string(plan_.then.*metric)});
    };
    row("GPUs in use", &PlanMetrics::gpus);
    row("memory wastage", &PlanMetrics::memory_wastage);
    row("compute wastage", &PlanMetrics::compute_wastage);
    row("availability", &PlanMetrics::availability);
    row("migration size (between GPUs)", &PlanMetrics::migration_size);
    row("moved inside a GPU", &PlanMetrics::moved_inside_gpu);
    row("pending size", &PlanMetrics::pending_size);
    row("sequential migrations", &PlanMetrics::sequential_migrations);
    table.add({"memory utilization", percent(plan_.now.memory_utilization.value()),
               percent(plan_.then.memory_utilization.value())});
    table.add({"compute utilization", percent(plan_.now.compute_utilization.value()),
               percent(plan_.then.compute_utilization.value())});
    write("{}", table.text());
  }

  void proofs() {
    write("\nWhy nothing is better, one objective after the other:\n");
    for (const Objective& objective : plan_.objective) {
      if (objective.value == objective.bound) {
        write("  {} = {}: {}\n", objective.name, shown_value(objective.value),
              objective.value == 0 && !plan_.weights ? "nothing can be below 0" : objective.proof);
      } else {
        write("  {} = {}, at best {}: {}\n", objective.name, shown_value(objective.value),
              shown_value(objective.bound),
              objective.proof.empty() ? "not bounded, since one before it is not settled"
                                      : objective.proof);
      }
    }
  }

  const PlanProblem& problem_;
  const Plan& plan_;
  std::vector<Instances> before_, after_;
  std::size_t width_ = 0;
  std::string out_;
};

}  // namespace

std::string plan_for_people(const PlanProblem& problem, const Plan& plan, bool explain) {
  return Page(problem, plan).text(explain);
}

}  // namespace cleave::cli
