// `cleave recommend`: which of the measured instances serves an application best, performance
// against what lies idle, by the reward of the Taming paper.

#include <algorithm>
#include <map>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/read_text.hpp"
#include "base/tell.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/forecast/profiles.hpp"
#include "cli/forecast/run_estimate.hpp"
#include "cli/say.hpp"
#include "cli/table.hpp"

namespace cleave::cli {

namespace {

struct RecommendCommandOptions {
  std::string measurements, repository, form{name(RewardBasis{}.form)};
  ProfileFilter filter;
  std::optional<double> alpha, touches;
  std::optional<std::int64_t> offload;
  bool complete = false, json = false;
};

/// The alphas over which the answer shows what is best; the paper varies it from 0 to the size of
/// the wastes.
constexpr double most_alpha = 2;

struct Asked {
  RewardQuestion question;
  std::string about;      // where the measurements are from; empty for a file of them
  const GpuModel* model;  // null with a file
  std::vector<LeftOutProfile> left_out;
  std::map<std::size_t, RunEstimate> estimated;  // by instance; all others were measured
};

Result<Asked> ask_file(const RecommendCommandOptions& options) {
  const auto text = read_text(options.measurements);
  if (!text) return std::unexpected(text.error());
  auto question = parse_reward_question(*text, shown(options.measurements, 200));
  if (!question) return std::unexpected(question.error());
  return Asked{std::move(*question), "", nullptr, {}, {}};
}

/// What was measured and what is estimated, by their processors, as they were.
void add_estimates(Asked& asked, const std::vector<RunEstimate>& estimates) {
  std::vector<MeasuredInstance>& all = asked.question.instances;
  for (const RunEstimate& each : estimates) {
    const auto place = std::ranges::lower_bound(all, each.instance.sms, {}, &MeasuredInstance::sms);
    all.insert(place, each.instance);
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const RunEstimate& each : estimates)
      if (all[i].offloaded == each.instance.offloaded && all[i].name == each.instance.name)
        asked.estimated[i] = each;
}

Result<Asked> ask_repository(const RecommendCommandOptions& options) {
  const auto repository = load_repository(options.repository);
  if (!repository) return std::unexpected(repository.error());
  ProfileFilter filter = options.filter;
  if (!filter.gpu_model.empty()) {
    const auto model = find_gpu_model(filter.gpu_model);
    if (!model) return fail_at("--gpu", model.error());
    filter.gpu_model = (*model)->key;
  }
  auto measured = reward_question(*repository, filter);
  if (!measured) return fail_at(shown(options.repository, 200), measured.error());
  const std::string about = fmt::format("{} with batch {} on the {}, performance is {}",
                                        shown(options.filter.application), measured->batch,
                                        measured->model->key, measured->performance);
  std::vector<RunEstimate> estimates;
  if (options.offload) {
    auto offloaded = estimate_offload(*measured, MiB{*options.offload}, *options.touches);
    if (!offloaded) return fail_at("--offload", offloaded.error());
    estimates = std::move(*offloaded);
  }
  if (options.complete) {
    const auto others = estimate_others(*measured);
    if (!others) return fail_at("--complete", others.error());
    estimates.insert(estimates.end(), others->begin(), others->end());
  }
  Asked asked{
      std::move(measured->question), about, measured->model, std::move(measured->left_out), {}};
  add_estimates(asked, std::move(estimates));
  return asked;
}

Json answer_json(const Asked& asked, const Recommendation& answer) {
  const RewardQuestion& question = asked.question;
  // One instance without a name was asked for its reward alone.
  if (question.instances.size() == 1 && question.instances.front().name.empty())
    return to_json(answer.rewards.front());
  Json json = to_json(question, answer);
  json["alpha"] = question.basis.alpha;
  json["form"] = name(question.basis.form);
  for (const auto& [instance, estimate] : asked.estimated) {
    Json& config = json["configs"][instance];
    config["estimated"] = true;
    const auto error = law_error(*asked.model, estimate.basis, estimate.worst);
    config["law_error_median"] = error ? Json(error->median) : Json(nullptr);
    config["law_error_p90"] = error ? Json(error->p90) : Json(nullptr);
    if (estimate.instance.offloaded)
      config.update(
          Json{{"host_mib", estimate.in_host.value}, {"link_slowdown", estimate.slowdown}});
  }
  json["best_by_alpha"] = Json::array();
  for (const auto& [alpha, instance] :
       best_by_alpha(question.instances, question.basis, most_alpha))
    json["best_by_alpha"].push_back({{"from_alpha", alpha},
                                     {"name", question.instances[instance].name},
                                     {"offload", question.instances[instance].offloaded}});
  return json;
}

std::string shown_name(const MeasuredInstance& instance) {
  return shown(instance.name) + (instance.offloaded ? " + host memory" : "");
}

void print_text(const Asked& asked, const Recommendation& answer) {
  const RewardQuestion& question = asked.question;
  if (!asked.about.empty()) say("{}\n\n", asked.about);
  Table table({"instance", "SM waste", "memory waste", "performance", "reward", ""});
  for (std::size_t i = 0; i < question.instances.size(); ++i) {
    const Reward& row = answer.rewards[i];
    const bool equal = std::ranges::count(answer.equal, i) > 0;
    table.add({shown_name(question.instances[i]), fmt::format("{:.3f}", row.sm_waste),
               fmt::format("{:.3f}", row.memory_waste),
               fmt::format("{:.3f}", row.relative_performance), fmt::format("{:.3f}", row.reward),
               answer.best == i ? "best"
               : equal          ? "equal, but larger or later"
                                : ""});
  }
  say("{}", table.text());
  for (const auto& [instance, estimate] : asked.estimated) {
    say("\nestimated: {}", shown_name(question.instances[instance]));
    if (estimate.instance.offloaded)
      say(", {} MiB there; the link slows it {:.2f} times", estimate.in_host.value,
          estimate.slowdown);
    else
      say(", by the law of slices: {}",
          law_error_text(*asked.model, estimate.basis, estimate.worst));
  }
  if (!asked.estimated.empty()) say("\n");
  say("\nalpha {} ({}): {}\n", question.basis.alpha, name(question.basis.form),
      shown_name(question.instances[*answer.best]));
  const auto corners = best_by_alpha(question.instances, question.basis, most_alpha);
  for (std::size_t i = 0; i < corners.size(); ++i) {
    const double end = i + 1 < corners.size() ? corners[i + 1].alpha : most_alpha;
    say("  from {:.3f} to {:.3f}  {}\n", corners[i].alpha, end,
        shown_name(question.instances[corners[i].instance]));
  }
}

Result<int> recommend_command(const RecommendCommandOptions& options) {
  if (options.measurements.empty() == options.repository.empty())
    return fail(ErrorKind::bad_usage, "", "give either --measurements or --repository");
  const bool filtered = !options.filter.application.empty() || !options.filter.gpu_model.empty() ||
                        options.filter.batch.has_value();
  if (options.repository.empty() && filtered)
    return fail(ErrorKind::bad_usage, "--measurements",
                "--application, --batch and --gpu choose from a profile repository, and "
                "--measurements is one application",
                "leave them out, or give --repository");
  if (options.offload.has_value() != options.touches.has_value())
    return fail(ErrorKind::bad_usage, options.offload ? "--offload" : "--touches",
                "--offload and --touches belong together",
                "give both: what can be in host memory, and how often it crosses the link");
  if (options.repository.empty() && options.offload)
    return fail(ErrorKind::bad_usage, "--offload", "the link is that of a GPU model",
                "give --repository; a file of measurements has measured runs only");
  if (options.repository.empty() && options.complete)
    return fail(ErrorKind::bad_usage, "--complete", "the law of slices is that of a GPU model",
                "give --repository; a file of measurements has measured runs only");
  if (!options.repository.empty() && options.filter.application.empty())
    return fail(ErrorKind::bad_usage, "--repository", "it may hold many applications",
                "add --application NAME");
  auto asked = options.repository.empty() ? ask_file(options) : ask_repository(options);
  if (!asked) return std::unexpected(asked.error());
  asked->question.basis.alpha = options.alpha.value_or(asked->question.basis.alpha);
  asked->question.basis.form = *reward_form(options.form);
  const Recommendation answer = recommend(asked->question.instances, asked->question.basis);
  say_left_out(asked->left_out);
  if (options.offload && std::ranges::none_of(asked->estimated, [](const auto& each) {
        return each.second.instance.offloaded;
      }))
    tell(
        "nothing to estimate with --offload: every profile was measured or holds it "
        "whole\n");
  if (!answer.best)
    return fail(ErrorKind::infeasible, shown(options.measurements + options.repository, 200),
                asked->left_out.empty() ? "no instance was measured"
                                        : "no profile has everything that the reward needs",
                "measure it on some instance: docs/choosing.md says what is needed");
  if (options.json) {
    print(answer_json(*asked, answer));
  } else {
    print_text(*asked, answer);
  }
  return 0;
}

}  // namespace

void add_recommend(CommandLine& program, Run& run) {
  const auto [command, options] = add_command(
      program, run, "recommend", "Find the measured instance that serves an application best",
      "cleave recommend --measurements examples/profiles/llama3.json --alpha 0.5",
      recommend_command);
  command
      ->add_option("--measurements", options.measurements,
                   "A file of measured instances (docs/choosing.md)")
      ->check(not_empty());
  command
      ->add_option("--repository", options.repository,
                   "A profile repository, instead of --measurements")
      ->check(not_empty());
  command
      ->add_option("--application", options.filter.application,
                   "With --repository: the application")
      ->check(not_empty());
  command->add_option("--batch", options.filter.batch, "With --repository: the batch size")
      ->check(whole_number(1));
  command->add_option("--gpu", options.filter.gpu_model, "With --repository: the GPU model")
      ->check(not_empty());
  command
      ->add_option("--offload", options.offload,
                   "With --repository: MiB that may be in host memory; smaller profiles that hold "
                   "the rest are estimated")
      ->check(whole_number(1));
  command
      ->add_option("--touches", options.touches,
                   "With --offload: how often all that is in host memory crosses the link for each "
                   "token, item or run")
      ->check(number_from(0, 1e12));
  command->add_flag("--complete", options.complete,
                    "With --repository: estimate the profiles that were not measured, by the law "
                    "of slices from those that were");
  command
      ->add_option("--alpha", options.alpha,
                   "Weight of performance against waste: 0 ignores it, 0.5 weighs it as much as "
                   "either kind of waste; 0.5 by default")
      ->check(number_from(0, 1e6));
  command->add_option("--form", options.form, "How performance and waste are combined")
      ->check(Check::one_of({"sum", "mean", "convex"}))
      ->default_str(std::string(name(RewardBasis{}.form)));
  add_json(*command, options.json);
}

}  // namespace cleave::cli
