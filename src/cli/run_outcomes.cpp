#include "cli/run_outcomes.hpp"

#include <algorithm>
#include <map>
#include <ostream>

#include "base/json.hpp"

namespace cleave::cli {

namespace {

const std::optional<std::string>& user_of(const Workload& workload, const Job& job) {
  static const std::optional<std::string> none;
  const JobDetails* details = workload.details_of(job);
  return details == nullptr ? none : details->user;
}

std::string_view name(JobOutcome::End end) {
  switch (end) {
    case JobOutcome::End::waiting:
      return "waiting";
    case JobOutcome::End::finished:
      return "finished";
    case JobOutcome::End::failed:
      return "failed";
    case JobOutcome::End::rejected:
      break;
  }
  return "rejected";
}

}  // namespace

std::vector<UserEnergy> energy_by_user(const Workload& workload,
                                       const std::vector<JobOutcome>& outcomes) {
  std::map<std::optional<std::string>, UserEnergy> by_user;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (!outcomes[i].energy_j) return {};
    const auto& user = user_of(workload, workload.jobs[i]);
    UserEnergy& of = by_user[user];
    of.user = user;
    ++of.jobs;
    of.energy_j += *outcomes[i].energy_j;
  }
  std::vector<UserEnergy> all;
  for (const auto& [user, of] : by_user) all.push_back(of);
  std::ranges::stable_partition(all, [](const UserEnergy& of) { return of.user.has_value(); });
  return all.size() == 1 && !all.front().user ? std::vector<UserEnergy>() : all;
}

Json to_json(const std::vector<UserEnergy>& by_user) {
  Json all = Json::array();
  for (const UserEnergy& of : by_user)
    all.push_back({{"user", of.user ? Json(*of.user) : Json(nullptr)},
                   {"jobs", of.jobs},
                   {"energy_j", of.energy_j}});
  return all;
}

void write_outcomes(std::ostream& out, const Workload& workload,
                    const std::vector<JobOutcome>& outcomes) {
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const JobOutcome& outcome = outcomes[i];
    Json line = {{"job", workload.jobs[i].id}, {"end", name(outcome.end)}};
    if (const auto& user = user_of(workload, workload.jobs[i])) line["user"] = *user;
    if (outcome.end == JobOutcome::End::finished) {
      line["wait_s"] = in_seconds(outcome.wait);
      line["turnaround_s"] = in_seconds(outcome.turnaround);
      line["execution_s"] = in_seconds(outcome.execution);
    }
    if (outcome.energy_j) line["energy_j"] = *outcome.energy_j;
    if (outcome.predicted) {
      line["predicted_s"] = in_seconds(outcome.predicted->predicted);
      line["seen_s"] = in_seconds(outcome.predicted->seen);
    }
    out << line.dump() << '\n';
  }
}

}  // namespace cleave::cli
