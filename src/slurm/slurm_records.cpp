#include "slurm/slurm_records.hpp"

#include <algorithm>
#include <array>

#include "base/format.hpp"
#include "base/text.hpp"
#include "model/host_list.hpp"

namespace cleave {

namespace {

constexpr std::int64_t most_counted = 1'000'000;

/// "3g.20gb:2(S:0-1)" and "3g.20gb=2" in type and count; without a count it is one.
void add_gres(std::string_view entry, GresCounts& counts) {
  entry = entry.substr(0, entry.find('('));
  const std::size_t cut = entry.find_first_of(":=");
  const std::string_view type = entry.substr(0, cut);
  if (type.empty() || type.front() < '0' || type.front() > '9' || !type.contains('.')) return;
  std::int64_t count = 1;
  if (cut != std::string_view::npos) {
    const auto number = parse_integer(entry.substr(cut + 1));
    if (!number || *number < 0 || *number > most_counted) return;
    count = *number;
  }
  std::int64_t& sum = counts[std::string(type)];
  sum = std::min(sum + count, most_counted);
}

/// The value of a key of `scontrol -o`, up to the next space; empty where there is none. Keys of
/// Slurm's own come first, so that a reason or comment cannot stand for one.
std::string_view value_of(std::string_view line, std::string_view key) {
  for (std::size_t at = line.find(key); at != std::string_view::npos; at = line.find(key, at + 1)) {
    const bool begins = at == 0 || line[at - 1] == ' ';
    const std::size_t value = at + key.size();
    if (begins && value < line.size() && line[value] == '=')
      return line.substr(value + 1, line.find(' ', value) - value - 1);
  }
  return {};
}

/// "Duplicate jobid" of "... Reason=Duplicate jobid [root@1764000000] Comment=x".
std::string reason_of(std::string_view line) {
  constexpr std::string_view key = " Reason=";
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = line.substr(at + key.size());
  return std::string(trimmed(rest.substr(0, rest.find(" ["))));
}

std::int64_t number_of(std::string_view line, std::string_view key) {
  return std::clamp<std::int64_t>(parse_integer(value_of(line, key)).value_or(0), 0, 1LL << 40);
}

/// States in which a node takes no job that waits, as words of "IDLE+DRAIN+NOT_RESPONDING*".
bool takes_jobs(std::string_view state) {
  for (const std::string_view word : {"DOWN", "DRAIN", "FAIL", "MAINT", "NOT_RESPONDING", "INVAL",
                                      "UNKNOWN", "FUTURE", "REBOOT", "POWER"})
    if (state.contains(word)) return false;
  return !state.contains('*');
}

SlurmJobState state_of(std::string_view code) {
  if (code == "PD" || code == "RQ" || code == "RH" || code == "RD" || code == "SE")
    return SlurmJobState::pending;
  if (code == "R" || code == "CF" || code == "S" || code == "ST" || code == "RS" || code == "SI" ||
      code == "SO")
    return SlurmJobState::running;
  return code == "CG" ? SlurmJobState::ending : SlurmJobState::over;
}

/// "(null)" and "N/A" say nothing.
std::string said(std::string_view text) {
  return text == "(null)" || text == "N/A" || text == "n/a" ? std::string() : std::string(text);
}

/// A column of `squeue -O`, and where it goes.
struct JobColumn {
  std::string_view name;
  void (*read)(std::string_view text, SlurmJob& job);
};

std::int64_t whole(std::string_view text) {
  return std::max<std::int64_t>(parse_integer(text).value_or(0), 0);
}

constexpr JobColumn job_columns[] = {
    {"JobID", [](auto text, SlurmJob& job) { job.number = whole(text); }},
    {"ArrayJobID", [](auto text, SlurmJob& job) { job.shown = said(text); }},
    {"ArrayTaskID",
     [](auto text, SlurmJob& job) {
       if (!said(text).empty()) job.shown += fmt::format("_{}", text);
     }},
    {"StateCompact", [](auto text, SlurmJob& job) { job.state = state_of(text); }},
    {"tres-per-node", [](auto text, SlurmJob& job) { job.asks = parse_gres(text); }},
    {"NumNodes",
     [](auto text, SlurmJob& job) {
       job.nodes = std::clamp<std::int64_t>(whole(text), 1, 100000);
     }},
    {"NumCPUs", [](auto text, SlurmJob& job) { job.cpus = whole(text); }},
    {"PriorityLong", [](auto text, SlurmJob& job) { job.priority = whole(text); }},
    {"UserID", [](auto text, SlurmJob& job) { job.uid = whole(text); }},
    {"SubmitTime", [](auto text, SlurmJob& job) { job.submitted = slurm_time(text); }},
    {"StartTime", [](auto text, SlurmJob& job) { job.starts = slurm_time(text); }},
    {"TimeLimit", [](auto text, SlurmJob& job) { job.limit = slurm_duration(text); }},
    {"Reason", [](auto text, SlurmJob& job) { job.reason = said(text); }},
    {"ReqNodes", [](auto text, SlurmJob& job) { job.wanted_nodes = said(text); }},
    {"NodeList", [](auto text, SlurmJob& job) { job.runs_on = said(text); }},
    {"Requeue", [](auto text, SlurmJob& job) { job.requeueable = text == "1"; }},
    {"RestartCnt", [](auto text, SlurmJob& job) { job.restarts = whole(text); }},
    {"Partition", [](auto text, SlurmJob& job) { job.partitions = said(text); }},
    {"Dependency", [](auto text, SlurmJob& job) { job.depends_on = said(text); }},
};

bool read_job(std::string_view record, SlurmJob& job) {
  for (const JobColumn& column : job_columns) {
    const std::size_t cut = record.find('|');
    if (cut == std::string_view::npos) return false;
    column.read(trimmed(record.substr(0, cut)), job);
    record.remove_prefix(cut + 1);
  }
  job.comment = said(record);
  return job.number > 0;
}

}  // namespace

std::optional<Instant> slurm_time(std::string_view text) {
  const auto seconds = parse_integer(text);
  if (!seconds || *seconds <= 0 || *seconds > 1LL << 32) return std::nullopt;
  return Instant(std::chrono::seconds(*seconds));
}

GresCounts parse_gres(std::string_view text) {
  GresCounts counts;
  std::size_t depth = 0, begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')' && depth > 0) --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    std::string_view entry = trimmed(text.substr(begin, i - begin));
    begin = i + 1;
    for (const std::string_view front : {"gres:", "gres/"})
      if (entry.starts_with(front)) entry.remove_prefix(front.size());
    if (!entry.starts_with(gres_name)) continue;
    entry.remove_prefix(gres_name.size());
    if (!entry.starts_with(':')) continue;
    add_gres(entry.substr(1), counts);
  }
  return counts;
}

