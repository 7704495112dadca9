#include "forecast/choice/batch_partition.hpp"

namespace cleave {

template class ProfileRows<double>;
template PartitionChoice<double> choose_partition(const ProfileRows<double>&,
                                                  std::span<const PartitionOption<double>>,
                                                  const BatchJob<double>&,
                                                  const PartitionWeighing<double>&);

std::string_view name(Exclusion reason) {
  return reason == Exclusion::memory ? "memory" : "deadline";
}

}  // namespace cleave
