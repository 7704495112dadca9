#include "checker.hpp"

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "base/json.hpp"

namespace cleave::plans {

namespace {

std::string_view action(const Work& work, const Position& seat) {
  if (!work.now) return "place";
  if (*work.now == seat) return "stay";
  return work.now->gpu == seat.gpu ? "move-within" : "migrate";
}

const Json* find(const Json& object, std::string_view key) {
  const auto at = object.is_object() ? object.find(std::string(key)) : object.end();
  return object.is_object() && at != object.end() ? &*at : nullptr;
}

std::optional<std::string> text_in(const Json& object, std::string_view key) {
  const Json* value = find(object, key);
  return value != nullptr && value->is_string() ? std::optional(value->get<std::string>())
                                                : std::nullopt;
}

std::optional<std::int64_t> integer_in(const Json& object, std::string_view key) {
  const Json* value = find(object, key);
  return value != nullptr && value->is_number_integer() ? std::optional(value->get<std::int64_t>())
                                                        : std::nullopt;
}

class Checker {
 public:
  Checker(const Scene& scene, const Json& plan, std::vector<std::string>& found)
      : scene_(scene), plan_(plan), found_(found), seats_(scene.works.size()) {}

  Seats read_seats() {
    std::vector<int> seen(scene_.works.size(), 0);
    for (const Json& entry : list("placements")) read_placement(entry, seen);
    for (const Json& entry : list("pending")) {
      const auto who =
          entry.is_string() ? std::optional(entry.get<std::string>()) : text_in(entry, "workload");
      if (const auto work = work_named(who, "pending")) ++seen[*work];
    }
    for (std::size_t i = 0; i < seen.size(); ++i)
      if (seen[i] != 1)
        say(fmt::format("'{}' stands {} times in the plan", scene_.works[i].name, seen[i]));
    return seats_;
  }

  void check_objective(const Objectives& values) {
    const Json& entries = list("objective");
    const auto names = objective_names(scene_.task);
    if (entries.size() != names.size()) say(fmt::format("{} objectives", entries.size()));
    bool proven = entries.size() == names.size();
    for (std::size_t i = 0; i < names.size() && i < entries.size(); ++i) {
      if (text_in(entries[i], "name") != std::string(names[i]))
        say(fmt::format("no {} at its place", names[i]));
      const auto value = integer_in(entries[i], "value"), bound = integer_in(entries[i], "bound");
      if (!value || !bound) {
        say(fmt::format("{} without value or bound", names[i]));
        continue;
      }
      if (*value != values[i]) say(fmt::format("{} is {}, not {}", names[i], values[i], *value));
      if (*bound > *value)
        say(fmt::format("{}: the bound {} is above {}", names[i], *bound, *value));
      proven = proven && *bound == *value;
    }
    check_status(proven);
  }

  void check_metrics(const Metrics& expected) {
    const Json* given = find(plan_, "metrics");
    if (given == nullptr) return say("no metrics");
    const std::pair<std::string_view, std::int64_t> counts[] = {
        {"gpus", expected.gpus},
        {"memory_wastage", expected.memory_wastage},
        {"compute_wastage", expected.compute_wastage},
        {"availability", expected.availability},
        {"migration_size", expected.migration_size},
        {"pending_size", expected.pending_size},
        {"sequential_migrations", expected.sequential_migrations}};
    for (const auto& [key, count] : counts)
      if (integer_in(*given, key) != count) say_metric(key, *given, fmt::format("{}", count));
    // Beside the nine metrics.
    if (find(*given, "moved_inside_gpu") != nullptr &&
        integer_in(*given, "moved_inside_gpu") != expected.moved_inside_gpu)
      say_metric("moved_inside_gpu", *given, fmt::format("{}", expected.moved_inside_gpu));
    check_ratio(*given, "memory_utilization", expected.memory_utilization);
    check_ratio(*given, "compute_utilization", expected.compute_utilization);
  }

  void say(std::string what) { found_.push_back(std::move(what)); }

 private:
  const Json& list(std::string_view key) {
    static const Json none = Json::array();
    const Json* value = find(plan_, key);
    if (value != nullptr && value->is_array()) return *value;
    say(fmt::format("no list '{}'", key));
    return none;
  }

  std::optional<std::size_t> work_named(const std::optional<std::string>& who,
                                        std::string_view where) {
    const auto at =
        std::ranges::find_if(scene_.works, [&](const Work& work) { return work.name == who; });
    if (at != scene_.works.end()) return static_cast<std::size_t>(at - scene_.works.begin());
    say(fmt::format("{}: '{}' is no workload of the problem", where, who.value_or("?")));
    return std::nullopt;
  }

