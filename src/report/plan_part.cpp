#include "report/plan_part.hpp"

#include <array>

#include "base/json.hpp"
#include "planner/pages/plan_picture.hpp"

namespace cleave::report {

namespace {

constexpr auto kinds =
    std::to_array<std::string_view>({"stays", "moves", "starts", "stops", "idle", "locked"});
static_assert(kinds.size() == static_cast<std::size_t>(BoxKind::locked) + 1);

class Part {
 public:
  Part(const PlanProblem& problem, const Plan& plan)
      : problem_(problem), plan_(plan), picture_(picture_of(problem, plan, plan.moves)) {}

  [[nodiscard]] Json json() const {
    Json gpus = Json::array(), trips = Json::array(), pending = Json::array();
    for (const PictureGpu& gpu : picture_.gpus) {
      const GpuModel& model = problem_.geometry(gpu.gpu).model();
      gpus.push_back({{"name", problem_.gpus[index(gpu.gpu)].name},
                      {"model", model.key},
                      {"slices", model.memory_slices.value},
                      {"before", boxes(gpu.gpu, gpu.before)},
                      {"after", boxes(gpu.gpu, gpu.after)}});
    }
    for (const Trip& trip : picture_.trips)
      trips.push_back({{"workload", problem_.workloads[trip.workload].name},
                       {"wave", trip.first_wave()},
                       {"moves", trip.moves()},
                       {"told", told(problem_, trip)}});
    for (const Pending& each : plan_.pending)
      pending.push_back(Json{problem_.workloads[each.workload].name, each.reason});
    return {{"headline", headline(problem_, plan_, plan_.moves, picture_)},
            {"waves", plan_.moves.waves.size()},
            {"unchanged", picture_.unchanged},
            {"gpus", std::move(gpus)},
            {"trips", std::move(trips)},
            {"objective", objective()},
            {"metrics", metrics()},
            {"pending", std::move(pending)}};
  }

 private:
  /// Start, slices, profile, workload, what becomes of it, and the number of its trip from 0.
  [[nodiscard]] Json boxes(GpuId gpu, const std::vector<PictureBox>& all) const {
    Json list = Json::array();
    for (const PictureBox& box : all) {
      const Placement& at = problem_.geometry(gpu)[box.placement];
      list.push_back(
          Json{at.start, at.profile->memory.value, at.profile->name,
               box.workload == none ? Json("") : Json(problem_.workloads[box.workload].name),
               kinds[static_cast<std::size_t>(box.kind)],
               box.trip == none ? Json(nullptr) : Json(box.trip)});
    }
    return list;
  }

  [[nodiscard]] Json objective() const {
    Json list = Json::array();
    for (const Objective& each : plan_.objective)
      list.push_back({{"name", each.name},
                      {"value", each.value},
                      {"bound", each.bound},
                      {"proof", each.proof}});
    return list;
  }

  [[nodiscard]] Json metrics() const {
    Json list = Json::array();
    const auto row = [&](const char* name, std::int64_t PlanMetrics::*metric) {
      list.push_back(Json{name, plan_.now.*metric, plan_.then.*metric});
    };
    row("GPUs in use", &PlanMetrics::gpus);
    row("memory wastage", &PlanMetrics::memory_wastage);
    row("compute wastage", &PlanMetrics::compute_wastage);
    row("availability", &PlanMetrics::availability);
    row("migration size", &PlanMetrics::migration_size);
    row("moved inside a GPU", &PlanMetrics::moved_inside_gpu);
    row("pending size", &PlanMetrics::pending_size);
    row("sequential migrations", &PlanMetrics::sequential_migrations);
    return list;
  }

  const PlanProblem& problem_;
  const Plan& plan_;
  PlanPicture picture_;
};

}  // namespace

std::string plan_part(const PlanProblem& problem, const Plan& plan) {
  return Part(problem, plan).json().dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace cleave::report
