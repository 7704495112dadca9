#include "physics/slice_law.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "model/model_table.hpp"

namespace cleave {

namespace {

/// The times that profiles of one size take, relative to the whole GPU: of jobs by themselves, and
/// in the law of batches.
struct MeasuredTime {
  ComputeSlices compute;
  bool double_memory;
  double job, batch;
};

// MISO and ParvaGPU, fitted separately, agree on these within 4 %. One measured job was 6 % faster
// on the 1g with twice the memory; the rule would say 22 %.
constexpr MeasuredTime a100[] = {
    {{1}, false, 6.7, 6.71},  {{1}, true, 6.3, 6.3},    {{2}, false, 3.46, 3.38},
    {{3}, false, 2.10, 2.05}, {{4}, false, 1.78, 1.69},
};

/// The law of one model.
struct LawRow {
  GpuModelId id;
  std::span<const MeasuredTime> measured;  // empty: nothing was measured, so the rule applies
};
constexpr std::span<const MeasuredTime> by_rule;

constexpr LawRow law_rows[] = {
    {GpuModelId::a30_24gb, by_rule},  // which gives the A30's published times within 1 %
    {GpuModelId::a100_40gb, a100},         {GpuModelId::a100_80gb, a100},
    {GpuModelId::h100_80gb_sxm5, by_rule}, {GpuModelId::h100_80gb_pcie, by_rule},
    {GpuModelId::h100_94gb_nvl, by_rule},  {GpuModelId::h100_96gb_gh200, by_rule},
    {GpuModelId::h20_96gb, by_rule},       {GpuModelId::h200_141gb, by_rule},
    {GpuModelId::gh200_144gb, by_rule},    {GpuModelId::b200_180gb, by_rule},
    {GpuModelId::gb200_186gb, by_rule},    {GpuModelId::b300_269gb, by_rule},
    {GpuModelId::gb300_278gb, by_rule},    {GpuModelId::rtx_pro_6000_bw_96gb, by_rule},
};
static_assert(has_every_model(law_rows));

double time_of(const GpuModel& model, const Profile& profile, double MeasuredTime::*kind) {
  if (const LawRow* row = row_of(law_rows, model.id); row != nullptr && !row->measured.empty()) {
    for (const MeasuredTime& each : row->measured)
      if (each.compute == profile.compute && each.double_memory == profile.double_memory)
        return each.*kind;
    return 1;  // the whole GPU
  }
  const Profile& whole = model.largest();
  const bool counted = profile.sms && whole.sms;
  const double s = counted ? static_cast<double>(profile.sms->value) / whole.sms->value
                           : static_cast<double>(profile.compute.value) / whole.compute.value;
  const double m = static_cast<double>(profile.memory.value) / whole.memory.value;
  return std::max(1.0, std::pow(s, -0.575) * std::pow(m, -0.368));
}

}  // namespace

double gpu_bound_time(const GpuModel& model, const Profile& profile) {
  return time_of(model, profile, &MeasuredTime::job);
}

bool gpu_bound_time_is_measured(const GpuModel& model) {
  const LawRow* row = row_of(law_rows, model.id);
  return row != nullptr && !row->measured.empty();
}

double gpu_bound_batch_time(const GpuModel& model, const Profile& profile) {
  return time_of(model, profile, &MeasuredTime::batch);
}

double joined_time(double fixed, double bound, double gpu_bound, double overlap) {
  return std::pow(std::pow(fixed, overlap) + std::pow(bound * gpu_bound, overlap), 1 / overlap);
}

}  // namespace cleave
