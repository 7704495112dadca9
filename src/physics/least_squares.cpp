#include "physics/least_squares.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace cleave {

namespace {

using Vector = std::vector<double>;

/// A small dense matrix, row by row.
struct Matrix {
  std::size_t rows, columns;
  Vector cells;
  Matrix(std::size_t r, std::size_t c) : rows(r), columns(c), cells(r * c) {}
  double& at(std::size_t r, std::size_t c) { return cells[r * columns + c]; }
  [[nodiscard]] double at(std::size_t r, std::size_t c) const { return cells[r * columns + c]; }
};

/// Cholesky's factor of a symmetric matrix, in its lower half; false if it is not positive
/// definite.
bool factorise(Matrix& a) {
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a.at(i, j);
      for (std::size_t k = 0; k < j; ++k) sum -= a.at(i, k) * a.at(j, k);
      if (i == j && !(sum > 0)) return false;
      a.at(i, j) = i == j ? std::sqrt(sum) : sum / a.at(j, j);
    }
  return true;
}

/// Solves with the factor, in place.
void solve(const Matrix& factor, Vector& x) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) x[i] -= factor.at(i, k) * x[k];
    x[i] /= factor.at(i, i);
  }
  for (std::size_t i = x.size(); i-- > 0;) {
    for (std::size_t k = i + 1; k < x.size(); ++k) x[i] -= factor.at(k, i) * x[k];
    x[i] /= factor.at(i, i);
  }
}

/// The normal equations: of what is shared, of each group, and between the two.
struct Normal {
  Matrix shared;
  Vector shared_right;
  std::vector<Matrix> own, between;  // between: shared x own
  std::vector<Vector> own_right;

  explicit Normal(const Parameters& at)
      : shared(at.shared.size(), at.shared.size()), shared_right(at.shared.size()) {
    for (const Vector& each : at.own) {
      own.emplace_back(each.size(), each.size());
      between.emplace_back(at.shared.size(), each.size());
      own_right.emplace_back(each.size());
    }
  }
};

constexpr double derivative_step = 1e-6;

double squares_of(const FitProblem& problem, const Parameters& at) {
  double sum = 0;
  for (std::size_t row = 0; row < problem.group.size(); ++row) {
    const double left = problem.residual(at.shared, at.own[problem.group[row]], row);
    sum += left * left;
  }
  return sum;
}

/// Derivatives of a row by the entries of one of the two vectors it depends on.
template <class Residual>
void derive(Vector& parameters, Vector& slopes, const Residual& residual) {
  slopes.resize(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const double here = parameters[i];
    parameters[i] = here + derivative_step;
    const double above = residual();
    parameters[i] = here - derivative_step;
    slopes[i] = (above - residual()) / (2 * derivative_step);
    parameters[i] = here;
  }
}

Normal normal_equations(const FitProblem& problem, Parameters& at) {
  Normal normal(at);
  Vector by_shared, by_own;
  for (std::size_t row = 0; row < problem.group.size(); ++row) {
    const std::size_t g = problem.group[row];
    const auto residual = [&] { return problem.residual(at.shared, at.own[g], row); };
    const double left = residual();
    derive(at.shared, by_shared, residual);
    derive(at.own[g], by_own, residual);
    for (std::size_t i = 0; i < by_shared.size(); ++i) {
      normal.shared_right[i] -= by_shared[i] * left;
      for (std::size_t j = 0; j < by_shared.size(); ++j)
        normal.shared.at(i, j) += by_shared[i] * by_shared[j];
      for (std::size_t j = 0; j < by_own.size(); ++j)
        normal.between[g].at(i, j) += by_shared[i] * by_own[j];
    }
    for (std::size_t i = 0; i < by_own.size(); ++i) {
      normal.own_right[g][i] -= by_own[i] * left;
      for (std::size_t j = 0; j < by_own.size(); ++j)
        normal.own[g].at(i, j) += by_own[i] * by_own[j];
    }
  }
  return normal;
}

void dampen(Matrix& matrix, double damping) {
  // The second term holds parameters on which nothing depends.
  for (std::size_t i = 0; i < matrix.rows; ++i)
    matrix.at(i, i) += damping * (matrix.at(i, i) + 1e-6);
}

