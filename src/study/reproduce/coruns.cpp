#include "study/reproduce/coruns.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace cleave {

double Stated::off(double value) const {
  if (least && value < *least) return value / *least - 1;
  if (most && value > *most) return value / *most - 1;
  return 0;
}

bool Stated::within(double low, double high) const {
  return (!most || low <= *most) && (!least || high >= *least);
}

OpenInput open_choice(std::string name, std::vector<std::string> words, std::size_t usual,
                      std::string why) {
  std::vector<double> values(words.size());
  std::iota(values.begin(), values.end(), 0.0);
  return {std::move(name), std::move(values), usual, std::move(why), std::move(words)};
}

OpenInput open_link() {
  return open_choice("link", {"off", "spread", "together"}, 1,
                     "averages do not say which transfers coincide");
}

LinkSharing link_of(double value) {
  constexpr std::array<LinkSharing, 3> readings = {LinkSharing::off, LinkSharing::spread,
                                                   LinkSharing::together};
  return readings.at(static_cast<std::size_t>(value));
}

Result<void> predict(CorunExperiment& experiment, const PredictCorun& figures) {
  const std::vector<OpenInput>& inputs = experiment.inputs;
  std::vector<std::size_t> at(inputs.size(), 0);  // counts through all combinations
  bool first = true;
  while (true) {
    std::vector<double> values;
    bool usual = true;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      values.push_back(inputs[i].values[at[i]]);
      usual = usual && at[i] == inputs[i].usual;
    }
    const auto found = figures(values);
    if (!found) return std::unexpected(found.error());
    for (std::size_t i = 0; i < experiment.figures.size(); ++i) {
      CorunFigure& figure = experiment.figures[i];
      const double value = (*found)[i];
      figure.least = first ? value : std::min(figure.least, value);
      figure.most = first ? value : std::max(figure.most, value);
      if (usual) figure.predicted = value;
    }
    first = false;
    std::size_t next = 0;
    while (next < inputs.size() && ++at[next] == inputs[next].values.size()) at[next++] = 0;
    if (next == inputs.size()) return {};
  }
}

}  // namespace cleave
