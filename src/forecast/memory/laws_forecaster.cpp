// `laws`: a job's peak as a distribution over the laws by which memory grows (growth_laws.hpp). A
// job is restarted once its peak exceeds its instance with the stated confidence, and then asks for
// a size that the peak will stay within.

#include <algorithm>
#include <cmath>

#include "forecast/memory/forecasters.hpp"
#include "forecast/memory/growth_laws.hpp"

namespace cleave {

namespace {

struct LawsOptions {
  double confidence = 0.6, room = 0.9, reach = 2.7;
  std::int64_t horizon = 1000, warm_up = 0;
  std::size_t least_samples = 6;
};

/// The laws are fitted again each time the samples have grown by a twentieth; by an eighth while
/// the size to ask for changes by less than a two-hundredth from one fit to the next.
constexpr std::int64_t pace = 20, settled_pace = 8, agreement = 200;

class Laws final : public Forecaster {
 public:
  explicit Laws(const LawsOptions& options) : options_(options) {}

  std::optional<ExpectedPeak> report(JobId job, const MemoryReport& report) override {
    State& state = jobs_.of(job);
    if (report.iteration <= state.last || report.held().value <= 0) return state.peak;
    state.last = report.iteration;
    if (report.iteration <= options_.warm_up) return std::nullopt;
    state.series.add(static_cast<double>(report.iteration),
                     static_cast<double>(report.held().value));
    if (!state.due()) return state.peak;
    state.looked(false);
    if (state.series.points().size() < options_.least_samples) return std::nullopt;
    const auto last =
        static_cast<double>(report.iterations.value_or(report.iteration + options_.horizon));
    const auto now = static_cast<double>(report.iteration);
    const auto size = [](const PeakDistribution& peak, double share) {
      return MiB{std::llround(std::min(peak.quantile(share), 1e15))};
    };
    const GrowthLaws laws(state.series, last);
    const MiB at_least = size(laws.peak(now * options_.reach), 1 - options_.confidence);
    const MiB room = std::max(at_least, size(laws.peak(last), options_.room));
    if (state.peak)
      state.looked(std::abs(room.value - state.peak->to_ask_for.value) < room.value / agreement);
    state.peak = {at_least, room};
    return state.peak;
  }
  void forget(JobId job) override { jobs_.forget(job); }

 private:
  struct State {
    SeriesDigest series;
    std::int64_t last = 0, next_look = 0;
    std::optional<ExpectedPeak> peak;

    [[nodiscard]] bool due() const { return series.samples() >= next_look; }
    void looked(bool settled) {
      const std::int64_t seen = series.samples();
      next_look = seen + std::max<std::int64_t>(1, seen / (settled ? settled_pace : pace));
    }
  };

  LawsOptions options_;
  PerJob<State> jobs_;
};

constexpr OptionRow laws_options[] = {
    {"confidence", "SHARE", "0.6",
     "confidence that the peak exceeds the instance, before a job is restarted"},
    {"reach", "NUMBER", "2.7", "how far to look ahead, as a multiple of the iterations so far"},
    {"room", "SHARE", "0.9", "probability that the job stays within the size it then asks for"},
    {"least-samples", "COUNT", "6", "before which nothing is said; at most 64"},
    {"horizon", "COUNT", "1000", "iterations ahead, for a job that does not know its last"},
    {"warm-up", "COUNT", "0", "iterations at the beginning to leave out"},
};

Result<std::unique_ptr<Forecaster>> make_laws(const OptionTexts& texts) {
  OptionReader in(texts);
  const LawsOptions options{in.number("confidence", 0.5, 0.999),
                            in.number("room", 0.5, 0.999),
                            in.number("reach", 1, 1e9),
                            in.count("horizon", 1, 1'000'000'000),
                            in.count("warm-up", 0, 1'000'000'000),
                            static_cast<std::size_t>(in.count("least-samples", 6, 64))};
  if (in.error()) return std::unexpected(*in.error());
  return std::make_unique<Laws>(options);
}

}  // namespace

const ForecasterRow laws_row = {
    "laws",
    "the peak as a distribution over the laws by which memory grows; restarts when it is sure",
    "ours; see docs/forecast-memory.md", laws_options, make_laws};

}  // namespace cleave
