// `cleave forecast time`: learns from measured jobs how long others will take, and says it of them.

#include <algorithm>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/read_text.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/say.hpp"
#include "cli/table.hpp"
#include "cli/time_option.hpp"
#include "cli/trace_arguments.hpp"
#include "forecast/time/completion_time.hpp"
#include "model/speed_table.hpp"
#include "physics/profile_times.hpp"

namespace cleave::cli {

namespace {

struct ForecastTimeCommandOptions {
  std::string train, save, model, predict, form, known, gpu;
  MeasuredJobsOptions jobs;
  CompletionTimeOptions time;
  bool json = false, skip_bad_lines = false;
};

std::string percent_text(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

Json errors_json(const TimeErrors& errors) {
  return {{"median", errors.median}, {"p90", errors.p90}};
}

Json training_json(const ForecastTimeCommandOptions& options, const MeasuredJobs& jobs,
                   const CompletionTime& model) {
  Json features = Json::array();
  for (const FeatureRange& range : model.ranges())
    features.push_back({{"name", range.name},
                        {"least", range.least},
                        {"most", range.most},
                        {"missing", jobs.missing(features.size())}});
  const CompletionTimeFigures& figures = model.figures();
  return {{"rows", figures.rows},
          {"left_out", jobs.left_out},
          {"target", model.target()},
          {"form", name(model.form())},
          {"features", std::move(features)},
          {"passed_over", jobs.passed_over},
          {"level", model.level()},
          {"held_out",
           {{"rows", figures.held_out},
            {"trees", errors_json(figures.trees)},
            {"linear", figures.linear ? errors_json(*figures.linear) : Json(nullptr)},
            {"nearest", errors_json(figures.nearest)}}},
          {"saved", options.save.empty() ? Json(nullptr) : Json(options.save)}};
}

void print_training(const ForecastTimeCommandOptions& options, const MeasuredJobs& jobs,
                    const CompletionTime& model) {
  const CompletionTimeFigures& figures = model.figures();
  say("{}", counted(figures.rows, "measured job"));
  if (jobs.left_out > 0) say(", {} more without a time", jobs.left_out);
  say("; '{}' is learnt as {}\n\n", shown(model.target()), name(model.form()));
  Table features({"feature", "least", "most"});
  for (const FeatureRange& range : model.ranges())
    features.add(
        {shown(range.name), fmt::format("{:g}", range.least), fmt::format("{:g}", range.most)});
  say("{}", features.text());
  if (!jobs.passed_over.empty()) {
    std::vector<std::string> names;
    for (const std::string& each : jobs.passed_over) names.push_back(shown(each));
    say("columns of text, ignored: {}\n", fmt::join(names, ", "));
  }
  std::vector<std::string> missing;
  for (std::size_t f = 0; f < jobs.features.size(); ++f)
    if (const std::size_t count = jobs.missing(f); count > 0)
      missing.push_back(fmt::format("{} ({})", shown(jobs.features[f]), count));
  if (!missing.empty())
    say("empty cells, which count as not measured: {}\n", fmt::join(missing, ", "));
  Table errors({"held out", "median error", "p90"});
  const auto add = [&](const char* what, const TimeErrors& error) {
    errors.add({what, percent_text(error.median), percent_text(error.p90)});
  };
  add("boosted trees", figures.trees);
  if (figures.linear) add("linear in slices", *figures.linear);
  add("nearest measured job", figures.nearest);
  say("\n{}", errors.text());
  const std::string together =
      options.jobs.group.empty()
          ? ""
          : fmt::format(", those of one '{}' together", shown(options.jobs.group));
  say("\neach job was held out once{}; {} of {} were within reach of the others and count\n",
      together, figures.held_out, figures.rows);
  if (!figures.linear) say("linear in slices: name --whole and --slices to see it\n");
  if (!options.save.empty()) say("saved as {}\n", shown(options.save, 200));
}

Result<int> train(const ForecastTimeCommandOptions& given) {
  ForecastTimeCommandOptions options = given;
  options.time.form = options.time.whole.empty() ? TimeForm::log : TimeForm::ratio;
  if (!options.form.empty()) {
    const auto form = parse_time_form(options.form);
    if (!form) return fail_at("--form", form.error());
    options.time.form = *form;
  }
  if (const auto free = not_read_too("--save", options.save, {options.train}); !free)
    return std::unexpected(free.error());
  const auto text = read_text(options.train);
  if (!text) return std::unexpected(text.error());
  const std::string place = shown(options.train, 200);
  BadLines bad;
  if (options.skip_bad_lines) options.jobs.bad_lines = &bad;
  const auto jobs = read_measured_jobs(*text, place, options.jobs);
  report(bad);
  if (!jobs) return std::unexpected(jobs.error());
  const auto model = CompletionTime::train(*jobs, options.jobs.target, options.time);
  if (!model) return fail_at(place, model.error());
  if (!options.save.empty())
    if (const auto saved = write_whole(options.save, model->save()); !saved)
      return std::unexpected(saved.error());
  if (options.json)
    print(training_json(options, *jobs, *model));
  else
    print_training(options, *jobs, *model);
  return 0;
}

/// One job's forecast, or why there is none.
struct TimeAnswer {
  std::string place;
  std::optional<TimeForecast> forecast;
  std::string refused;
};

std::vector<TimeAnswer> answers(const CompletionTime& model, const std::vector<AskedJob>& jobs) {
  std::vector<TimeAnswer> all;
  for (const AskedJob& job : jobs) {
    TimeAnswer& answer = all.emplace_back();
    answer.place = job.place;
    answer.refused = job.missing;
    if (!job.missing.empty()) continue;
    const auto forecast = model.forecast(job.row);
    if (forecast)
      answer.forecast = *forecast;
    else
      answer.refused = forecast.error().message;
  }
  return all;
}

void print_json(const CompletionTime& model, const std::vector<TimeAnswer>& all,
                std::size_t refused) {
  Json jobs = Json::array();
  for (const TimeAnswer& answer : all) {
    if (answer.forecast)
      jobs.push_back({{"place", answer.place},
                      {"seconds", answer.forecast->seconds},
                      {"lower", answer.forecast->lower},
                      {"upper", answer.forecast->upper}});
    else
      jobs.push_back({{"place", answer.place}, {"refused", answer.refused}});
  }
  print(Json{
      {"target", model.target()}, {"level", model.level()}, {"refused", refused}, {"jobs", jobs}});
}

Result<int> predict(const ForecastTimeCommandOptions& options) {
  const auto model_text = read_text(options.model);
  if (!model_text) return std::unexpected(model_text.error());
  const auto model = CompletionTime::load(*model_text, shown(options.model, 200));
  if (!model) return std::unexpected(model.error());
  const auto text = read_text(options.predict);
  if (!text) return std::unexpected(text.error());
  BadLines bad;
  const auto jobs =
      read_asked_jobs(*text, shown(options.predict, 200), model->features(),
                      model->features_that_may_miss(), options.skip_bad_lines ? &bad : nullptr);
  report(bad);
  if (!jobs) return std::unexpected(jobs.error());
  if (jobs->empty())
    return fail(ErrorKind::bad_input, shown(options.predict, 200), "it has a header but no jobs");
  const std::vector<TimeAnswer> all = answers(*model, *jobs);
  const auto refused = static_cast<std::size_t>(
      std::ranges::count_if(all, [](const TimeAnswer& answer) { return !answer.forecast; }));
  if (options.json) {
    print_json(*model, all, refused);
  } else {
    Table table({"job", "seconds", "lower", "upper", ""});
    for (const TimeAnswer& answer : all) {
      const auto number = [&](double TimeForecast::*member) {
        return answer.forecast ? fmt::format("{:.4g}", *answer.forecast.*member) : std::string("-");
      };
      table.add({answer.place, number(&TimeForecast::seconds), number(&TimeForecast::lower),
                 number(&TimeForecast::upper),
                 answer.forecast ? std::string() : fmt::format("refused: {}", answer.refused)});
    }
    say("{}", table.text());
    say("\n{} of {} refused; {:g} % of the held-out jobs lay between lower and upper\n", refused,
        all.size(), 100 * model->level());
  }
  return refused == 0 ? 0 : 1;
}

// By the law.

std::string_view name(TimeBasis basis) {
  switch (basis) {
    case TimeBasis::known:
      return "known";
    case TimeBasis::between:
      return "between";
    case TimeBasis::beyond:
      break;
  }
  return "beyond";
}

/// What the two numbers are where the known times contradict the law.
std::string_view remark(FloorFit fit) {
  switch (fit) {
    case FloorFit::inside:
      return "";
    case FloorFit::no_floor:
      return "; the known times differ by as much as GPU-bound work does, or more: no floor is "
             "left";
    case FloorFit::no_bound:
      break;
  }
  return "; the smaller profiles are as fast, or faster: all of the time is floor";
}

Json by_law_json(const GpuModel& model, const CompletedTimes& times) {
  Json profiles = Json::array();
  for (const ProfileTime& each : times.profiles) {
    const auto error = law_error(model, each.basis, times.job.worst);
    profiles.push_back({{"profile", each.profile->name},
                        {"seconds", each.time},
                        {"basis", name(each.basis)},
                        {"error_median", error ? Json(error->median) : Json(nullptr)},
                        {"error_p90", error ? Json(error->p90) : Json(nullptr)}});
  }
  return {{"gpu", model.key},
          {"law",
           {{"floor_s", times.job.law.fixed},
            {"gpu_bound_s", times.job.law.bound},
            {"p", times.job.law.overlap},
            {"tested", gpu_bound_time_is_measured(model)},
            {"worst_at_known", times.job.worst}}},
          {"profiles", std::move(profiles)}};
}

void print_by_law(const GpuModel& model, const CompletedTimes& times) {
  Table table({"profile", "seconds", ""});
  for (const ProfileTime& each : times.profiles)
    table.add({std::string(each.profile->name), fmt::format("{:.4g}", each.time),
               each.basis == TimeBasis::known
                   ? std::string("known")
                   : fmt::format("{} the known sizes: {}", name(each.basis),
                                 law_error_text(model, each.basis, times.job.worst))});
  const SliceLaw& law = times.job.law;
  say("{}\nassumed: the law of slices with a floor of {:.4g} s, {:.4g} s of GPU-bound work on the "
      "whole GPU and p = {:g}{}\n",
      table.text(), law.fixed, law.bound, law.overlap, remark(times.job.fit));
  if (times.job.worst > 0.005)
    say("it misses the known times by {}\n", misfit_text(times.job.worst));
}

/// The other profiles of a job from those on which its time is known.
Result<int> by_law(const ForecastTimeCommandOptions& options) {
  if (options.gpu.empty())
    return fail(ErrorKind::bad_usage, "--known", "profiles are those of one GPU model",
                "add --gpu MODEL");
  const auto model = find_gpu_model(options.gpu);
  if (!model) return fail_at("--gpu", model.error());
  auto known = parse_by_profile(times_in_seconds(options.known), "--known",
                                {"time", "give seconds, or 10m and the like"});
  if (!known) return std::unexpected(known.error());
  for (const auto& [column, seconds] : *known) {
    const bool other = column.find(':') != std::string::npos &&
                       !column.starts_with(fmt::format("{}:", (*model)->key));
    if (other || (*model)->find(column.substr(column.find(':') + 1)) == nullptr)
      return fail(ErrorKind::bad_input, "--known",
                  fmt::format("the {} has no profile '{}'", (*model)->key, shown(column)),
                  "`cleave gpu MODEL` shows the profiles");
  }
  for (auto& [column, number] : *known) number = 1 / number;
  const auto times = complete_times(*known, **model);
  if (!times) return fail_at("--known", times.error());
  if (options.json)
    print(by_law_json(**model, *times));
  else
    print_by_law(**model, *times);
  return 0;
}

Result<int> time_command(const ForecastTimeCommandOptions& options) {
  if (!options.known.empty()) return by_law(options);
  if (!options.train.empty()) return train(options);
  if (options.predict.empty() || options.model.empty())
    return fail(
        ErrorKind::bad_usage, "", "nothing to do",
        "learn with --train FILE.csv, ask with --model FILE --predict FILE.csv, or give times "
        "on two profiles with --known");
  return predict(options);
}

void add_training(CommandLine& command, ForecastTimeCommandOptions& options) {
  const auto option = [&](const char* flag, auto& value, const char* help) {
    return command.add_option(flag, value, help)->needs("--train");
  };
  option("--save", options.save, "File to save the model in")->check(not_empty());
  option("--target", options.jobs.target, "Column with the time to forecast")
      ->default_str("time_s");
  option("--group", options.jobs.group,
         "Column by which rows are held out: those with the same value together");
  option("--features", options.jobs.features,
         "Columns to learn from; by default all columns of numbers")
      ->delimiter(',');
  option("--whole", options.time.whole, "Feature that holds the time on the whole GPU");
  option("--slices", options.time.slices,
         "Feature that holds the compute slices, for the linear baseline");
  option("--whole-slices", options.time.whole_slices,
         "Compute slices of the whole GPU; by default the largest number in the file")
      ->check(Check::range(1, 1000000));
  option("--form", options.form,
         "What to learn: seconds, log or ratio (to --whole); by default ratio if --whole is given, "
         "else log");
  option("--level", options.time.level, "Share of held-out jobs that the interval is to contain")
      ->default_str("0.9");
  option("--margin", options.time.margin,
         "How far beyond the measured ranges forecasts are made, as a share of them")
      ->default_str("0.1");
  option("--folds", options.time.folds, "Number of parts that are held out in turn")
      ->check(Check::range(2, 1000))
      ->default_str("5");
  option("--seed", options.time.boosting.seed, "Seed of everything random")
      ->check(whole_number(0))
      ->default_str("1");
}

}  // namespace

void add_forecast_time(CommandLine& forecast, Run& run) {
  const auto [command, options] =
      add_command(forecast, run, "time", "Learn from measured jobs how long others will take",
                  "cleave forecast time --train examples/forecast/measured.csv --whole "
                  "whole_s --slices slices --save m.json",
                  time_command);
  Option* train =
      command->add_option("--train", options.train, "CSV of measured jobs to learn from");
  Option* model = command->add_option("--model", options.model, "A saved model");
  Option* predict = command->add_option("--predict", options.predict, "CSV of jobs to forecast");
  model->needs(predict);
  predict->needs(model);
  train->excludes(model)->excludes(predict);
  Option* known =
      command->add_option("--known", options.known,
                          "Seconds of one job on two profiles or more, 1g.5gb=300,7g.40gb=100: "
                          "those on the others follow by the law of slices");
  known->excludes(train)->excludes(model)->excludes(predict);
  command->add_option("--gpu", options.gpu, "With --known: the GPU model")->needs(known);
  add_training(*command, options);
  add_skip_bad_lines(*command, options.skip_bad_lines)->excludes(known);
  add_json(*command, options.json);
}

}  // namespace cleave::cli
