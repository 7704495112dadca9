#include "forecast/forecaster.hpp"

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

/// The last value with a margin: what the job holds now, and so much more, is taken for its peak.
class LastValue final : public Forecaster {
 public:
  explicit LastValue(double margin) : margin_(margin) {}

  std::optional<MiB> report(JobId, const MemoryReport& report) override {
    return MiB{std::llround(static_cast<double>(report.allocated.value) * (1 + margin_))};
  }
  void forget(JobId) override {}

 private:
  double margin_;
};

Result<std::unique_ptr<Forecaster>> make_none(const OptionTexts&) {
  return nullptr;
}

Result<std::unique_ptr<Forecaster>> make_last_value(const OptionTexts& options) {
  const std::string& text = options.at("margin");
  const auto margin = parse_number(text);
  if (!margin || !(*margin >= 0 && *margin <= 10))
    return fail(ErrorKind::bad_usage, "margin", fmt::format("'{}' is not a share", shown(text)),
                "give a number from 0 to 10; 0.1 is a tenth more");
  return std::make_unique<LastValue>(*margin);
}

constexpr OptionRow last_value_options[] = {
    {"margin", "NUMBER", "0.1", "what is added to the last value, as a share of it"},
};

constexpr ForecasterRow table[] = {
    {"none", "jobs restart when they have run out of memory", {}, make_none},
    {"last-value", "what a job holds now and a margin is its peak; plain, to compare others with",
     last_value_options, make_last_value},
};

}  // namespace

std::span<const ForecasterRow> forecasters() {
  return table;
}

Result<std::unique_ptr<Forecaster>> make_forecaster(std::string_view spec) {
  const std::string place = fmt::format("forecaster '{}'", shown(spec));
  const std::string_view name = spec.substr(0, spec.find(':'));
  const auto row = std::ranges::find(table, name, &ForecasterRow::name);
  if (row == std::end(table)) {
    std::vector<std::string> known;
    for (const ForecasterRow& other : table) known.emplace_back(other.name);
    return fail(ErrorKind::bad_usage, "", fmt::format("there is no forecaster '{}'", shown(name)),
                suggestion(name, known));
  }
  const auto given = options_of(spec, place);
  if (!given) return std::unexpected(given.error());
  const auto options = complete(*given, row->options, fmt::format("forecaster {}", row->name));
  if (!options) return fail_at(place, options.error());
  auto made = row->make(*options);
  if (!made) return fail_at(place, made.error());
  return made;
}

}  // namespace cleave