  void read_placement(const Json& entry, std::vector<int>& seen) {
    const auto work = work_named(text_in(entry, "workload"), "placements");
    if (!work) return;
    ++seen[*work];
    const std::string& who = scene_.works[*work].name;
    const auto gpu_name = text_in(entry, "gpu"), profile_name = text_in(entry, "profile");
    const auto start = integer_in(entry, "start");
    const auto gpu =
        std::ranges::find_if(scene_.gpus, [&](const Gpu& each) { return each.name == gpu_name; });
    if (gpu == scene_.gpus.end())
      return say(fmt::format("'{}' on '{}', which is no GPU", who, gpu_name.value_or("?")));
    const Profile* profile = gpu->model->find(profile_name.value_or(""));
    if (profile == nullptr || !start || *start < 0 || *start >= Starts::most)
      return say(
          fmt::format("'{}' has a profile or a start that {} does not have", who, gpu->name));
    const Position seat{static_cast<std::size_t>(gpu - scene_.gpus.begin()),
                        {profile, static_cast<int>(*start)}};
    seats_[*work] = seat;
    const std::string_view right = action(scene_.works[*work], seat);
    if (text_in(entry, "action") != std::string(right))
      say(fmt::format("the action of '{}' is not {}", who, right));
  }

  void check_status(bool proven) {
    const auto status = text_in(plan_, "status");
    if (!text_in(plan_, "method")) say("no method");
    if (status != "optimal" && status != "feasible")
      return say(fmt::format("the status is '{}'", status.value_or("?")));
    if (status == "optimal" && !proven) say("called optimal with a bound below its value");
    // A rule may end at the optimum without knowing it.
    if (status == "feasible" && proven && text_in(plan_, "method") == "optimal")
      say("every value equals its bound and it is not called optimal");
  }

  void check_ratio(const Json& given, std::string_view key, Ratio expected) {
    const Json* value = find(given, key);
    if (value != nullptr && value->is_object()) {
      if (text_in(*value, "exact") != expected.exact())
        return say_metric(key, given, expected.exact());
      value = find(*value, "value");
    }
    if (value == nullptr || !value->is_number() ||
        !(std::abs(value->get<double>() - expected.value()) <= 1e-9))
      say_metric(key, given, expected.exact());
  }

  void say_metric(std::string_view key, const Json& given, const std::string& right) {
    const Json* value = find(given, key);
    say(fmt::format("metrics.{} is {}, not {}", key, right,
                    value == nullptr ? "absent" : value->dump()));
  }

  const Scene& scene_;
  const Json& plan_;
  std::vector<std::string>& found_;
  Seats seats_;
};

}  // namespace

Seats read_seats(const Scene& scene, std::string_view plan, std::vector<std::string>& found) {
  const auto document = parse_json(plan, "plan");
  if (document) return Checker(scene, *document, found).read_seats();
  found.push_back(document.error().text());
  return Seats(scene.works.size());
}

std::vector<std::string> check_plan(const Scene& scene, std::string_view plan) {
  const auto document = parse_json(plan, "plan");
  if (!document) return {document.error().text()};
  std::vector<std::string> found;
  Checker checker(scene, *document, found);
  const Seats seats = checker.read_seats();
  for (std::string& fault : faults(scene, seats)) checker.say(std::move(fault));
  checker.check_objective(value(scene, seats));
  checker.check_metrics(metrics(scene, seats));
  return found;
}

std::vector<std::string> check_plan(const Question& question, std::string_view plan) {
  const auto scene = read_scene(question);
  if (!scene) return {scene.error().text()};
  return check_plan(*scene, plan);
}

std::string plan_for(const Scene& scene, const Seats& seats) {
  Json plan = {{"method", "optimal"},
               {"status", "optimal"},
               {"objective", Json::array()},
               {"placements", Json::array()},
               {"pending", Json::array()}};
  const Objectives values = value(scene, seats);
  for (std::size_t i = 0; i < objectives; ++i)
    plan["objective"].push_back(
        {{"name", objective_names(scene.task)[i]}, {"value", values[i]}, {"bound", values[i]}});
  for (std::size_t i = 0; i < seats.size(); ++i) {
    const Work& work = scene.works[i];
    if (!seats[i]) {
      plan["pending"].push_back(work.name);
      continue;
    }
    plan["placements"].push_back({{"workload", work.name},
                                  {"gpu", scene.gpus[seats[i]->gpu].name},
                                  {"profile", seats[i]->instance.profile->name},
                                  {"start", seats[i]->instance.start},
                                  {"action", action(work, *seats[i])}});
  }
  const Metrics figures = metrics(scene, seats);
  plan["metrics"] = {{"gpus", figures.gpus},
                     {"memory_wastage", figures.memory_wastage},
                     {"compute_wastage", figures.compute_wastage},
                     {"availability", figures.availability},
                     {"migration_size", figures.migration_size},
                     {"moved_inside_gpu", figures.moved_inside_gpu},
                     {"pending_size", figures.pending_size},
                     {"sequential_migrations", figures.sequential_migrations},
                     {"memory_utilization", figures.memory_utilization.value()},
                     {"compute_utilization", figures.compute_utilization.value()}};
  return plan.dump(1);
}

}  // namespace cleave::plans
