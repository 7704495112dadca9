#pragma once
// `cleave reproduce co-runs`: what papers and data sets measured of jobs that share a GPU, beside
// what the simulator makes of the same jobs. Nothing is fitted to the figure that it stands beside.
// What the sources do not say is an open input: it has a usual value, from which the prediction
// comes, and a range, over which it is varied together with all other open inputs.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "physics/contention.hpp"
#include "study/reproduce/physics_data.hpp"
#include "study/reproduce/physics_scores.hpp"

namespace cleave {

/// What a source says of a figure: a number, or what it lies between.
struct Stated {
  std::optional<double> least{}, most{};  // empty: no bound is stated

  [[nodiscard]] bool anything() const { return least || most; }
  /// How far a value is outside, as a share of the nearest bound; 0 inside.
  [[nodiscard]] double off(double value) const;
  /// Whether some value from `low` to `high` agrees with it.
  [[nodiscard]] bool within(double low, double high) const;
};

/// One figure of an experiment.
struct CorunFigure {
  std::string name;      // with its unit
  Stated measured = {};  // without bounds where the source states nothing
  /// Set where it stands, with those of other experiments, in a table with this title and a column
  /// of its name.
  std::string table{};
  int digits = 2;              // after the point, in text
  double predicted = 0;        // from the usual inputs
  double least = 0, most = 0;  // over all combinations of the open inputs
  std::string word{};          // where the source has a word and the bounds are ours
};

/// What the sources do not say, and the simulator needs.
struct OpenInput {
  std::string name;
  std::vector<double> values;        // ascending; the first and the last are its range
  std::size_t usual = 0;             // the value that predicts
  std::string why;                   // it is open, and where the range comes from
  std::vector<std::string> words{};  // of the values, where these are choices and not numbers
};

/// One of several readings; its values are their places among the words.
[[nodiscard]] OpenInput open_choice(std::string name, std::vector<std::string> words,
                                    std::size_t usual, std::string why);
/// How transfers meet on the link, and what a value of it means.
[[nodiscard]] OpenInput open_link();
[[nodiscard]] LinkSharing link_of(double value);

/// One experiment of a source.
struct CorunExperiment {
  std::string name;
  std::string source;
  std::string known{};  // what the simulator is given
  std::vector<OpenInput> inputs{};
  std::vector<CorunFigure> figures{};
  std::vector<Score> scores{};  // where there are too many figures: the simulator's, then others
  std::string skipped{};        // why it was not run
};

/// The figures of an experiment, in their order, for one value of each of its open inputs.
using PredictCorun = std::function<Result<std::vector<double>>(std::span<const double> inputs)>;

/// Fills in what is predicted: by the usual inputs, and over every combination of all values.
[[nodiscard]] Result<void> predict(CorunExperiment& experiment, const PredictCorun& figures);

/// *Managing Multi Instance GPUs*, 5.1: Needleman-Wunsch, seven on 1g and 21 in three waves.
[[nodiscard]] Result<std::vector<CorunExperiment>> needleman_wunsch();
/// An experiment whose figures can be asked for values of its inputs beyond their ranges.
struct CorunModel {
  CorunExperiment experiment;  // before predict()
  PredictCorun figures;
};
/// Those of taming_coruns().
[[nodiscard]] std::vector<CorunModel> taming_models();
/// *Taming GPU Underutilization*, V: eight applications, seven jobs of each one after another and
/// by four schemes of sharing.
[[nodiscard]] Result<std::vector<CorunExperiment>> taming_coruns();
/// STREAM and ResNet-50 on instances side by side, STREAM also on compute instances of one, from
/// the data folder.
[[nodiscard]] Result<std::vector<CorunExperiment>> measured_coruns(const PhysicsData& data);
/// Inference by 2 to 5 processes that share an instance under MPS, from the data folder.
[[nodiscard]] Result<CorunExperiment> process_coruns(const PhysicsData& data);

}  // namespace cleave
