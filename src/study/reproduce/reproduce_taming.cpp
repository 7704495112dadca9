#include "study/reproduce/reproduce_taming.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace cleave {

namespace {

/// How far an input is tried beyond its range.
struct Tried {
  std::string_view input;
  double least, most;
};
constexpr Tried tried[] = {{"GPU-bound part", 0, 1},
                           {"power factor", 0, 2},
                           {"draws alone, W", 150, 700},
                           {"idle-factor", 1, 4}};
constexpr int steps = 80;

bool agrees(const CorunFigure& figure, double value) {
  constexpr double rounded = 0.005;  // papers print two or three digits
  return std::abs(figure.measured.off(value)) <= rounded;
}

/// The combination of the open inputs whose figure comes nearest.
Result<std::vector<double>> nearest_inputs(const CorunModel& model, std::size_t figure) {
  const std::vector<OpenInput>& inputs = model.experiment.inputs;
  std::vector<std::size_t> at(inputs.size(), 0);
  std::vector<double> best;
  double least = 0;
  while (true) {
    std::vector<double> values;
    for (std::size_t i = 0; i < inputs.size(); ++i) values.push_back(inputs[i].values[at[i]]);
    const auto found = model.figures(values);
    if (!found) return std::unexpected(found.error());
    const double off = std::abs(model.experiment.figures[figure].measured.off((*found)[figure]));
    if (best.empty() || off < least) {
      best = values;
      least = off;
    }
    std::size_t next = 0;
    while (next < inputs.size() && ++at[next] == inputs[next].values.size()) at[next++] = 0;
    if (next == inputs.size()) return best;
  }
}

std::vector<double> usual_inputs(const CorunExperiment& experiment) {
  std::vector<double> values;
  for (const OpenInput& input : experiment.inputs) values.push_back(input.values[input.usual]);
  return values;
}

/// The value nearest to the usual one with which the figure agrees.
Result<std::optional<double>> value_that_agrees(const CorunModel& model, std::size_t figure,
                                                std::size_t input, std::vector<double> values,
                                                const Tried& range) {
  const double usual = model.experiment.inputs[input].values[model.experiment.inputs[input].usual];
  std::optional<double> best;
  for (int i = 0; i <= steps; ++i) {
    values[input] = range.least + (range.most - range.least) * i / steps;
    const auto found = model.figures(values);
    if (!found) return std::unexpected(found.error());
    if (!agrees(model.experiment.figures[figure], (*found)[figure])) continue;
    if (!best || std::abs(values[input] - usual) < std::abs(*best - usual)) best = values[input];
  }
  return best;
}

Result<OutsideFigure> outside(const CorunModel& model, std::size_t figure) {
  const CorunFigure& asked = model.experiment.figures[figure];
  OutsideFigure result{model.experiment.name, asked.name, 0, 0, {}};
  const auto nearest = nearest_inputs(model, figure);
  if (!nearest) return std::unexpected(nearest.error());
  const auto there = model.figures(*nearest);
  if (!there) return std::unexpected(there.error());
  result.nearest = (*there)[figure];
  result.factor = 1 / (1 + asked.measured.off(result.nearest));
  const std::vector<double> usual = usual_inputs(model.experiment);
  for (std::size_t i = 0; i < usual.size(); ++i) {
    const auto* const range =
        std::ranges::find(tried, model.experiment.inputs[i].name, &Tried::input);
    if (range == std::end(tried)) continue;
    for (const bool others_usual : {true, false}) {
      const auto value =
          value_that_agrees(model, figure, i, others_usual ? usual : *nearest, *range);
      if (!value) return std::unexpected(value.error());
      if (!*value) continue;
      result.needed.push_back({model.experiment.inputs[i].name, **value, others_usual});
      break;
    }
  }
  return result;
}

}  // namespace

Result<std::vector<OutsideFigure>> outside_figures(const std::vector<CorunExperiment>& predicted) {
  std::vector<OutsideFigure> all;
  const std::vector<CorunModel> models = taming_models();
  for (std::size_t i = 0; i < models.size(); ++i)
    for (std::size_t f = 0; f < predicted[i].figures.size(); ++f) {
      const CorunFigure& figure = predicted[i].figures[f];
      if (!figure.measured.anything() || figure.measured.within(figure.least, figure.most))
        continue;
      auto found = outside(models[i], f);
      if (!found) return std::unexpected(found.error());
      all.push_back(std::move(*found));
    }
  return all;
}

Result<TamingReproduction> reproduce_taming() {
  auto coruns = taming_coruns();
  if (!coruns) return std::unexpected(coruns.error());
  auto outside = outside_figures(*coruns);
  if (!outside) return std::unexpected(outside.error());
  return TamingReproduction{std::move(*coruns), std::move(*outside), count_rewards()};
}

}  // namespace cleave
