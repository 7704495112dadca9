#include "cli/daemon/job_columns.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "base/format.hpp"
#include "base/human_size.hpp"
#include "base/terminal.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "cli/daemon/job_text.hpp"
#include "cli/table.hpp"

namespace cleave::cli {

namespace {

struct JobColumn {
  std::string_view name;
  std::string (*text)(const ApiJob& job, Instant now);
  enum class Usual : std::uint8_t {
    no,
    yes,
    told,     // where it says something of any job
    of_user,  // where jobs of several users may be listed
  } usual = Usual::no;
};

std::string name_of(const ApiJob& job, Instant) {
  return visible(job.name);
}
std::string array_of(const ApiJob& job, Instant) {
  return job.array ? in_short(*job.array) : "";
}
std::string user_of(const ApiJob& job, Instant) {
  return job.user.empty() ? fmt::format("{}", job.uid) : visible(job.user);
}
/// "running", "running (service, 2 of 3 up)", "running (lease, idle for 12 min 05 s)"
std::string state_of(const ApiJob& job, Instant now) {
  std::string more;
  if (job.replicas && !job.is_over())
    more = fmt::format("{}, {} of {} up", visible(job.kind), job.up.value_or(0), *job.replicas);
  else if (job.kind != "batch")
    more = visible(job.kind);
  if (job.idle_since)
    more += fmt::format(", idle for {}", human(std::max(now - *job.idle_since, Duration{})));
  return more.empty() ? visible(job.state) : fmt::format("{} ({})", visible(job.state), more);
}
/// Of a job that has ended, the profile it had last.
std::string where_of(const ApiJob& job, Instant) {
  if (job.instance || !job.is_over() || !job.ran_on) return where_text(job);
  return *job.ran_on == "none" ? "(a whole GPU)" : fmt::format("({})", visible(*job.ran_on));
}
std::string asks_of(const ApiJob& job, Instant) {
  // A job that asks for nothing starts on the smallest instance.
  return job.asks_now == "nothing" ? "-" : visible(with_human_sizes(job.asks_now));
}
std::string memory_of(const ApiJob& job, Instant) {
  return job.memory ? memory_cell(*job.memory) : "";
}
std::string energy_of(const ApiJob& job, Instant) {
  return job.energy ? fmt::format("{:.1f} kJ", *job.energy / 1000) : "-";
}
std::string why_of(const ApiJob& job, Instant) {
  const std::string code =
      job.is_over() ? exit_code_text(job.exit_code, job.reason) : std::string();
  const std::string reason = visible(with_human_sizes(job.reason));
  if (code.empty() || reason.empty()) return code.empty() ? reason : code;
  return fmt::format("{}, {}", reason, code);
}
std::string time_or_dash(const std::optional<Instant>& time) {
  return time ? local_time(*time) : "-";
}

using Usual = JobColumn::Usual;
constexpr JobColumn all_columns[] = {
    {"job", [](const ApiJob& job, Instant) { return fmt::format("{}", job.id); }, Usual::yes},
    {"array", array_of, Usual::told},
    {"name", name_of, Usual::told},
    {"user", user_of, Usual::of_user},
    {"state", state_of, Usual::yes},
    {"where", where_of, Usual::yes},
    {"memory", memory_of, Usual::told},
    {"asks", asks_of, Usual::yes},
    {"time", time_text, Usual::yes},
    {"why", why_of, Usual::yes},
    {"exit", [](const ApiJob& job,
                Instant) { return job.exit_code ? fmt::format("{}", *job.exit_code) : "-"; }},
    {"kind", [](const ApiJob& job, Instant) { return visible(job.kind); }},
    {"priority", [](const ApiJob& job, Instant) { return fmt::format("{}", job.priority); }},
    {"attempts", [](const ApiJob& job, Instant) { return fmt::format("{}", job.attempts); }},
    {"submitted", [](const ApiJob& job, Instant) { return time_or_dash(job.submitted_at); }},
    {"started", [](const ApiJob& job, Instant) { return time_or_dash(job.started_at); }},
    {"ended", [](const ApiJob& job, Instant) { return time_or_dash(job.ended_at); }},
    {"expected", [](const ApiJob& job, Instant) { return time_or_dash(job.expected_end_at); }},
    {"application",
     [](const ApiJob& job, Instant) { return visible(job.application.value_or("-")); }},
    {"energy", energy_of},
};

std::vector<const JobColumn*> columns_of(std::span<const ApiJob> jobs, const JobsView& view) {
  std::vector<const JobColumn*> chosen;
  for (const std::string& name : view.columns)
    chosen.push_back(std::ranges::find(all_columns, name, &JobColumn::name));
  if (!chosen.empty()) return chosen;
  for (const JobColumn& each : all_columns) {
    const auto says = [&](const ApiJob& job) { return !each.text(job, view.now).empty(); };
    if (each.usual == Usual::yes || (each.usual == Usual::of_user && view.with_user) ||
        (each.usual == Usual::told && std::ranges::any_of(jobs, says)))
      chosen.push_back(&each);
  }
  return chosen;
}

/// A line of the table: one job, or several of an array that wait.
struct JobLine {
  const ApiJob* job = nullptr;              // the first of them
  std::vector<std::int64_t> more, indices;  // numbers and indices of all; empty: it is one

