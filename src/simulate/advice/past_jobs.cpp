#include "simulate/advice/past_jobs.hpp"

#include <algorithm>
#include <map>

#include "base/format.hpp"
#include "base/text.hpp"
#include "model/profile_set.hpp"
#include "model/speed_table.hpp"

namespace cleave {

namespace {

/// Where a profile of this name is found: on the fleet's models first.
RanOn place_of(const FleetFile& fleet, std::string_view name) {
  const auto on = [&](const GpuModel& model) -> RanOn {
    for (const Profile& profile : model.profiles)
      if (means_profile(name, model, profile)) return {&model, &profile};
    return {};
  };
  for (const Geometry& geometry : fleet.geometries)
    if (const RanOn found = on(geometry.model()); found.profile != nullptr) return found;
  for (const GpuModel& model : gpu_models())
    if (const RanOn found = on(model); found.profile != nullptr) return found;
  return {};
}

bool fleet_has(const FleetFile& fleet, const RanOn& place) {
  return std::ranges::any_of(
      fleet.geometries, [&](const Geometry& geometry) { return &geometry.model() == place.model; });
}

/// The profile, or on a fleet without it a size like it.
std::optional<Request> for_place(const FleetFile& fleet, const RanOn& place) {
  if (place.profile == nullptr) return std::nullopt;
  if (fleet_has(fleet, place)) return Request{ByProfile{std::string(place.profile->name)}, {}};
  if (!place.profile->usable) return std::nullopt;
  return Request{BySize{*place.profile->usable, {}}, {}};
}

/// The number before " MiB" at the beginning.
std::optional<MiB> leading_mib(std::string_view words) {
  const std::size_t unit = words.find(" MiB");
  if (unit == std::string_view::npos) return std::nullopt;
  const auto number = parse_integer(words.substr(0, unit));
  if (!number || *number < 1) return std::nullopt;
  return MiB{*number};
}

/// What one place is asked to be: without "4 x " before and " on one node" behind.
std::string_view one_place(std::string_view asks) {
  const std::size_t times = asks.find(" x ");
  if (times != std::string_view::npos && parse_integer(asks.substr(0, times)))
    asks.remove_prefix(times + 3);
  for (const std::string_view where : {" on one GPU", " on one node", " on different GPUs"})
    if (const std::size_t at = asks.find(where); at != std::string_view::npos)
      asks = asks.substr(0, at);
  return asks;
}

Together together_of(std::string_view asks) {
  for (const Together together : {Together::gpu, Together::node, Together::spread})
    if (asks.contains(in_words(together))) return together;
  return Together::anywhere;
}

/// What the words of text(Request) mean; nothing where they ask for no size.
std::optional<Request> asked_request(const FleetFile& fleet, std::string_view asks) {
  constexpr std::string_view found_to_need = ", found to need ";
  std::optional<MiB> at_least;
  if (const std::size_t at = asks.find(found_to_need); at != std::string_view::npos) {
    at_least = leading_mib(asks.substr(at + found_to_need.size()));
    asks = asks.substr(0, at);
  }
  const std::string_view one = one_place(asks);
  std::optional<Request> request;
  if (one == "a whole GPU" || asks.contains(" whole GPUs")) {
    request = Request{WholeGpu{}, {}};
  } else if (const auto memory = leading_mib(one)) {
    ComputeSlices compute{};
    if (const std::size_t with = one.find(" with "); with != std::string_view::npos) {
      const std::string_view slices = one.substr(with + 6);
      compute = ComputeSlices{
          static_cast<int>(parse_integer(slices.substr(0, slices.find(' '))).value_or(0))};
    }
    request = Request{BySize{*memory, compute}, {}};
    constexpr std::string_view of_which = ", of which ";
    if (const std::size_t at = one.find(of_which); at != std::string_view::npos)
      request->offload = leading_mib(one.substr(at + of_which.size()));
  } else if (one == "nothing" && at_least) {
    return Request{BySize{*at_least, {}}, {}};
  } else {
    request = for_place(fleet, place_of(fleet, one));
  }
  if (request && !std::holds_alternative<WholeGpu>(request->wanted)) request->at_least = at_least;
  return request;
}

/// Reads one job after another.
class PastReader {
 public:
  explicit PastReader(const FleetFile& fleet) : fleet_(fleet) {}

  void read(const PastJob& past) {
    ++result_.workload.read;
    if (!past.batch) return leave_out("is a service or lease");
    if (!past.submitted || !past.started || !past.ended || *past.ended <= *past.started)
      return leave_out(past.ended ? "never ran" : "has not ended");
    const RanOn ran_on = where(past);
    Job job;
    job.id = past.name.empty() ? fmt::format("job-{}", past.number)
                               : fmt::format("{}-{}", past.name, past.number);
    job.arrival = *past.submitted;
    job.duration = *past.ended - *past.started;
    job.request = result_.workload.intern(request_of(past, ran_on));
    job.speed = result_.workload.intern(SpeedModel{});
    kept_.push_back(&past);
    result_.workload.jobs.push_back(std::move(job));
    result_.ran_on.push_back(ran_on);
    result_.seen.push_back({*past.started - *past.submitted, *past.ended - *past.submitted,
                            past.peak, past.ran_on.value_or(""), past.state});
  }

