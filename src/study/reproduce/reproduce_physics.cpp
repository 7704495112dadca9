#include "study/reproduce/reproduce_physics.hpp"

#include <algorithm>

namespace cleave {

bool PhysicsReport::all_met() const {
  return std::ranges::all_of(
      checks, [](const PhysicsCheck& check) { return !check.scored() || check.met(); });
}

PhysicsReport reproduce_physics(const PhysicsData& data, std::uint64_t seed) {
  const JobStudy jobs = study_jobs(data, seed);
  const BatchStudy batches = study_batches(data, seed);
  const LayoutStudy layouts = study_layouts(data);
  const CorunStudy coruns = study_coruns(data);
  PhysicsReport report;
  report.checks = {jobs.v1,         jobs.v2,       jobs.v3_training,   jobs.v3_inference,
                   batches.v4,      batches.v5,    study_memory(data), layouts.create,
                   layouts.destroy, coruns.stream, coruns.resnet,      study_energy(seed)};
  report.hidden = jobs.hidden;
  for (const auto* constants : {&jobs.constants, &batches.constants, &layouts.constants})
    report.constants.insert(report.constants.end(), constants->begin(), constants->end());
  for (const auto* refits : {&jobs.refits, &batches.refits})
    report.refits.insert(report.refits.end(), refits->begin(), refits->end());
  return report;
}

}  // namespace cleave