  [[nodiscard]] std::string text(const JobColumn& column, Instant now) const {
    if (more.empty()) return column.text(*job, now);
    if (column.name == "job") return index_list(more);
    if (column.name == "state") return fmt::format("{} wait", more.size());
    if (column.name == "array") return fmt::format("{}_{}", job->array->job, index_list(indices));
    return column.text(*job, now);
  }
};

/// Jobs that wait for the same reason have the same one, but for how many are before them.
std::string without_numbers(const std::string& reason) {
  std::string text;
  std::ranges::copy_if(reason, std::back_inserter(text), [](char c) { return c < '0' || c > '9'; });
  return text;
}

/// The jobs are in the order in which they are listed.
std::vector<JobLine> lines_of(std::span<const ApiJob> jobs, bool gathered) {
  std::vector<JobLine> lines;
  // The line of an array's jobs that wait for one reason.
  std::map<std::pair<std::int64_t, std::string>, std::size_t> waiting;
  for (const ApiJob& job : jobs) {
    if (!gathered || !job.array || job.state != "queued") {
      lines.push_back({&job, {}, {}});
      continue;
    }
    const auto [known, fresh] =
        waiting.try_emplace({job.array->job, without_numbers(job.reason)}, lines.size());
    if (fresh) {
      lines.push_back({&job, {}, {}});
      continue;
    }
    JobLine& line = lines[known->second];
    if (line.more.empty()) {
      line.more.push_back(line.job->id);
      line.indices.push_back(line.job->array->index);
    }
    line.more.push_back(job.id);
    line.indices.push_back(job.array->index);
  }
  for (JobLine& line : lines) {
    std::ranges::sort(line.more);
    std::ranges::sort(line.indices);
  }
  return lines;
}

/// The table's rows, the header first; no cell of what users write is longer than `longest`, 0:
/// none is cut.
std::vector<std::string> table_lines(std::span<const JobLine> jobs,
                                     const std::vector<const JobColumn*>& columns, Instant now,
                                     std::size_t longest) {
  std::vector<std::string> header;
  for (const JobColumn* each : columns) header.emplace_back(each->name);
  Table table(header);
  for (const JobLine& line : jobs) {
    std::vector<std::string> row;
    for (const JobColumn* each : columns) {
      const std::string text = line.text(*each, now);
      const bool free = each->name == "name" || each->name == "user" || each->name == "asks" ||
                        each->name == "job" || each->name == "array";
      row.push_back(longest > 0 && free ? cut_to(text, longest) : text);
    }
    table.add(std::move(row));
  }
  // Not trimmed: numbers in the first column stand to the right.
  std::string text = table.text(0);
  text.pop_back();
  std::vector<std::string> lines;
  for (const std::string_view line : split(text, '\n')) lines.emplace_back(line);
  return lines;
}

bool fits(const std::vector<std::string>& lines, std::size_t width) {
  return std::ranges::all_of(
      lines, [&](const std::string& line) { return ::cleave::columns_of(line) <= width; });
}

constexpr std::size_t longest_cell = 24, longest_narrow_cell = 14;

/// The reason of each job below its line.
std::string with_reasons_below(std::span<const JobLine> jobs, std::vector<const JobColumn*> columns,
                               const JobColumn& why, const JobsView& view) {
  constexpr std::string_view indent = "      ";
  std::erase(columns, &why);
  auto lines = table_lines(jobs, columns, view.now, longest_cell);
  if (!fits(lines, view.width)) lines = table_lines(jobs, columns, view.now, longest_narrow_cell);
  std::string text = cut_to(lines.front(), view.width) + "\n";
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    text += cut_to(lines[i + 1], view.width) + "\n";
    const std::string reason = jobs[i].text(why, view.now);
    if (reason.empty()) continue;
    for (const std::string& line : cleave::lines_of(
             reason, std::max<std::size_t>(view.width, indent.size() + 20) - indent.size()))
      text += fmt::format("{}{}\n", indent, line);
  }
  return text;
}

}  // namespace

std::vector<std::string> job_column_names() {
  std::vector<std::string> names;
  for (const JobColumn& each : all_columns) names.emplace_back(each.name);
  return names;
}

Result<std::vector<std::string>> read_job_columns(std::string_view list) {
  std::vector<std::string> columns;
  for (const std::string_view part : split(list, ',')) {
    const std::string_view name = trimmed(part);
    if (std::ranges::find(all_columns, name, &JobColumn::name) == std::end(all_columns))
      return fail(ErrorKind::bad_usage, "--columns",
                  fmt::format("there is no column {}", shown(std::string(name))),
                  fmt::format("there are {}", fmt::join(job_column_names(), ", ")));
    columns.emplace_back(name);
  }
  return columns;
}

std::string jobs_table(std::span<const ApiJob> jobs, const JobsView& view) {
  const std::vector<const JobColumn*> columns = columns_of(jobs, view);
  const std::vector<JobLine> rows = lines_of(jobs, view.gathered);
  const auto lines = table_lines(rows, columns, view.now, view.width > 0 ? longest_cell : 0);
  const bool narrow = view.width > 0 && !fits(lines, view.width);
  if (narrow && columns.size() > 1 && columns.back()->name == "why")
    return with_reasons_below(rows, columns, *columns.back(), view);
  std::string text;
  for (const std::string& line : lines)
    text += fmt::format("{}\n", narrow ? cut_to(line, view.width) : line);
  return text;
}

void sort_for_people(std::vector<ApiJob>& jobs) {
  const auto rank = [](const ApiJob& job) {
    const int group = job.is_over() ? 2 : job.state == "queued" ? 1 : 0;
    return std::pair(group, group == 2 ? -job.id : job.id);
  };
  std::ranges::sort(jobs, {}, rank);
}

}  // namespace cleave::cli
