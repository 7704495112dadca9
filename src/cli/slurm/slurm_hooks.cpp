#include "cli/slurm/slurm_hooks.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/format.hpp"
#include "cli/daemon/claim_client.hpp"

namespace cleave::cli {

namespace {

std::string with_node(std::string text, const std::string& node) {
  for (std::size_t at = text.find("%n"); at != std::string::npos;
       at = text.find("%n", at + node.size()))
    text.replace(at, 2, node);
  return text;
}

std::filesystem::path note_path(const HookOptions& options, const HookJob& job) {
  return std::filesystem::path(options.folder) / note_name(job.node, job.number);
}

}  // namespace

void add_hook_options(CommandLine& command, HookOptions& options) {
  command.add_option("--socket", options.socket,
                     "Where the node's daemon listens; %n is the node's name. By default where "
                     "other commands look for it");
  command
      .add_option("--notes", options.folder,
                  "Folder in which the prolog leaves for the tasks what they are to see")
      ->default_str("/run/cleave/slurm");
}

HookOptions on_node(HookOptions options, const std::string& node) {
  options.socket = with_node(std::move(options.socket), node);
  options.folder = with_node(std::move(options.folder), node);
  return options;
}

Result<HookJob> hook_job() {
  return read_hook_job([](const char* name) { return std::getenv(name); });
}

Result<std::string> ask_slurm(const std::vector<std::string>& command) {
  return run_tool(SlurmReach{}, command);
}

Result<SlurmJob> look_up_job(std::int64_t job) {
  const std::string mark = fmt::format("cleave-{}-{}", job, ::getpid());
  const auto said = ask_slurm({"env", "SLURM_TIME_FORMAT=%s", "squeue", "-h", "-r", "-j",
                               fmt::format("{}", job), "-t", "all", "-O", squeue_columns(mark)});
  if (!said) return std::unexpected(said.error());
  const auto read = parse_squeue(*said, mark);
  if (!read) return std::unexpected(read.error());
  for (const SlurmJob& each : read->jobs)
    if (each.number == job) return each;
  return fail(ErrorKind::infeasible, "squeue", fmt::format("Slurm does not have job {}", job));
}

Result<SlurmJob> look_up_patiently(std::int64_t number, std::chrono::seconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (true) {
    auto job = look_up_job(number);
    if (job || std::chrono::steady_clock::now() >= until) return job;
    // Where squeue answers again, it knows better now, or Slurm does not have the job.
    if (ask_slurm({"squeue", "-h", "-o", "%i", "-n", "none"})) return look_up_job(number);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
}

bool is_batch(std::int64_t job) {
  const auto said = ask_slurm({"squeue", "-h", "-j", fmt::format("{}", job), "-O", "BatchFlag"});
  if (!said) return false;
  const auto flags = parse_job_numbers(*said);
  return !flags.empty() && flags.front() > 0;  // it grows with each time that it is put back
}

bool put_back(const SlurmJob& job) {
  for (int attempt = 0; attempt < 60; ++attempt) {
    if (ask_slurm({"scontrol", "requeue", job.shown})) return true;
    const auto found = look_up_job(job.number);
    if (found && found->state != SlurmJobState::running) return true;
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  return false;
}

Result<void> write_note(const HookOptions& options, const HookJob& job, const HookNote& note) {
  std::error_code ignored;
  std::filesystem::create_directories(options.folder, ignored);
  const std::filesystem::path path = note_path(options, job);
  const std::string fresh = fmt::format("{}.{}.new", path.string(), ::getpid());
  std::ofstream file(fresh, std::ios::binary | std::ios::trunc);
  file << note_text(note);
  file.close();
  ::chmod(fresh.c_str(), 0644);
  if (file && ::rename(fresh.c_str(), path.c_str()) == 0) return {};
  ::unlink(fresh.c_str());
  return fail(ErrorKind::infeasible, path.string(), "the note for the tasks cannot be written",
              "can root write there?");
}

std::optional<HookNote> read_note(const HookOptions& options, const HookJob& job) {
  std::ifstream file(note_path(options, job), std::ios::binary);
  if (!file) return std::nullopt;
  std::stringstream text;
  text << file.rdbuf();
  return parse_note(text.str());
}

std::optional<Duration> note_age(const HookOptions& options, const HookJob& job) {
  std::error_code failed;
  const auto time = std::filesystem::last_write_time(note_path(options, job), failed);
  if (failed) return std::nullopt;
  return std::chrono::duration_cast<Duration>(std::filesystem::file_time_type::clock::now() - time);
}

void remove_note(const HookOptions& options, const HookJob& job) {
  std::error_code ignored;
  std::filesystem::remove(note_path(options, job), ignored);
}

Result<std::size_t> release_left_over(ApiClient& daemon, const HookOptions& options,
                                      const std::string& node) {
  const auto claims = list_claims(daemon);
  if (!claims) return std::unexpected(claims.error());
  std::vector<std::string> keys;
  for (const ApiClaim& each : *claims) keys.push_back(each.key);
  const auto said = ask_slurm({"squeue", "-h", "-r", "-w", node, "-O", "JobID"});
  if (!said) return std::unexpected(said.error());
  const std::vector<std::string> left = claims_left_over(keys, parse_job_numbers(*said));
  for (const std::string& key : left) {
    if (const auto released = release_claim(daemon, key, {}); !released)
      return std::unexpected(released.error());
    if (const auto number = job_of_claim(key)) remove_note(options, {*number, -1, {}, node});
  }
  return left.size();
}

Result<int> never_failing(const char* hook, const Result<void>& done) {
  if (!done) fmt::print(stderr, "cleave slurm {}: {}\n", hook, done.error().text());
  return 0;
}

}  // namespace cleave::cli
