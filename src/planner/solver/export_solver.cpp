// The search for the least values of a programme, by COIN-OR's CLP and CBC: the library
// lib/cleave/libcleave-solver.so, so that programs load these only when they plan.

#include <algorithm>
#include <cassert>
#include <cmath>
#include <coin/CbcModel.hpp>
#include <coin/CbcSolver.hpp>
#include <coin/ClpSimplex.hpp>
#include <coin/CoinPackedMatrix.hpp>
#include <coin/OsiClpSolverInterface.hpp>
#include <string>

#include "planner/solver/solver.hpp"

namespace cleave {

namespace {

constexpr double whole = 1e-6;

/// For a last bound when time is up.
constexpr std::chrono::milliseconds grace{300};

double as_limit(std::int64_t value) {
  if (value == Mip::unbounded) return COIN_DBL_MAX;
  if (value == -Mip::unbounded) return -COIN_DBL_MAX;
  return static_cast<double>(value);
}

/// The programme as the solvers see it: the rows of the model, then one row for each objective,
/// which holds it at its value while the next one is minimised.
class Solver {
 public:
  Solver(const Mip& mip, Deadline deadline) : mip_(mip), deadline_(deadline) { load(); }

  MipOutcome run(std::span<const std::int64_t> known);

 private:
  void load();
  [[nodiscard]] double seconds_left() const {
    return std::chrono::duration<double>(deadline_ - std::chrono::steady_clock::now()).count();
  }
  /// Nothing was found so far: a contradiction is in the rows themselves.
  [[nodiscard]] bool all_given() const {
    return std::ranges::all_of(proofs_, [](MipProof p) { return p == MipProof::known; });
  }
  void minimise_row(std::size_t objective);
  void hold(std::size_t objective, double at_most) {
    solver_.setRowUpper(mip_.rows() + static_cast<int>(objective), at_most);
  }
  void open_columns();
  void close_columns(double gap);

  enum class Lp { solved, infeasible, stopped };
  Lp solve_lp();
  [[nodiscard]] std::optional<std::vector<std::int64_t>> whole_solution(const double* values) const;
  [[nodiscard]] bool keeps_rows(const std::vector<std::int64_t>& solution) const;

  struct Search {
    std::optional<std::vector<std::int64_t>> solution;
    double bound = 0;
    bool optimal = false;     // nothing better exists
    bool infeasible = false;  // no solution exists
  };
  Search search(double seconds, bool any);

  [[nodiscard]] std::int64_t value_of(const std::vector<std::int64_t>& solution,
                                      std::size_t objective) const;
  bool by_relaxations(MipOutcome& outcome);
  bool next_by_search(MipOutcome& outcome);
  void bound_the_rest();
  void record(const std::vector<std::int64_t>& solution, MipOutcome& outcome) const;

