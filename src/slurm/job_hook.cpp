#include "slurm/job_hook.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "slurm/place_mark.hpp"

namespace cleave {

namespace {

constexpr std::string_view key_prefix = "slurm:", devices_word = "devices ",
                           refused_word = "refused ", begun_word = "begun ";
constexpr std::size_t longest_comment = 250;
constexpr std::int64_t first_special_step = 0xfffffff0;  // such as SLURM_BATCH_SCRIPT

std::string said_by(const std::function<const char*(const char*)>& variable, const char* name) {
  const char* value = variable(name);
  return value == nullptr ? "" : value;
}

}  // namespace

Result<HookJob> read_hook_job(const std::function<const char*(const char* name)>& variable) {
  HookJob job;
  const auto number = parse_integer(said_by(variable, "SLURM_JOB_ID"));
  if (!number || *number < 1)
    return fail(ErrorKind::bad_input, "SLURM_JOB_ID", "it is not the number of a job",
                "this command is for Slurm to call: as Prolog, Epilog or TaskProlog");
  job.number = *number;
  job.uid = parse_integer(said_by(variable, "SLURM_JOB_UID")).value_or(-1);
  job.user = said_by(variable, "SLURM_JOB_USER");
  const auto step = parse_integer(said_by(variable, "SLURM_STEP_ID"));
  job.is_script = !step || *step >= first_special_step;
  job.node = said_by(variable, "SLURMD_NODENAME");
  // A name with a slash would lead out of the folder of notes.
  if (job.node.empty() || job.node.find('/') != std::string::npos)
    return fail(ErrorKind::bad_input, "SLURMD_NODENAME", "it is not the name of a node",
                "this command is for Slurm to call: as Prolog, Epilog or TaskProlog");
  return job;
}

std::string slurm_claim_key(std::int64_t job) {
  return fmt::format("{}{}", key_prefix, job);
}

std::optional<std::int64_t> job_of_claim(std::string_view key) {
  if (!key.starts_with(key_prefix)) return std::nullopt;
  return parse_integer(key.substr(key_prefix.size()));
}

ClaimOrder claim_order_of(const SlurmJob& job, const HookJob& hook) {
  ClaimOrder order{fmt::format("job {} of {}", job.number,
                               hook.user.empty() ? fmt::format("{}", job.uid) : hook.user),
                   hook.uid >= 0 ? hook.uid : job.uid,
                   {}};
  for (const auto& [profile, count] : job.asks)
    if (count > 0) order.asks.push_back({profile, {}, count, {}, {}});
  const auto mark = parse_mark(job.comment);
  if (!mark || order.asks.size() != 1) return order;
  const auto here = std::ranges::find(mark->nodes, hook.node, &MarkedNode::node);
  if (here == mark->nodes.end() || std::ssize(here->places) != order.asks.front().count)
    return order;
  ClaimAsk each = order.asks.front();
  each.count = 1;
  order.asks.clear();
  for (const MarkedPlace& place : here->places) {
    each.gpu = place.gpu;
    each.start = place.start;
    order.asks.push_back(each);
  }
  return order;
}

std::string note_text(const HookNote& note) {
  if (!note.refused.empty()) return fmt::format("{}{}\n", refused_word, comment_text(note.refused));
  std::string text = fmt::format("{}{}\n", devices_word, note.devices);
  if (note.begun)
    text += fmt::format("{}{}\n", begun_word,
                        std::chrono::floor<std::chrono::seconds>(*note.begun).time_since_epoch() /
                            std::chrono::seconds(1));
  return text;
}

HookNote parse_note(std::string_view text) {
  HookNote note;
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with(devices_word)) note.devices = line.substr(devices_word.size());
    if (line.starts_with(refused_word)) note.refused = line.substr(refused_word.size());
    if (line.starts_with(begun_word)) note.begun = slurm_time(line.substr(begun_word.size()));
  }
  return note;
}

std::string note_name(const std::string& node, std::int64_t job) {
  return fmt::format("{}.{}", node, job);
}

std::string task_prolog_text(const HookNote& note) {
  if (!note.refused.empty()) return fmt::format("print cleave: {}\n", note.refused);
  if (note.devices.empty()) return {};
  return fmt::format("export CUDA_VISIBLE_DEVICES={}\n", note.devices);
}

std::vector<std::string> claims_left_over(const std::vector<std::string>& keys,
                                          const std::vector<std::int64_t>& running) {
  std::vector<std::string> left;
  for (const std::string& key : keys)
    if (const auto job = job_of_claim(key);
        job && std::ranges::find(running, *job) == running.end())
      left.push_back(key);
  return left;
}

std::vector<std::int64_t> parse_job_numbers(std::string_view text) {
  std::vector<std::int64_t> numbers;
  for (const std::string_view line : split(text, '\n'))
    if (const auto number = parse_integer(trimmed(line))) numbers.push_back(*number);
  return numbers;
}

std::string comment_text(std::string_view text) {
  std::string line(text.substr(0, longest_comment));
  for (char& c : line)
    if (c == '\n' || c == '\r' || c == '"' || c == '\'' || c == '|' || c == '\\') c = ' ';
  return line;
}

}  // namespace cleave