/// The step from the normal equations; empty if they are singular.
std::optional<Parameters> step_of(Normal normal, double damping) {
  Parameters step{normal.shared_right, normal.own_right};
  dampen(normal.shared, damping);
  std::vector<Matrix> eliminated;  // own^-1 x between^T, row by row of what is shared
  for (std::size_t g = 0; g < normal.own.size(); ++g) {
    dampen(normal.own[g], damping);
    if (!factorise(normal.own[g])) return std::nullopt;
    solve(normal.own[g], step.own[g]);
    const Matrix& between = normal.between[g];
    Matrix part(between.rows, between.columns);
    for (std::size_t i = 0; i < between.rows; ++i) {
      const auto line = between.cells.begin() + static_cast<std::ptrdiff_t>(i * between.columns);
      Vector solved(line, line + static_cast<std::ptrdiff_t>(between.columns));
      solve(normal.own[g], solved);
      std::ranges::copy(solved, part.cells.begin() + static_cast<std::ptrdiff_t>(i * part.columns));
    }
    for (std::size_t i = 0; i < between.rows; ++i)
      for (std::size_t k = 0; k < between.columns; ++k) {
        step.shared[i] -= between.at(i, k) * step.own[g][k];
        for (std::size_t j = 0; j < between.rows; ++j)
          normal.shared.at(i, j) -= between.at(i, k) * part.at(j, k);
      }
    eliminated.push_back(std::move(part));
  }
  if (!factorise(normal.shared)) return std::nullopt;
  solve(normal.shared, step.shared);
  for (std::size_t g = 0; g < normal.own.size(); ++g)
    for (std::size_t k = 0; k < step.own[g].size(); ++k)
      for (std::size_t i = 0; i < step.shared.size(); ++i)
        step.own[g][k] -= eliminated[g].at(i, k) * step.shared[i];
  return step;
}

/// Longer steps are cut to this: a logarithm that nothing holds would run away.
constexpr double longest_step = 1;

Vector moved(const Vector& from, const Vector& by) {
  Vector to = from;
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] += std::clamp(by[i], -longest_step, longest_step);
  return to;
}

}  // namespace

Fit least_squares(FitProblem problem) {
  Fit fit{std::move(problem.start), 0, 0};
  fit.squares = squares_of(problem, fit.at);
  double damping = 1e-3;
  constexpr std::size_t most_steps = 500;
  constexpr double most_damping = 1e8, enough = 1e-13;
  for (; fit.steps < most_steps && damping < most_damping; ++fit.steps) {
    const Normal normal = normal_equations(problem, fit.at);
    for (bool better = false; !better && damping < most_damping;) {
      const auto step = step_of(normal, damping);
      Parameters next;
      if (step) {
        next.shared = moved(fit.at.shared, step->shared);
        for (std::size_t g = 0; g < fit.at.own.size(); ++g)
          next.own.push_back(moved(fit.at.own[g], step->own[g]));
      }
      const double squares = step ? squares_of(problem, next) : fit.squares;
      better = squares < fit.squares;  // false for what is not a number
      if (!better) {
        damping *= 4;
        continue;
      }
      const bool done = fit.squares - squares <= enough * fit.squares;
      fit.at = std::move(next);
      fit.squares = squares;
      damping = std::max(damping / 3, 1e-12);
      if (done) return fit;
    }
  }
  return fit;
}

double softened(double residual, double scale) {
  const double relative = residual / scale;
  const double squared = 2 * (std::sqrt(1 + relative * relative) - 1);
  return std::copysign(scale * std::sqrt(squared), residual);
}

std::optional<std::vector<double>> linear_fit(const std::vector<std::vector<double>>& rows,
                                              std::span<const double> y) {
  assert(rows.size() == y.size());
  if (rows.empty()) return std::nullopt;
  const std::size_t n = rows.front().size();
  Matrix normal(n, n);
  Vector right(n);
  for (std::size_t row = 0; row < rows.size(); ++row)
    for (std::size_t i = 0; i < n; ++i) {
      right[i] += rows[row][i] * y[row];
      for (std::size_t j = 0; j < n; ++j) normal.at(i, j) += rows[row][i] * rows[row][j];
    }
  Vector scale(n);
  for (std::size_t i = 0; i < n; ++i) scale[i] = normal.at(i, i);
  if (!factorise(normal)) return std::nullopt;
  for (std::size_t i = 0; i < n; ++i)
    if (normal.at(i, i) * normal.at(i, i) <= 1e-12 * scale[i]) return std::nullopt;
  solve(normal, right);
  return right;
}

}  // namespace cleave
