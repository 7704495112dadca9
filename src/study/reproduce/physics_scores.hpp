#pragma once
// Predictions beside measurements, counted. Errors are |predicted speed / measured speed - 1|,
// which is measured time / predicted time - 1.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cleave {

/// A time that a law gave for a row that it had not seen.
struct Prediction {
  std::string model;
  double predicted = 0, measured = 0;  // times, or energies, in one unit

  [[nodiscard]] double error() const;
};

/// How far a method's predictions are off.
struct Score {
  std::string method;
  std::vector<double> errors;             // of each prediction, ascending
  double median = 0, p90 = 0, worst = 0;  // shares of 1
  double within_tenth = 0;                // the share with an error of at most 0.1

  [[nodiscard]] std::size_t count() const { return errors.size(); }
};
[[nodiscard]] Score score_of(std::string method, std::span<const Prediction> predictions);
/// Of all errors together.
[[nodiscard]] Score pooled(std::string method, std::span<const Score> scores);

/// How often a method is wrong about what fits.
struct FitScore {
  std::string method;
  std::size_t cases = 0;
  std::size_t wrong = 0;
  std::size_t wrong_fits = 0;  // of these, those said to fit that did not
  std::size_t not_known = 0;   // counted as not fitting
};

/// What a law must reach; empty: anything.
struct PhysicsTarget {
  std::optional<double> median{}, p90{}, worst{};    // at most, shares of 1
  std::optional<std::size_t> wrong{}, wrong_fits{};  // at most
  std::string also{};                                // what is required besides
};
/// "median at most 4.5 %, p90 at most 9 %"
[[nodiscard]] std::string text(const PhysicsTarget& target);

/// One requirement, with the law's score first and the lazy alternatives after it.
struct PhysicsCheck {
  std::string id;     // "V1"
  std::string what;   // is predicted
  std::string known;  // to the law
  PhysicsTarget target;
  std::string missing;  // why it was not scored
  std::vector<Score> scores;
  std::vector<FitScore> fits;
  bool also_met = true;  // what the target requires besides

  [[nodiscard]] bool scored() const { return !scores.empty() || !fits.empty(); }
  /// Scored, on something, and within the target.
  [[nodiscard]] bool met() const;
};

/// One that is still to be scored.
[[nodiscard]] PhysicsCheck check_of(std::string id, std::string what, std::string known,
                                    PhysicsTarget target, std::string missing = {});

/// A constant as it ships, beside the same form fitted to all rows, and the least and the most of
/// the fits that the checks used, each without the rows that it was scored on.
struct PhysicsConstant {
  std::string law, name;
  double shipped = 0, fitted = 0, least = 0, most = 0;

  [[nodiscard]] bool inside() const { return least <= shipped && shipped <= most; }
};

/// What a check does when one model's rows are changed.
struct PhysicsRefit {
  std::string check, model;
  double times_three = 0;  // largest |ratio / 3 - 1| of its predictions when its rows are tripled
  double others = 0;       // largest |ratio - 1| of the others' predictions then
  double median = 0, shuffled = 0;  // its median error; that with its rows exchanged at random
};

}  // namespace cleave
