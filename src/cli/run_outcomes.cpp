#include "cli/run_outcomes.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <ostream>
#include <system_error>
#include <utility>

#include "base/csv.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

namespace cleave::cli {

namespace {

using Name = std::optional<std::string>;

const Name& name_of(const Workload& workload, const Job& job, Name JobDetails::*member) {
  static const Name none;
  const JobDetails* details = workload.details_of(job);
  return details == nullptr ? none : details->*member;
}
const Name& user_of(const Workload& workload, const Job& job) {
  return name_of(workload, job, &JobDetails::user);
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

std::vector<SliceShare> slices_by(Name JobDetails::*member, const Workload& workload,
                                  const std::vector<JobOutcome>& outcomes) {
  std::map<Name, SliceShare> by_name;
  double sum = 0;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (!outcomes[i].held) return {};
    const Name& name = name_of(workload, workload.jobs[i], member);
    SliceShare& of = by_name[name];
    of.name = name;
    ++of.jobs;
    of.held.compute_s += outcomes[i].held->compute_s;
    of.held.memory_s += outcomes[i].held->memory_s;
    sum += outcomes[i].held->compute_s;
  }
  std::vector<SliceShare> all;
  for (auto& [name, of] : by_name) {
    if (sum > 0) of.share = of.held.compute_s / sum;
    all.push_back(of);
  }
  std::ranges::stable_partition(all, [](const SliceShare& of) { return of.name.has_value(); });
  return all.size() == 1 && !all.front().name ? std::vector<SliceShare>() : all;
}

/// The name of a run's file: the scheduler as it was written, but for what names of files should
/// not have. The number keeps apart what becomes the same.
std::string file_name(const std::string& swept, std::uint64_t seed, std::size_t scheduler,
                      std::string_view text) {
  std::string name = fmt::format("{}seed-{}-{}-", swept, seed, scheduler + 1);
  constexpr std::size_t most = 100;
  for (const char c : text.substr(0, most)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '-' || c == '=';
    name += plain ? c : '_';
  }
  return fmt::format("{}.jsonl", name);
}

/// What is said of one job.
Json outcome_json(const Workload& workload, const Job& job, const JobOutcome& outcome) {
  Json line = Json::object();
  line["job"] = job.id;
  line["end"] = name(outcome.end);
  const JobKind kind = workload.kind_of(job);
  if (kind != JobKind::batch) line["kind"] = words_of_job_kind[static_cast<std::size_t>(kind)];
  if (const auto& user = user_of(workload, job)) line["user"] = *user;
  if (const auto& account = name_of(workload, job, &JobDetails::account))
    line["account"] = *account;
  if (outcome.usable_after) line["usable_after_s"] = in_seconds(*outcome.usable_after);
  if (outcome.promised_after) line["promised_after_s"] = in_seconds(*outcome.promised_after);
  if (outcome.end == JobOutcome::End::finished && kind == JobKind::batch) {
    line["wait_s"] = in_seconds(outcome.wait);
    line["turnaround_s"] = in_seconds(outcome.turnaround);
    line["execution_s"] = in_seconds(outcome.execution);
  }
  if (outcome.slowdown) line["bounded_slowdown"] = *outcome.slowdown;
  line["disruptions"] = outcome.disruptions;
  if (outcome.places > 1) line["places"] = outcome.places;
  if (outcome.held) {
    line["compute_slice_s"] = outcome.held->compute_s;
    line["memory_slice_s"] = outcome.held->memory_s;
  }
  if (outcome.energy_j) line["energy_j"] = *outcome.energy_j;
  if (outcome.predicted) {
    line["predicted_s"] = in_seconds(outcome.predicted->predicted);
    line["seen_s"] = in_seconds(outcome.predicted->seen);
  }
  return line;
}

/// The columns of CSV: every key above.
constexpr const char* csv_keys[] = {"job",
                                    "end",
                                    "kind",
                                    "user",
                                    "account",
                                    "usable_after_s",
                                    "promised_after_s",
                                    "wait_s",
                                    "turnaround_s",
                                    "execution_s",
                                    "bounded_slowdown",
                                    "disruptions",
                                    "places",
                                    "compute_slice_s",
                                    "memory_slice_s",
                                    "energy_j",
                                    "predicted_s",
                                    "seen_s"};

std::string csv_row(const Json& line, const std::optional<RunOfLine>& run) {
  std::string row;
  if (run && !run->option.empty()) row += fmt::format("{},", csv_cell(run->value));
  if (run) row += fmt::format("{},{},", csv_cell(run->scheduler), run->seed);
  for (const char* key : csv_keys) {
    const auto found = line.find(key);
    if (key != csv_keys[0]) row += ',';
    if (found == line.end()) continue;
    row += found->is_string() ? csv_cell(found->get<std::string>()) : found->dump();
  }
  return row + '\n';
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

std::vector<SliceShare> slices_by_user(const Workload& workload,
                                       const std::vector<JobOutcome>& outcomes) {
  return slices_by(&JobDetails::user, workload, outcomes);
}

std::vector<SliceShare> slices_by_account(const Workload& workload,
                                          const std::vector<JobOutcome>& outcomes) {
  return slices_by(&JobDetails::account, workload, outcomes);
}

Json to_json(const std::vector<SliceShare>& shares, const char* key) {
  Json all = Json::array();
  for (const SliceShare& of : shares)
    all.push_back({{key, of.name ? Json(*of.name) : Json(nullptr)},
                   {"jobs", of.jobs},
                   {"compute_slice_s", of.held.compute_s},
                   {"memory_slice_s", of.held.memory_s},
                   {"share", of.share}});
  return all;
}

OutcomeForm form_of(std::string_view path) {
  return path.ends_with(".csv") ? OutcomeForm::csv : OutcomeForm::json_lines;
}

void write_outcomes_header(std::ostream& out, const std::optional<RunOfLine>& run,
                           OutcomeForm form) {
  if (form == OutcomeForm::json_lines) return;
  if (run && !run->option.empty()) out << run->option << ',';
  if (run) out << "scheduler,seed,";
  out << fmt::format("{}\n", fmt::join(csv_keys, ","));
}

void write_outcomes(std::ostream& out, const Workload& workload,
                    const std::vector<JobOutcome>& outcomes, const std::optional<RunOfLine>& run,
                    OutcomeForm form) {
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Json line = outcome_json(workload, workload.jobs[i], outcomes[i]);
    if (form == OutcomeForm::csv) {
      out << csv_row(line, run);
      continue;
    }
    Json of_run = Json::object();
    if (run && !run->option.empty()) of_run[std::string(run->option)] = run->value;
    if (run) of_run.update({{"scheduler", run->scheduler}, {"seed", run->seed}});
    of_run.update(line);
    out << of_run.dump() << '\n';
  }
}

Result<std::unique_ptr<OutcomeFiles>> OutcomeFiles::open(const std::string& path) {
  auto files = std::make_unique<OutcomeFiles>();
  std::error_code error;
  if (path.ends_with('/') || std::filesystem::is_directory(path, error)) {
    std::filesystem::create_directories(path, error);
    if (error)
      return fail(ErrorKind::infeasible, shown(path, 200),
                  fmt::format("the folder cannot be made: {}", error.message()),
                  "name a folder in which files can be written");
    files->folder_ = path;
    return files;
  }
  auto file = WholeFile::open(path);
  if (!file) return std::unexpected(file.error());
  files->file_ = std::move(*file);
  files->form_ = form_of(path);
  return files;
}

void OutcomeFiles::begin(const std::string& option, const std::string& value) {
  option_ = option;
  value_ = value;
}

Result<void> OutcomeFiles::write(std::uint64_t seed, const std::vector<SchedulerSpec>& specs,
                                 const Workload& workload,
                                 const std::vector<std::vector<JobOutcome>>& by_scheduler) {
  for (std::size_t s = 0; s < specs.size(); ++s) {
    const std::string_view text = specs[s].text;
    if (file_ != nullptr) {
      const RunOfLine run{text, seed, option_, value_};
      if (!std::exchange(begun_, true)) write_outcomes_header(file_->stream(), run, form_);
      write_outcomes(file_->stream(), workload, by_scheduler[s], run, form_);
      continue;
    }
    const std::string swept =
        option_.empty() ? std::string() : fmt::format("{}-{}-", option_, value_);
    const auto path = std::filesystem::path(folder_) / file_name(swept, seed, s, text);
    const auto file = WholeFile::open(path.string());
    if (!file) return std::unexpected(file.error());
    write_outcomes((*file)->stream(), workload, by_scheduler[s]);
    if (auto done = (*file)->finish(); !done) return done;
  }
  return {};
}

Result<void> OutcomeFiles::finish() {
  return file_ == nullptr ? Result<void>() : file_->finish();
}

}  // namespace cleave::cli
