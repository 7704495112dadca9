#include "cli/slurm/slurm_tools.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <random>
#include <thread>

#include "api/documents.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/child_program.hpp"
#include "cli/daemon/claim_client.hpp"
#include "cli/daemon/daemon_client.hpp"
#include "model/profile_set.hpp"

namespace cleave::cli {

namespace {

/// A word that no user knows before the call.
std::string new_mark() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

std::int64_t seconds_of(Instant time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

/// Slurm reads times as local ones.
std::string time_text(Instant time) {
  const std::time_t seconds = seconds_of(time);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &local);
  return text;
}

std::string with_node(std::string text, const std::string& node) {
  for (std::size_t at = text.find("%n"); at != std::string::npos; at = text.find("%n", at))
    text.replace(at, 2, node);
  return text;
}

/// Of an array: `scontrol` refuses to change its nodes.
bool is_element(const std::string& job) {
  return job.contains('_');
}

struct ReportedClaim {
  std::string key;
  std::int64_t gpu = 0, start = 0;
  std::string profile;
};

Result<std::vector<ReportedClaim>> read_claims(const Json& document, const std::string& place) {
  std::optional<Error> error;
  JsonReader in(document, place, error);
  std::vector<ReportedClaim> claims;
  for (JsonReader& claim : in.objects("claims")) {
    const std::string key = claim.text("key");
    for (JsonReader& instance : claim.objects("instances"))
      // One whose GPU is gone takes no room.
      if (const auto gpu = instance.integer_if("gpu", 0, 1'000'000))
        claims.push_back({key, *gpu, instance.integer("start", 0, 1000), instance.text("profile")});
  }
  if (error) return std::unexpected(*error);
  return claims;
}

/// A place of the GPU that is neither free nor a claim: somebody else's, or a job of Cleave's.
bool is_wall(const ApiInstance& instance) {
  return instance.owner != "ours" || instance.held || !instance.jobs.empty() ||
         !instance.processes.empty();
}

}  // namespace

void add_reach(CommandLine& command, SlurmReach& reach) {
  command
      .add_option("--sockets", reach.sockets,
                  "Where each node's daemon listens; %n is the node's name")
      ->default_str("/run/cleave/nodes/%n.sock");
  reach.sockets = "/run/cleave/nodes/%n.sock";
}

Result<std::string> run_tool(const SlurmReach& reach, const std::vector<std::string>& command) {
  std::vector<std::string> words = {"timeout", "-k", "1",
                                    fmt::format("{}", reach.deadline.count())};
  words.insert(words.end(), command.begin(), command.end());
  auto said = run_to_end(words, true);
  if (said) return said;
  return fail(ErrorKind::infeasible, command.front(), said.error().message,
              "is slurmctld running, and is this user allowed to do that?");
}

Result<NodeReport> read_node_report(const std::string& node, const Json& gpus, const Json& claims) {
  const auto read = read_gpus(gpus, node);
  if (!read) return std::unexpected(read.error());
  const auto held = read_claims(claims, node);
  if (!held) return std::unexpected(held.error());
  NodeReport report{node, {}, {}};
  for (const ApiGpu& gpu : *read) {
    const auto model = find_gpu_model(gpu.model);
    if (!model) continue;  // a GPU that no table describes has no counts
    ReportedGpu each{StateGraph::of(**model, ProfileChoice().on(**model)),
                     gpu.index,
                     {},
                     gpu.managed && gpu.mig && !gpu.drained && !gpu.lost && gpu.trouble.empty(),
                     {}};
    const Geometry& geometry = each.graph->geometry();
    PlacementSet claimed;
    for (const ReportedClaim& claim : *held) {
      if (claim.gpu != gpu.index) continue;
      const auto placement = geometry.find(claim.profile, static_cast<int>(claim.start));
      if (!placement) return std::unexpected(placement.error());
      claimed.insert(*placement);
      report.claims.push_back({claim.key, report.gpus.size(), *placement});
    }
    for (const ApiInstance& instance : gpu.instances) {
      const auto placement = geometry.find(instance.profile, static_cast<int>(instance.start));
      if (!placement)
        each.serves = false;  // what is there cannot be told
      else if (!claimed.contains(*placement))
        (is_wall(instance) ? each.walls : each.idle).insert(*placement);
    }
    report.gpus.push_back(std::move(each));
  }
  return report;
}

Result<NodeReport> SlurmTools::ask_daemon(const std::string& node) {
  ApiClient& daemon = *daemons_.at(node);
  const auto gpus = daemon.ask_json("GET", "/v1/gpus");
  if (!gpus) return std::unexpected(gpus.error());
  const auto claims = daemon.ask_json("GET", "/v1/claims");
  if (!claims) return std::unexpected(claims.error());
  return read_node_report(node, *gpus, *claims);
}

/// Sixteen at a time: one that does not answer keeps no other waiting. It has no report then.
void SlurmTools::ask_daemons(SlurmSight& sight) {
  constexpr std::size_t at_a_time = 16;
  std::vector<std::string> nodes;
  for (const SlurmNode& node : sight.nodes) {
    if (node.has.empty() || !node.takes_jobs) continue;
    auto& daemon = daemons_[node.name];
    if (!daemon) {
      ApiClient::Settings settings;
      settings.patience = std::chrono::seconds(2);
      daemon = std::make_unique<ApiClient>(
          std::vector<SocketPlace>{{with_node(reach_.sockets, node.name), true}},
          std::move(settings));
    }
    nodes.push_back(node.name);
  }
  std::vector<std::optional<NodeReport>> reports(nodes.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < nodes.size(); i = next++)
      if (auto report = ask_daemon(nodes[i])) reports[i] = std::move(*report);
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < std::min(at_a_time, nodes.size()); ++i) threads.emplace_back(work);
    work();
  }
  for (std::optional<NodeReport>& report : reports)
    if (report) sight.reports.push_back(std::move(*report));
}