  PastWorkload finish() && {
    note_numbers();
    for (std::size_t i = 0; i < kept_.size(); ++i)
      result_.workload.jobs[i].details = details_of(*kept_[i]);
    for (const auto& [reason, count] : left_out_)
      result_.workload.left_out.push_back({.reason = reason, .count = count, .gpu_hours = 0});
    return std::move(result_);
  }

 private:
  void leave_out(std::string_view reason) { ++left_out_[std::string(reason)]; }

  RanOn where(const PastJob& past) {
    if (past.ran_on == mig_off) return {};
    const RanOn found = past.ran_on ? place_of(fleet_, *past.ran_on) : RanOn{};
    if (found.profile == nullptr) ++result_.sizes.nowhere;
    return found;
  }

  Request request_of(const PastJob& past, const RanOn& ran_on) {
    auto request = asked_request(fleet_, past.asks);
    if (!request && past.peak && past.peak->value > 0) {
      ++result_.sizes.by_peak;
      request = Request{BySize{*past.peak, {}}, {}};
    }
    if (!request) {
      ++result_.sizes.by_place;
      request = for_place(fleet_, ran_on).value_or(Request{Unknown{}, {}});
    }
    request->places = static_cast<std::uint32_t>(past.places);
    request->together = past.places > 1 ? together_of(past.asks) : Together::anywhere;
    return *request;
  }

  void note_numbers() {
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      by_number_[kept_[i]->number] = i;
      if (const std::string word = task_of(*kept_[i]); !word.empty()) ++tasks_[word];
    }
  }

  /// A word for the jobs of which only some run at a time, or that are of one array.
  static std::string task_of(const PastJob& past) {
    const auto& task = past.task;
    if (task && (task->at_once > 0 || !past.at_once)) return fmt::format("array-{}", task->job);
    return past.at_once ? fmt::format("request-{}", past.at_once->first) : std::string();
  }

  static std::int64_t most_at_once(const PastJob& past) {
    if (past.task && past.task->at_once > 0) return past.task->at_once;
    return past.at_once ? past.at_once->most : 0;
  }

  /// An array by its word if all that is known of it is meant.
  void add_awaited(const PastJob& past, const Dependency& dependency, StartTerms& start,
                   bool& elsewhere) const {
    std::vector<std::size_t> meant;
    for (auto at = by_number_.lower_bound(dependency.first);
         at != by_number_.end() && at->first <= dependency.last; ++at)
      if (kept_[at->second]->user == past.user && kept_[at->second] != &past)
        meant.push_back(at->second);
    elsewhere = elsewhere || meant.empty();
    if (meant.empty()) return;
    const std::string word = task_of(*kept_[meant.front()]);
    const auto of_word = [&](std::size_t job) { return task_of(*kept_[job]) == word; };
    if (meant.size() > 1 && !word.empty() && tasks_.at(word) == meant.size() &&
        std::ranges::all_of(meant, of_word)) {
      start.after.push_back("any:" + word);
      return;
    }
    for (const std::size_t job : meant)
      start.after.push_back("any:" + result_.workload.jobs[job].id);
  }

  StartTerms start_of(const PastJob& past) {
    StartTerms start;
    bool elsewhere = false;
    for (const Dependency& each : past.after) add_awaited(past, each, start, elsewhere);
    start.task_of = task_of(past);
    start.at_once = most_at_once(past);
    result_.order.after += start.after.empty() ? 0 : 1;
    result_.order.elsewhere += elsewhere ? 1 : 0;
    result_.order.at_once += start.at_once > 0 ? 1 : 0;
    return start;
  }

  std::uint32_t details_of(const PastJob& past) {
    const StartTerms start = start_of(past);
    const auto [at, fresh] = details_.try_emplace(
        {past.application, past.user, past.priority, start.after, start.task_of},
        static_cast<std::uint32_t>(result_.workload.details.size()));
    if (fresh) {
      JobDetails& details = result_.workload.details.emplace_back();
      if (!past.application.empty()) details.application = past.application;
      if (!past.user.empty()) details.user = past.user;
      details.priority = past.priority;
      details.start = start;
    }
    return at->second;
  }

  const FleetFile& fleet_;
  PastWorkload result_;
  std::map<std::string, std::size_t> left_out_;
  std::vector<const PastJob*> kept_;               // by job of the workload
  std::map<std::int64_t, std::size_t> by_number_;  // jobs of the workload
  std::map<std::string, std::size_t> tasks_;       // how many jobs are of this word
  std::map<
      std::tuple<std::string, std::string, std::int64_t, std::vector<std::string>, std::string>,
      std::uint32_t>
      details_;
};

}  // namespace

Result<PastWorkload> past_workload(std::span<const PastJob> jobs, const FleetFile& fleet) {
  std::vector<PastJob> by_arrival(jobs.begin(), jobs.end());
  std::ranges::stable_sort(by_arrival, {}, [](const PastJob& job) {
    return std::pair(job.submitted.value_or(Instant{}), job.number);
  });
  PastReader reader(fleet);
  for (const PastJob& job : by_arrival) reader.read(job);
  PastWorkload past = std::move(reader).finish();
  if (past.workload.jobs.empty())
    return fail(ErrorKind::bad_input, "the history", "no job in it has run and ended",
                "`cleave ps --all --json` prints the jobs of a daemon with those that have ended");
  const Duration first = past.workload.jobs.front().arrival.time_since_epoch();
  for (Job& job : past.workload.jobs) job.arrival -= first;
  return past;
}

}  // namespace cleave
