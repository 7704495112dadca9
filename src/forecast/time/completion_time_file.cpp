// The file of a completion-time model, docs/formats.md: written by save(); load() does not trust
// it.

#include <algorithm>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "forecast/time/completion_time.hpp"

namespace cleave {

namespace {

constexpr std::string_view format_name = "cleave-completion-time";
constexpr std::int64_t format_version = 1, most_rows = std::int64_t{1} << 40;

Json errors_json(const TimeErrors& errors) {
  return {{"median", errors.median}, {"p90", errors.p90}};
}

/// A number in [least, most].
double number_in(JsonReader& in, std::string_view key, double least, double most) {
  const auto number = in.number_if(key);
  if (!number)
    in.refuse(key, "a number is missing");
  else if (*number < least || *number > most)
    in.refuse(key,
              fmt::format("expected a number from {:g} to {:g}, found {:g}", least, most, *number));
  return number.value_or(least);
}

std::optional<TimeErrors> read_errors(JsonReader& in, std::string_view key) {
  auto errors = in.object_if(key);
  if (!errors) return std::nullopt;
  const double median = number_in(*errors, "median", 0, largest_number);
  const TimeErrors read{median, number_in(*errors, "p90", 0, largest_number)};
  errors->done();
  return read;
}

CompletionTimeFigures read_figures(JsonReader& in) {
  CompletionTimeFigures figures;
  auto object = in.object_if("figures");
  if (!object) {
    in.refuse("figures", "an object is missing");
    return figures;
  }
  figures.rows = static_cast<std::size_t>(object->integer("rows", 1, most_rows));
  figures.held_out = static_cast<std::size_t>(object->integer("held_out", 1, most_rows));
  figures.linear = read_errors(*object, "linear");
  const auto trees = read_errors(*object, "trees"), nearest = read_errors(*object, "nearest");
  if (!trees || !nearest) object->refuse("", "the errors of trees and nearest are missing");
  figures.trees = trees.value_or(TimeErrors{});
  figures.nearest = nearest.value_or(TimeErrors{});
  object->done();
  return figures;
}

/// How many columns the trees see.
std::size_t columns(const std::vector<FeatureRange>& ranges, TimeForm form, std::size_t whole) {
  std::size_t count = ranges.size();
  for (std::size_t f = 0; form == TimeForm::ratio && f < ranges.size(); ++f)
    if (f != whole && ranges[f].logarithmic) ++count;
  return count;
}

}  // namespace

std::string CompletionTime::save() const {
  Json figures = {{"rows", figures_.rows},
                  {"held_out", figures_.held_out},
                  {"trees", errors_json(figures_.trees)},
                  {"linear", figures_.linear ? errors_json(*figures_.linear) : Json(nullptr)},
                  {"nearest", errors_json(figures_.nearest)}};
  const Json document = {
      {"format", format_name},
      {"version", format_version},
      {"target", target_},
      {"form", name(form_)},
      {"whole", form_ == TimeForm::ratio ? Json(ranges()[whole_].name) : Json(nullptr)},
      {"margin", margin_},
      {"reach", reach_},
      {"interval", {{"level", level_}, {"lower", lower_}, {"upper", upper_}}},
      {"figures", std::move(figures)},
      {"measured", distance_.to_json()},
      {"trees", trees_.to_json()},
      {"spread", spread_.to_json()}};
  return document.dump() + "\n";
}

Result<CompletionTime> CompletionTime::load(std::string_view text, const std::string& place) {
  const auto document = parse_json(text, place);
  if (!document) return std::unexpected(document.error());
  std::optional<Error> error;
  JsonReader in(*document, place, error);
  if (in.text("format") != format_name)
    in.refuse("format", fmt::format("this is not a '{}'", format_name),
              "a model is made by `forecast time --train`");
  if (in.integer("version", 1, INT32_MAX) > format_version)
    in.refuse("version", fmt::format("the model is of a newer version than {}", format_version));
  const auto form = parse_time_form(in.text("form"));
  if (!form) in.refuse("form", form.error().message, form.error().remedy);
  if (error) return std::unexpected(*error);

  for (const char* key : {"measured", "trees", "spread"})
    if (!in.has_object(key) || !in.object_if(key)) {
      in.refuse(key, "an object is missing", "the model may be damaged: train it again");
      return std::unexpected(*error);
    }
  auto distance = JobDistance::from_json((*document)["measured"], place + ": measured");
  if (!distance) return std::unexpected(distance.error());
  auto trees = BoostedTrees::from_json((*document)["trees"], place + ": trees");
  if (!trees) return std::unexpected(trees.error());

  auto spread = BoostedTrees::from_json((*document)["spread"], place + ": spread");
  if (!spread) return std::unexpected(spread.error());

  CompletionTime model(std::move(*distance), std::move(*trees));
  model.spread_ = std::move(*spread);
  model.form_ = *form;
  model.target_ = in.text("target");
  if (!fit_for_a_name(model.target_)) in.refuse("target", "this cannot be the name of a column");
  const auto whole = in.text_if("whole");
  if (*form == TimeForm::ratio) {
    const auto found = std::ranges::find(model.ranges(), whole.value_or(""), &FeatureRange::name);
    if (found == model.ranges().end() || !found->logarithmic)
      in.refuse("whole", "this is not a feature with values above 0");
    else
      model.whole_ = static_cast<std::size_t>(found - model.ranges().begin());
  }
  model.margin_ = number_in(in, "margin", 0, 10);
  model.reach_ = number_in(in, "reach", 0, largest_number);
  if (auto interval = in.object_if("interval")) {
    model.level_ = number_in(*interval, "level", 0, 1);
    model.lower_ = number_in(*interval, "lower", -1e6, 1e6);
    model.upper_ = number_in(*interval, "upper", model.lower_, 1e6);
    interval->done();
  } else {
    in.refuse("interval", "an object is missing");
  }
  model.figures_ = read_figures(in);
  in.done();
  const std::size_t seen = columns(model.ranges(), model.form_, model.whole_);
  for (const auto& [key, grown] :
       {std::pair("trees", &model.trees_), std::pair("spread", &model.spread_)})
    if (grown->width() != seen)
      in.refuse(key, "the trees are of other features", "the model may be damaged: train it again");
  if (error) return std::unexpected(*error);
  return model;
}

}  // namespace cleave