/// Every five seconds: a restart is looked back at for longer.
std::optional<Instant> SlurmTools::ask_begun() {
  const auto now = std::chrono::steady_clock::now();
  if (begun_ && now - asked_ < std::chrono::seconds(5)) return begun_;
  asked_ = now;
  const auto said = run_tool(reach_, {"env", "SLURM_TIME_FORMAT=%s", "scontrol", "show", "config"});
  begun_ = said ? parse_boot_time(*said) : std::nullopt;
  return begun_;
}

Result<SlurmSight> SlurmTools::look() {
  SlurmSight sight;
  const auto nodes =
      run_tool(reach_, {"env", "SLURM_TIME_FORMAT=%s", "scontrol", "-o", "-d", "show", "node"});
  if (!nodes) return std::unexpected(nodes.error());
  auto read_nodes = parse_scontrol_nodes(*nodes);
  if (!read_nodes) return std::unexpected(read_nodes.error());
  sight.nodes = std::move(*read_nodes);
  const std::string mark = new_mark();
  const auto jobs =
      run_tool(reach_, {"env", "SLURM_TIME_FORMAT=%s", "squeue", "-h", "-r", "-a", "-t",
                        "PD,R,CF,CG,S,RQ,RH,RD,ST", "-O", squeue_columns(mark)});
  if (!jobs) return std::unexpected(jobs.error());
  auto read_jobs = parse_squeue(*jobs, mark);
  if (!read_jobs) return std::unexpected(read_jobs.error());
  sight.jobs = std::move(read_jobs->jobs);
  ask_daemons(sight);
  sight.begun = ask_begun();
  return sight;
}

Result<void> SlurmTools::update(const std::vector<std::string>& words) {
  std::vector<std::string> command = {"scontrol", "update"};
  command.insert(command.end(), words.begin(), words.end());
  if (const auto said = run_tool(reach_, command); !said) return std::unexpected(said.error());
  return {};
}

Result<void> SlurmTools::set_counts(const NodeUpdate& update_of) {
  return update({"NodeName=" + update_of.node, "Gres=" + node_gres_text(update_of.counts)});
}

/// The place first: a job must not start before it says where.
Result<void> SlurmTools::release(const ReleasedJob& job) {
  std::vector<std::string> words = {"JobId=" + job.shown};
  if (!is_element(job.shown)) words.push_back("ReqNodeList=" + job.nodes);
  words.push_back("Comment=" + job.comment);
  words.emplace_back("StartTime=now");
  return update(words);
}

Result<void> SlurmTools::gate(const GatedJob& job) {
  std::vector<std::string> words = {fmt::format("JobId={}", job.job),
                                    "ReqNodeList=", "Comment=" + job.comment};
  if (!job.rests) words.push_back("StartTime=" + time_text(slurm_gate));
  const auto gated = update(words);
  if (!gated || !job.held) return gated;
  return unhold(job.job);
}

Result<void> SlurmTools::unhold(std::int64_t job) {
  const auto said = run_tool(reach_, {"scontrol", "release", fmt::format("{}", job)});
  if (!said) return std::unexpected(said.error());
  return {};
}

Result<void> SlurmTools::hurry(std::int64_t job) {
  return update({fmt::format("JobId={}", job), "StartTime=now"});
}

Result<std::vector<AccountedEnd>> SlurmTools::ends(const std::vector<const SlurmJob*>& jobs) {
  std::vector<std::int64_t> numbers;
  for (const SlurmJob* job : jobs) numbers.push_back(job->number);
  const auto said = run_tool(
      reach_, {"env", "SLURM_TIME_FORMAT=%s", "sacct", "-a", "-X", "-D", "-P", "-n", "-j",
               fmt::format("{}", fmt::join(numbers, ",")), "-o", std::string(sacct_end_columns)});
  if (!said) return std::unexpected(said.error());
  return parse_ends(*said);
}

Result<void> SlurmTools::mark_ended(const AccountedEnd& end) {
  std::error_code failed;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failed);
  const auto said = run_tool(reach_, {program.string(), "slurm", "mark-ended",
                                      fmt::format("{}", end.job), fmt::format("{}", end.status)});
  if (!said) return std::unexpected(said.error());
  return {};
}

/// Of all that `scontrol` can say, this alone has a node register without a change of its state,
/// unless it is drained: an administrator may have done that since the look.
Result<void> SlurmTools::ask_to_register(const std::string& node) {
  const auto said = run_tool(reach_, {"scontrol", "-o", "show", "node", node});
  if (!said) return std::unexpected(said.error());
  const auto now = parse_scontrol_nodes(*said);
  if (!now) return std::unexpected(now.error());
  for (const SlurmNode& each : *now)
    if (!each.takes_jobs && !drained_for_a_forgotten_job(each))
      return fail(ErrorKind::infeasible, "node " + node,
                  "it was drained a moment ago, and is not asked which jobs it has");
  return update({"NodeName=" + node, "State=UNDRAIN"});
}

Result<void> SlurmTools::give_back(const ClaimLeft& claim) {
  const auto done = daemons_.at(claim.node)->ask_json("DELETE", claim_target(claim.key));
  if (!done) return std::unexpected(done.error());
  return {};
}

Result<void> SlurmTools::requeue(const std::string& job) {
  if (const auto said = run_tool(reach_, {"scontrol", "requeue", job}); !said)
    return std::unexpected(said.error());
  return {};
}

}  // namespace cleave::cli
