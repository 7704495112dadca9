// `cleave reproduce physics`: the laws of src/physics beside measurements that they were not fitted
// to.

#include <algorithm>

#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/columns.hpp"
#include "cli/command.hpp"
#include "study/reproduce/reproduce_physics.hpp"
#include "study/reproduce/score_columns.hpp"

namespace cleave::cli {

namespace {

struct PhysicsCommandOptions {
  std::string data;
  std::uint64_t seed = 1;
  bool json = false;
};

const Columns<FitScore> fit_columns = {{"method", "method", &FitScore::method},
                                       {"cases", "cases", &FitScore::cases},
                                       {"wrong", "wrong", &FitScore::wrong},
                                       {"wrong_fits", "said to fit", &FitScore::wrong_fits},
                                       {"not_known", "not known", &FitScore::not_known}};

const Columns<PhysicsConstant> constant_columns = {
    {"law", "law", &PhysicsConstant::law},
    {"name", "constant", &PhysicsConstant::name},
    {"shipped", "ships", &PhysicsConstant::shipped, decimals(3)},
    {"fitted", "all rows", &PhysicsConstant::fitted, decimals(3)},
    {"least", "held out, least", &PhysicsConstant::least, decimals(3)},
    {"most", "most", &PhysicsConstant::most, decimals(3)},
    {"inside", "inside", &PhysicsConstant::inside, yes_or_alarm}};

const Columns<PhysicsRefit> refit_columns = {
    {"check", "check", &PhysicsRefit::check},
    {"model", "model", &PhysicsRefit::model},
    {"times_three", "its predictions, off 3x", &PhysicsRefit::times_three, decimals(6)},
    {"others", "others, off 1x", &PhysicsRefit::others, decimals(6)},
    {"median", "median error", &PhysicsRefit::median, in_percent},
    {"shuffled", "if shuffled", &PhysicsRefit::shuffled, in_percent}};

std::string verdict(const PhysicsCheck& check) {
  if (!check.scored()) return "skipped";
  if (check.id == "hidden") return "no target";
  return check.met() ? "met" : "NOT MET";
}

void print_check(const PhysicsCheck& check) {
  fmt::print("{}  {}: {}\n", check.id, check.what, verdict(check));
  if (!check.missing.empty()) {
    fmt::print("    {}\n\n", check.missing);
    return;
  }
  fmt::print("    known: {}\n    target: {}\n", check.known, text(check.target));
  if (!check.scores.empty()) fmt::print("{}", text_rows(score_columns, check.scores));
  if (!check.fits.empty()) fmt::print("{}", text_rows(fit_columns, check.fits));
  fmt::print("\n");
}

void print_text(const PhysicsReport& report) {
  fmt::print(
      "Errors are |predicted speed / measured speed - 1| in %, on rows that no fit had seen.\n\n");
  for (const PhysicsCheck& check : report.checks) print_check(check);
  print_check(report.hidden);
  if (!report.constants.empty())
    fmt::print(
        "What ships, the same form fitted to all rows, and the range of the held-out fits\n{}\n",
        text_rows(constant_columns, report.constants));
  if (!report.refits.empty())
    fmt::print("One model's rows times 3, and exchanged at random; everything is fitted again\n{}",
               text_rows(refit_columns, report.refits));
}

Json target_json(const PhysicsTarget& target) {
  Json json = Json::object();
  if (target.median) json["median"] = *target.median;
  if (target.p90) json["p90"] = *target.p90;
  if (target.worst) json["worst"] = *target.worst;
  if (target.wrong) json["wrong"] = *target.wrong;
  if (target.wrong_fits) json["wrong_fits"] = *target.wrong_fits;
  if (!target.also.empty()) json["also"] = target.also;
  return json;
}

/// The law's score among the check's own keys, the others by method under `alternatives`.
template <class Row>
void put_scores(Json& json, const Columns<Row>& columns, const std::vector<Row>& rows) {
  Json alternatives = Json::object();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Json scores = json_row(columns, rows[i]);
    const std::string method = scores["method"];
    scores.erase("method");
    if (i == 0)
      json.update(scores);
    else
      alternatives[method] = scores;
  }
  json["alternatives"] = alternatives;
}

void put_check(Json& json, const PhysicsCheck& check) {
  json["what"] = check.what;
  json["known"] = check.known;
  if (check.fits.empty()) {
    put_scores(json, score_columns, check.scores);
  } else {
    put_scores(json, fit_columns, check.fits);
    json["count"] = check.fits.front().cases;
  }
  json["target"] = target_json(check.target);
  json["met"] = check.scored() ? Json(check.met()) : Json(nullptr);
  if (!check.missing.empty()) json["skipped"] = check.missing;
}

/// The scores of a requirement's parts, taken together by method.
std::vector<Score> together(const std::vector<PhysicsCheck>& parts) {
  std::vector<std::vector<Score>> by_method;
  for (const PhysicsCheck& part : parts)
    for (const Score& score : part.scores) {
      auto found = std::ranges::find_if(by_method, [&](const std::vector<Score>& scores) {
        return scores.front().method == score.method;
      });
      if (found == by_method.end()) found = by_method.insert(found, std::vector<Score>());
      found->push_back(score);
    }
  std::vector<Score> all;
  for (const auto& scores : by_method) all.push_back(pooled(scores.front().method, scores));
  return all;
}

/// V1 to V9, one object each; requirements with several parts have them below.
Json requirement_json(const std::vector<PhysicsCheck>& parts) {
  Json json{{"name", parts.front().id}, {"count", 0}, {"median", nullptr}, {"p90", nullptr}};
  if (parts.size() == 1) {
    put_check(json, parts.front());
    return json;
  }
  put_scores(json, score_columns, together(parts));
  json["target"] = "that of every part";
  json["met"] = nullptr;
  json["parts"] = Json::array();
  for (const PhysicsCheck& part : parts) {
    if (part.scored()) json["met"] = part.met() && json["met"] != false;
    Json each = Json::object();
    put_check(each, part);
    json["parts"].push_back(each);
  }
  return json;
}

Json report_json(const PhysicsReport& report) {
  Json checks = Json::array();
  for (auto first = report.checks.begin(); first != report.checks.end();) {
    const auto last = std::find_if(first, report.checks.end(), [&](const PhysicsCheck& check) {
      return check.id != first->id;
    });
    checks.push_back(requirement_json({first, last}));
    first = last;
  }
  Json hidden = Json::object();
  put_check(hidden, report.hidden);
  hidden["met"] = nullptr;
  return {{"checks", checks},
          {"hidden", hidden},
          {"constants", json_rows(constant_columns, report.constants)},
          {"refits", json_rows(refit_columns, report.refits)}};
}

Result<int> physics(const PhysicsCommandOptions& options) {
  const auto data = read_physics_data(options.data);
  if (!data) return std::unexpected(data.error());
  const PhysicsReport report = reproduce_physics(*data, options.seed);
  if (options.json)
    print(report_json(report));
  else
    print_text(report);
  return report.all_met() ? 0 : 1;
}

}  // namespace

void add_reproduce_physics(CommandLine& reproduce, Run& run) {
  auto options = std::make_shared<PhysicsCommandOptions>();
  CommandLine* command =
      add_command(reproduce, "physics",
                  "Speed, sharing, memory, costs and energy compared with published measurements",
                  "cleave reproduce physics --data DIR");
  command
      ->add_option("--data", options->data,
                   "Folder with mig-miso-a100-40gb, mig-parvagpu-a100-80gb, "
                   "mig-reconfig-a100-40gb; what is not there is skipped")
      ->required();
  command->add_option("--seed", options->seed, "Seed of what is drawn: profiles, models, mixes")
      ->check(whole_number(0))
      ->default_str("1");
  add_json(*command, options->json);
  command->callback([options, &run] { run = [options] { return physics(*options); }; });
}

}  // namespace cleave::cli
