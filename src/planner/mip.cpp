#include "planner/mip.hpp"

#include <cassert>

#include "base/installation.hpp"
#include "planner/solver/solver.hpp"

namespace cleave {

int Mip::add_row(std::int64_t least, std::int64_t most) {
  least_.push_back(least);
  row_most_.push_back(most);
  return rows() - 1;
}

int Mip::add_column(std::int64_t most, std::span<const std::int64_t> costs,
                    std::span<const MipEntry> entries) {
  assert(costs.size() == objectives_);
  most_.push_back(most);
  costs_.insert(costs_.end(), costs.begin(), costs.end());
  entries_.insert(entries_.end(), entries.begin(), entries.end());
  starts_.push_back(entries_.size());
  return columns() - 1;
}

namespace {

Result<decltype(&cleave_minimise)> solver() {
  static const Result<void*> function = installed_function(solver_library, solver_function);
  if (!function) return std::unexpected(function.error());
  return reinterpret_cast<decltype(&cleave_minimise)>(*function);
}

}  // namespace

Result<void> load_solver() {
  if (const auto loaded = solver(); !loaded) return std::unexpected(loaded.error());
  return {};
}

MipOutcome minimise(const Mip& mip, std::span<const std::int64_t> known, Deadline deadline) {
  const auto loaded = solver();
  assert(loaded);
  MipOutcome outcome;
  (*loaded)(mip, known, deadline, outcome);
  return outcome;
}

}  // namespace cleave
