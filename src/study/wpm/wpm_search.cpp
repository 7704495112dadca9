#include "study/wpm/wpm_search.hpp"

#include <algorithm>
#include <cmath>
#include <coin/CbcEventHandler.hpp>
#include <coin/CbcModel.hpp>
#include <coin/CbcSolver.hpp>
#include <coin/CoinPackedMatrix.hpp>
#include <coin/OsiClpSolverInterface.hpp>
#include <string>

#include "base/format.hpp"

namespace cleave {

int WpmProgram::add_column(double lower, double upper, bool integer, double cost) {
  lower_.push_back(lower);
  upper_.push_back(upper);
  integer_.push_back(integer ? 1 : 0);
  cost_.push_back(cost);
  return columns() - 1;
}

int WpmProgram::add_row(double lower, double upper) {
  row_lower_.push_back(lower);
  row_upper_.push_back(upper);
  return rows() - 1;
}

void WpmProgram::put(int column, double coefficient) {
  entry_row_.push_back(rows() - 1);
  entry_column_.push_back(column);
  entry_.push_back(coefficient);
}

int WpmProgram::integers() const {
  int count = 0;
  for (const char integer : integer_) count += integer;
  return count;
}

double WpmProgram::cost_of(const std::vector<double>& x) const {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += cost_[i] * x[i];
  return sum;
}

bool WpmProgram::keeps(const std::vector<double>& x) const {
  constexpr double tolerance = 1e-6;
  const auto outside = [](double value, double lower, double upper) {
    return value < lower - tolerance || value > upper + tolerance;
  };
  for (std::size_t i = 0; i < x.size(); ++i)
    if (outside(x[i], lower_[i], upper_[i]) ||
        (integer_[i] != 0 && std::abs(x[i] - std::round(x[i])) > tolerance))
      return false;
  std::vector<double> activity(row_lower_.size(), 0);
  for (std::size_t i = 0; i < entry_.size(); ++i)
    activity[static_cast<std::size_t>(entry_row_[i])] +=
        entry_[i] * x[static_cast<std::size_t>(entry_column_[i])];
  for (std::size_t i = 0; i < activity.size(); ++i)
    if (outside(activity[i], row_lower_[i], row_upper_[i])) return false;
  return true;
}

namespace {

using Clock = std::chrono::steady_clock;

/// When it began and may end, and when solution and bound came near each other; shared by CBC's
/// copies of the watch.
struct Trace {
  Clock::time_point begin;
  Duration limit;
  WpmGap gap;
  double best = WpmProgram::infinite, bound = -WpmProgram::infinite;
  std::optional<double> reached;

  void note(double solution, double possible) {
    if (solution < best) best = solution;
    if (possible > bound && possible < WpmProgram::infinite) bound = possible;
    if (!reached && best < WpmProgram::infinite &&
        best - bound <= gap.share * std::abs(best + gap.constant))
      reached = in_seconds(Clock::now() - begin);
  }
};

class Watch : public CbcEventHandler {
 public:
  explicit Watch(Trace& trace) : trace_(&trace) {}
  [[nodiscard]] double seconds_left() const {
    return in_seconds(trace_->limit - (Clock::now() - trace_->begin));
  }
  [[nodiscard]] CbcEventHandler* clone() const override { return new Watch(*this); }
  CbcAction event(CbcEvent which) override {
    // Heuristics search smaller models of their own, whose bounds say nothing about this one.
    constexpr int small_search = 2048;
    if (model_ == nullptr || model_->parentModel() != nullptr ||
        (model_->specialOptions() & small_search) != 0)
      return noAction;
    if (which == node || which == solution || which == heuristicSolution || which == treeStatus)
      trace_->note(model_->getMinimizationObjValue(), model_->getBestPossibleObjValue());
    return noAction;
  }

