// Series of memory, as CSV; forecasters then read them.

#include "forecast/memory/memory_series.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::memory_series_target {
namespace {

std::optional<Error> read_input(const std::string& text) {
  const auto series = read_memory_series(text, "s.csv", {});
  if (!series) return series.error();
  for (const char* spec : {"trend:shift=on;plateau=on;noise=any;interval=prediction", "laws"}) {
    const auto forecaster = make_forecaster(spec);
    for (const auto& said : watch(forecaster->get(), series->reports, MiB{120}).said)
      require(!said || said->to_ask_for >= said->at_least, "what is asked for suffices");
  }
  return std::nullopt;
}

}  // namespace
}  // namespace cleave::fuzz::memory_series_target

CLEAVE_FUZZ_TARGET(memory_series, judged)
