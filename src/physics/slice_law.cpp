#include "physics/slice_law.hpp"

#include <algorithm>
#include <cmath>

namespace cleave {

double gpu_bound_time(const GpuModel& model, const Profile& profile) {
  if (model.key.starts_with("A100-")) {
    // MISO and ParvaGPU, fitted apart, agree on these within 4 %. One measured job was 6 % faster
    // on the 1g with twice the memory; the rule below would say 22 %.
    switch (profile.compute.value) {
      case 1:
        return profile.double_memory ? 6.3 : 6.7;
      case 2:
        return 3.46;
      case 3:
        return 2.10;
      case 4:
        return 1.78;
      default:
        return 1;
    }
  }
  const Profile& whole = model.largest();
  const bool counted = profile.sms && whole.sms;
  const double s = counted ? static_cast<double>(profile.sms->value) / whole.sms->value
                           : static_cast<double>(profile.compute.value) / whole.compute.value;
  const double m = static_cast<double>(profile.memory.value) / whole.memory.value;
  return std::max(1.0, std::pow(s, -0.575) * std::pow(m, -0.368));
}

double joined_time(double fixed, double bound, double gpu_bound, double overlap) {
  return std::pow(std::pow(fixed, overlap) + std::pow(bound * gpu_bound, overlap), 1 / overlap);
}

double batch_time(const BatchLaw& law, double batch, double gpu_bound) {
  const double on_gpu = (law.per_batch + law.per_sample * batch) * gpu_bound;
  return joined_time(law.fixed, law.host_per_sample * batch + on_gpu, 1, batch_overlap);
}

}  // namespace cleave