 private:
  Trace* trace_;
};

/// Preprocessing that a time limit ends leaves CBC without the models that it then walks back
/// through, and the program ends with it: CBC hears of the limit only after that, and so may take
/// longer by that much.
int set_limit(CbcModel* model, int where) {
  constexpr int before_search = 3;
  const auto* watch = dynamic_cast<const Watch*>(model->getEventHandler());
  if (where == before_search && watch != nullptr)
    model->setMaximumSeconds(model->getCurrentSeconds() + std::max(0.01, watch->seconds_left()));
  return 0;
}

}  // namespace

class WpmSearch {
 public:
  WpmSearch(const WpmProgram& program, const std::vector<double>* start)
      : program_(program), start_(start) {
    solver_.messageHandler()->setLogLevel(0);
    solver_.setHintParam(OsiDoReducePrint, true, OsiHintTry);
    // Left to itself the first relaxation of a large model goes through a crash procedure that
    // reads beyond the names of the columns.
    solver_.setHintParam(OsiDoDualInInitial, true, OsiHintDo);
    const CoinPackedMatrix matrix(true, program.entry_row_.data(), program.entry_column_.data(),
                                  program.entry_.data(),
                                  static_cast<CoinBigIndex>(program.entry_.size()));
    solver_.loadProblem(matrix, program.lower_.data(), program.upper_.data(), program.cost_.data(),
                        program.row_lower_.data(), program.row_upper_.data());
    for (int i = 0; i < program.columns(); ++i)
      if (program.integer_[static_cast<std::size_t>(i)] != 0) solver_.setInteger(i);
  }

  WpmSearchOutcome run(Duration limit, WpmGap gap) {
    Trace trace{Clock::now(),          limit,       gap, WpmProgram::infinite,
                -WpmProgram::infinite, std::nullopt};
    CbcModel model(solver_);
    CbcSolverUsefulData data;
    data.noPrinting_ = true;
    CbcMain0(model, data);
    model.setLogLevel(0);
    if (start_ != nullptr) {
      give_start(model);
      trace.note(program_.cost_of(*start_), -WpmProgram::infinite);
    }
    Watch watch(trace);
    model.passInEventHandler(&watch);
    const char* words[] = {"cleave",        "-log", "0",      "-timeMode", "elapsed",
                           "-allowableGap", "0.5",  "-solve", "-quit"};
    CbcMain1(static_cast<int>(std::size(words)), words, model, set_limit, data);
    return outcome(model, trace);
  }

 private:
  /// CBC knows the columns of a solution to start from by name.
  void give_start(CbcModel& model) const {
    auto* solver = model.solver();
    solver->setIntParam(OsiNameDiscipline, 1);
    std::vector<std::pair<std::string, double>> values;
    for (int i = 0; i < program_.columns(); ++i) {
      const std::string name = fmt::format("x{}", i);
      solver->setColName(i, name);
      if (program_.integer_[static_cast<std::size_t>(i)] != 0)
        values.emplace_back(name, (*start_)[static_cast<std::size_t>(i)]);
    }
    model.setMIPStart(values);
  }

  WpmSearchOutcome outcome(CbcModel& model, Trace& trace) const {
    WpmSearchOutcome outcome;
    outcome.optimal = model.isProvenOptimal();
    if (model.bestSolution() != nullptr)
      outcome.x.emplace(model.bestSolution(), model.bestSolution() + program_.columns());
    // What it started from may be the best there is; CBC then sometimes has no solution of its own
    // to show.
    if (start_ != nullptr &&
        (!outcome.x || program_.cost_of(*start_) < program_.cost_of(*outcome.x) - 0.25))
      outcome.x = *start_;
    outcome.bound = outcome.x && outcome.optimal
                        ? program_.cost_of(*outcome.x)
                        : std::max(trace.bound, model.getBestPossibleObjValue());
    if (outcome.x) trace.note(program_.cost_of(*outcome.x), outcome.bound);
    outcome.seconds = in_seconds(Clock::now() - trace.begin);
    outcome.seconds_to_gap = trace.reached;
    return outcome;
  }

  const WpmProgram& program_;
  const std::vector<double>* start_;
  OsiClpSolverInterface solver_;
};

WpmSearchOutcome search(const WpmProgram& program, const std::vector<double>* start, Duration limit,
                        WpmGap gap) {
  return WpmSearch(program, start).run(limit, gap);
}

}  // namespace cleave