  const Mip& mip_;
  Deadline deadline_;
  OsiClpSolverInterface solver_;
  std::vector<std::int64_t> known_;  // values of the first objectives, known to be the least
  std::vector<MipProof> proofs_;     // of these
};

void Solver::load() {
  const int rows = mip_.rows() + static_cast<int>(mip_.objectives());
  std::vector<CoinBigIndex> starts{0};
  std::vector<int> indices;
  std::vector<double> elements, upper;
  for (int c = 0; c < mip_.columns(); ++c) {
    const Mip::Column column = mip_.column(c);
    for (const MipEntry& entry : column.entries) {
      indices.push_back(entry.row);
      elements.push_back(static_cast<double>(entry.value));
    }
    for (std::size_t o = 0; o < column.costs.size(); ++o) {
      if (column.costs[o] == 0) continue;
      indices.push_back(mip_.rows() + static_cast<int>(o));
      elements.push_back(static_cast<double>(column.costs[o]));
    }
    starts.push_back(static_cast<CoinBigIndex>(indices.size()));
    upper.push_back(as_limit(column.most));
  }
  std::vector<double> row_lower, row_upper;
  for (int r = 0; r < rows; ++r) {
    row_lower.push_back(r < mip_.rows() ? as_limit(mip_.least(r)) : -COIN_DBL_MAX);
    row_upper.push_back(r < mip_.rows() ? as_limit(mip_.most(r)) : COIN_DBL_MAX);
  }
  const std::vector<double> lower(upper.size(), 0), objective(upper.size(), 0);
  solver_.messageHandler()->setLogLevel(0);
  solver_.getModelPtr()->setLogLevel(0);
  solver_.loadProblem(
      CoinPackedMatrix(true, rows, mip_.columns(), static_cast<CoinBigIndex>(elements.size()),
                       elements.data(), indices.data(), starts.data(), nullptr),
      lower.data(), upper.data(), objective.data(), row_lower.data(), row_upper.data());
}

void Solver::minimise_row(std::size_t objective) {
  for (int c = 0; c < mip_.columns(); ++c)
    solver_.setObjCoeff(c, static_cast<double>(mip_.column(c).costs[objective]));
}

Solver::Lp Solver::solve_lp() {
  const double left = seconds_left();
  if (left <= 0) return Lp::stopped;
  ClpSimplex& simplex = *solver_.getModelPtr();
  simplex.setMaximumWallSeconds(left);
  // The rows that hold objectives make a dual restart useless; primal continues from the current
  // basis.
  simplex.primal(1);
  simplex.setMaximumWallSeconds(-1);
  if (simplex.status() == 0) return Lp::solved;
  return simplex.status() == 1 ? Lp::infeasible : Lp::stopped;
}

void Solver::open_columns() {
  for (int c = 0; c < mip_.columns(); ++c) solver_.setColUpper(c, as_limit(mip_.column(c).most));
}

/// A column whose reduced cost is above what the objective may still rise is 0 in every remaining
/// solution.
void Solver::close_columns(double gap) {
  const double* reduced = solver_.getModelPtr()->getReducedCost();
  for (int c = 0; c < mip_.columns(); ++c)
    if (reduced[c] > gap + whole * 10) solver_.setColUpper(c, 0);
}

bool Solver::keeps_rows(const std::vector<std::int64_t>& solution) const {
  std::vector<std::int64_t> sums(static_cast<std::size_t>(mip_.rows()), 0);
  for (int c = 0; c < mip_.columns(); ++c)
    for (const MipEntry& entry : mip_.column(c).entries)
      sums[static_cast<std::size_t>(entry.row)] +=
          entry.value * solution[static_cast<std::size_t>(c)];
  for (int r = 0; r < mip_.rows(); ++r) {
    const std::int64_t sum = sums[static_cast<std::size_t>(r)];
    if (sum < mip_.least(r) || sum > mip_.most(r)) return false;
  }
  return true;
}

/// The values as whole numbers, if they are whole and satisfy every row exactly.
std::optional<std::vector<std::int64_t>> Solver::whole_solution(const double* values) const {
  std::vector<std::int64_t> solution(static_cast<std::size_t>(mip_.columns()));
  for (std::size_t c = 0; c < solution.size(); ++c) {
    const double nearest = std::round(values[c]);
    if (std::abs(values[c] - nearest) > whole) return std::nullopt;
    solution[c] = static_cast<std::int64_t>(nearest);
  }
  if (!keeps_rows(solution)) return std::nullopt;
  return solution;
}

std::int64_t Solver::value_of(const std::vector<std::int64_t>& solution,
                              std::size_t objective) const {
  std::int64_t sum = 0;
  for (int c = 0; c < mip_.columns(); ++c)
    sum += mip_.column(c).costs[objective] * solution[static_cast<std::size_t>(c)];
  return sum;
}

/// Branch and bound on the columns that are not closed.
Solver::Search Solver::search(double seconds, bool any) {
  Search found;
  if (seconds <= 0) return found;
  OsiClpSolverInterface relaxed(solver_);
  std::vector<int> closed, open;
  for (int c = 0; c < mip_.columns(); ++c)
    (relaxed.getColUpper()[c] > 0 ? open : closed).push_back(c);
  relaxed.deleteCols(static_cast<int>(closed.size()), closed.data());
  for (std::size_t c = 0; c < open.size(); ++c) relaxed.setInteger(static_cast<int>(c));
  CbcModel model(relaxed);
  CbcSolverUsefulData data;
  data.useSignalHandler_ = false;  // an interrupt is for the program, not for the search
  CbcMain0(model, data);
  model.setLogLevel(0);
  // Without its preprocessing: that of CBC 2.10.8 occasionally loses the best solution of
  // programmes as small as two rows (mip_test.cpp has one), and with closed columns it has little
  // to do.
  std::vector<std::string> words = {"cleave",    "-log",    "0",    "-preprocess",          "off",
                                    "-timeMode", "elapsed", "-sec", std::to_string(seconds)};
  if (any) words.insert(words.end(), {"-maxSolutions", "1"});
  words.insert(words.end(), {"-solve", "-quit"});
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  CbcMain1(static_cast<int>(arguments.size()), arguments.data(), model, nullptr, data);
  found.bound = model.getBestPossibleObjValue();
  if (model.bestSolution() != nullptr) {
    std::vector<double> values(static_cast<std::size_t>(mip_.columns()), 0);
    for (std::size_t c = 0; c < open.size(); ++c)
      values[static_cast<std::size_t>(open[c])] = model.bestSolution()[c];
    found.solution = whole_solution(values.data());
  }
  found.optimal = model.isProvenOptimal() && found.solution.has_value();
  found.infeasible = model.isProvenInfeasible();
  return found;
}

void Solver::record(const std::vector<std::int64_t>& solution, MipOutcome& outcome) const {
  outcome.solution = solution;
  outcome.values.clear();
  for (std::size_t o = 0; o < mip_.objectives(); ++o)
    outcome.values.push_back(value_of(solution, o));
}

/// Solves one linear programme for each unknown objective, with the earlier ones held at their
/// rounded bounds. One whole-number solution with all of these values then proves them all. False:
/// there is none, or time ran out.
bool Solver::by_relaxations(MipOutcome& outcome) {
  open_columns();
  std::vector<std::int64_t> bounds = known_;
  for (std::size_t o = 0; o < mip_.objectives(); ++o) hold(o, COIN_DBL_MAX);
  for (std::size_t o = 0; o < known_.size(); ++o) hold(o, static_cast<double>(known_[o]));
  for (std::size_t o = known_.size(); o < mip_.objectives(); ++o) {
    minimise_row(o);
    const Lp end = solve_lp();
    if (end != Lp::solved) {
      if (end == Lp::infeasible && o == known_.size() && all_given())
        outcome.end = MipEnd::infeasible;
      return false;
    }
    const double value = solver_.getModelPtr()->objectiveValue();
    bounds.push_back(static_cast<std::int64_t>(std::ceil(value - whole)));
    close_columns(static_cast<double>(bounds.back()) - value);
    hold(o, static_cast<double>(bounds.back()));
  }
  if (known_.size() == mip_.objectives() && solve_lp() != Lp::solved) return false;
  auto solution = whole_solution(solver_.getModelPtr()->primalColumnSolution());
  if (!solution) solution = search(std::min(seconds_left(), 20.0), true).solution;
  if (!solution) return false;
  record(*solution, outcome);
  if (outcome.values != bounds) return false;
  proofs_.resize(bounds.size(), MipProof::relaxation);
  known_ = bounds;
  return true;
}

/// The next objective by branch and bound, if its rounded relaxation is out of reach.
bool Solver::next_by_search(MipOutcome& outcome) {
  open_columns();
  const std::size_t next = known_.size();
  for (std::size_t o = next; o < mip_.objectives(); ++o) hold(o, COIN_DBL_MAX);
  minimise_row(next);
  const Search found = search(seconds_left(), false);
  if (found.solution) record(*found.solution, outcome);
  if (found.infeasible && all_given()) outcome.end = MipEnd::infeasible;
  if (!found.optimal) return false;
  known_.push_back(outcome.values[next]);
  proofs_.push_back(MipProof::search);
  return true;
}

/// Out of time: what the relaxation says of the first unknown objective. Bounds of later objectives
/// would hold only if it were settled; they stay at the smallest value that any sum of counts can
/// have.
void Solver::bound_the_rest() {
  open_columns();
  const std::size_t next = known_.size();
  for (std::size_t o = next; o < mip_.objectives(); ++o) hold(o, COIN_DBL_MAX);
  deadline_ += grace;
  minimise_row(next);
  if (solve_lp() == Lp::solved) {
    known_.push_back(
        static_cast<std::int64_t>(std::ceil(solver_.getModelPtr()->objectiveValue() - whole)));
    proofs_.push_back(MipProof::relaxation);
  }
  known_.resize(mip_.objectives(), 0);
  proofs_.resize(mip_.objectives(), MipProof::unknown);
}

MipOutcome Solver::run(std::span<const std::int64_t> known) {
  MipOutcome outcome;
  outcome.end = MipEnd::stopped;
  known_.assign(known.begin(), known.end());
  proofs_.assign(known.size(), MipProof::known);
  while (outcome.end == MipEnd::stopped) {
    if (by_relaxations(outcome)) {
      outcome.end = MipEnd::proven;
    } else if (outcome.end == MipEnd::stopped &&
               (known_.size() == mip_.objectives() || !next_by_search(outcome))) {
      if (outcome.end == MipEnd::stopped) bound_the_rest();
      break;
    }
  }
  outcome.bounds = known_;
  outcome.proofs = proofs_;
  return outcome;
}

}  // namespace

}  // namespace cleave

extern "C" __attribute__((visibility("default"))) void cleave_minimise(
    const cleave::Mip& mip, std::span<const std::int64_t> known, cleave::Deadline deadline,
    cleave::MipOutcome& outcome) {
  outcome = cleave::Solver(mip, deadline).run(known);
}
