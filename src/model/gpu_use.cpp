#include "model/gpu_use.hpp"

#include <algorithm>
#include <cmath>

namespace cleave {

SliceLaw law_of_bound(double bound) {
  SliceLaw law;
  law.bound = std::clamp(bound, 0.0, 1.0);
  law.fixed = std::pow(1 - std::pow(law.bound, law.overlap), 1 / law.overlap);
  return law;
}

SliceLaw law_of_use(double busy_percent) {
  return law_of_bound(std::round(std::clamp(busy_percent, 0.0, 100.0)) / 100);
}

MiB size_of_use(MiB memory) {
  return std::max(memory, MiB{1});
}

}  // namespace cleave