std::string gres_text(const GresCounts& counts) {
  std::vector<std::string> words;
  for (const auto& [profile, count] : counts)
    words.push_back(fmt::format("{}:{}:{}", gres_name, profile, count));
  return fmt::format("{}", fmt::join(words, ","));
}

std::string node_gres_text(const GresCounts& counts) {
  const std::int64_t uncut = std::max<std::int64_t>(node_total - sum_of(counts), 0);
  return fmt::format("{}{}{}:{}:{}", gres_text(counts), counts.empty() ? "" : ",", gres_name,
                     uncut_type, uncut);
}

std::int64_t count_of(const GresCounts& counts, const std::string& profile) {
  const auto found = counts.find(profile);
  return found == counts.end() ? 0 : found->second;
}

std::int64_t sum_of(const GresCounts& counts) {
  std::int64_t sum = 0;
  for (const auto& [profile, count] : counts) sum += count;
  return sum;
}

std::string squeue_columns(std::string_view mark) {
  std::string columns;
  for (const JobColumn& column : job_columns) columns += fmt::format("{}:|,", column.name);
  return fmt::format("{}Comment:|{}", columns, mark);
}

Result<ReadJobs> parse_squeue(std::string_view text, std::string_view mark) {
  const std::string end = fmt::format("|{}\n", mark);
  ReadJobs read;
  while (!text.empty()) {
    const std::size_t cut = text.find(end);
    if (cut == std::string_view::npos)
      return fail(ErrorKind::bad_input, "squeue", "what it printed ends within a record",
                  "is its -O of the form NAME:SUFFIX, as in Slurm 20.11 and later?");
    SlurmJob job;
    if (read_job(text.substr(0, cut), job))
      read.jobs.push_back(std::move(job));
    else
      ++read.left_out;
    text.remove_prefix(cut + end.size());
  }
  return read;
}

Result<std::vector<SlurmNode>> parse_scontrol_nodes(std::string_view text) {
  std::vector<SlurmNode> nodes;
  for (const std::string_view line : split(text, '\n')) {
    if (trimmed(line).empty()) continue;
    SlurmNode node;
    node.name = value_of(line, "NodeName");
    if (node.name.empty() || !line.starts_with("NodeName="))
      return fail(ErrorKind::bad_input, "scontrol show node",
                  fmt::format("this is not a node: {}", shown(line)),
                  "the controller reads `scontrol -o -d show node`");
    node.has = parse_gres(value_of(line, "Gres"));
    node.used = parse_gres(value_of(line, "GresUsed"));
    node.state = value_of(line, "State");
    node.reason = reason_of(line);
    node.begun = slurm_time(value_of(line, "SlurmdStartTime"));
    node.takes_jobs = takes_jobs(node.state);
    node.partitions = value_of(line, "Partitions");
    node.cpus = number_of(line, "CPUTot");
    node.cpus_used = number_of(line, "CPUAlloc");
    node.memory = MiB{number_of(line, "RealMemory")};
    node.memory_used = MiB{number_of(line, "AllocMem")};
    nodes.push_back(std::move(node));
  }
  return nodes;
}

std::optional<Instant> parse_boot_time(std::string_view config) {
  for (const std::string_view line : split(config, '\n'))
    if (line.starts_with("BOOT_TIME"))
      if (const std::size_t equals = line.find('='); equals != std::string_view::npos)
        return slurm_time(trimmed(line.substr(equals + 1)));
  return std::nullopt;
}

std::vector<std::string> nodes_of_list(std::string_view list) {
  if (said(list).empty()) return {};
  const auto names = expand_hosts(list, "");
  return names ? *names : std::vector<std::string>();
}

bool names(std::string_view list, std::string_view node) {
  const auto all = nodes_of_list(list);
  return std::ranges::find(all, node) != all.end();
}

std::optional<Duration> slurm_duration(std::string_view text) {
  std::int64_t days = 0;
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    const auto number = parse_integer(text.substr(0, dash));
    if (!number || *number < 0 || *number > 36500) return std::nullopt;
    days = *number;
    text.remove_prefix(dash + 1);
  }
  const auto parts = split(text, ':');
  if (parts.size() > 3) return std::nullopt;
  std::int64_t seconds = 0;
  for (const std::string_view part : parts) {
    const auto number = parse_integer(part);
    if (!number || *number < 0 || *number > 1'000'000) return std::nullopt;
    seconds = seconds * 60 + *number;
  }
  if (parts.size() == 1) seconds *= 60;  // minutes alone
  return std::chrono::seconds(std::min<std::int64_t>(days * 86400 + seconds, 36500LL * 86400));
}

}  // namespace cleave
