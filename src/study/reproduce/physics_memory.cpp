// V6: what fits in memory, on ParvaGPU's trials.

#include <map>

#include "base/format.hpp"
#include "physics/memory_law.hpp"
#include "study/reproduce/reproduce_physics.hpp"

namespace cleave {

namespace {

bool known_from(const InferenceRow& row) {
  return row.processes == 2 || row.processes == 3;
}

FitScore counted(FitScore score, bool said_to_fit, bool fits) {
  ++score.cases;
  score.wrong += said_to_fit != fits;
  score.wrong_fits += said_to_fit && !fits;
  return score;
}

}  // namespace

PhysicsCheck study_memory(const PhysicsData& data) {
  PhysicsCheck check = check_of("V6", "inference (ParvaGPU), 1, 4 and 5 processes: whether it fits",
                                "the model's trials with 2 and 3 processes",
                                {.wrong = 40, .wrong_fits = 20}, data.inference.missing);
  if (!check.missing.empty()) return check;
  const GpuModel& gpu = **find_gpu_model("A100-80GB");
  const auto usable = [&](const InferenceRow& row) { return *a100_profile(gpu, row.size).usable; };
  std::map<std::string, std::vector<MemoryTrial>> trials;
  std::map<std::tuple<std::string, std::size_t, int>, bool> with_one;
  for (const InferenceRow& row : data.inference.rows) {
    if (known_from(row))
      trials[row.model].push_back(
          {static_cast<double>(row.batch), row.processes, usable(row), row.seconds > 0});
    if (row.processes == 1) with_one[{row.model, row.size, row.batch}] = row.seconds > 0;
  }
  std::map<std::string, MemoryLaw> laws;
  for (const auto& [model, each] : trials) laws.emplace(model, MemoryLaw(each));
  FitScore middle{"n (M0 + M1 b), middle of the range", 0, 0, 0, 0},
      upper{"n (M0 + M1 b), upper end", 0, 0, 0, 0}, always{"always fits", 0, 0, 0, 0},
      as_one{"as with 1 process (2 to 5 processes)", 0, 0, 0, 0};
  for (const InferenceRow& row : data.inference.rows) {
    const bool fits = row.seconds > 0;
    const auto one = with_one.find({row.model, row.size, row.batch});
    if (row.processes > 1 && one != with_one.end()) as_one = counted(as_one, one->second, fits);
    const auto law = laws.find(row.model);
    if (known_from(row) || law == laws.end()) continue;
    const MemoryVerdict verdict = law->second.verdict(row.batch, row.processes, usable(row));
    const MemoryInterval demand = law->second.demand(row.batch, row.processes);
    middle = counted(
        middle, (demand.least + demand.most) / 2 <= static_cast<double>(usable(row).value), fits);
    upper = counted(upper, verdict == MemoryVerdict::fits, fits);
    for (FitScore* score : {&middle, &upper})
      score->not_known += verdict == MemoryVerdict::not_known;
    always = counted(always, true, fits);
  }
  check.fits = {middle, upper, as_one, always};
  return check;
}

}  // namespace cleave
