// Models of completion times; they answer any row and are written again.

#include "forecast/time/completion_time.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::completion_time_target {
namespace {

std::optional<Error> read_input(const std::string& text) {
  const auto model = CompletionTime::load(text, "model.json");
  if (!model) return model.error();
  for (const double number : {0.0, -1.0, 1.0, 4.0, 1e30, 1e-300}) {
    const std::vector<double> row(model->features().size(), number);
    require(model->seconds(row) > 0, "a time is positive");
    const auto forecast = model->forecast(row);
    require(!forecast || forecast->lower <= forecast->upper, "bounds are in order");
  }
  require(CompletionTime::load(model->save(), "again").has_value(), "what is written reads");
  return std::nullopt;
}

}  // namespace
}  // namespace cleave::fuzz::completion_time_target

CLEAVE_FUZZ_TARGET(completion_time, judged)
