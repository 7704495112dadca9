// `cleave slurm setup`: writes what Slurm's configuration needs, or checks one; edits nothing.

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/read_text.hpp"
#include "base/text.hpp"
#include "cli/slurm/slurm_commands.hpp"
#include "slurm/slurm_setup.hpp"

namespace cleave::cli {

namespace fs = std::filesystem;

namespace {

struct SlurmSetupCommandOptions {
  std::string write, conf, nodes, gpus = "4xA100-40GB", mode = "node";
  std::string template_nodes = "cleave-template[1-4]", programs, folder;
  bool check = false, json = false;
};

Result<SlurmSetup> setup_of(const SlurmSetupCommandOptions& options) {
  const std::size_t x = options.gpus.find('x');
  const auto count = x == std::string::npos
                         ? std::nullopt
                         : parse_integer(std::string_view(options.gpus).substr(0, x));
  if (!count || *count < 1 || *count > 64)
    return fail(ErrorKind::bad_usage, "--gpus", "not a number of GPUs and a model",
                "such as 4xA100-40GB: of each node");
  const auto model = find_gpu_model(options.gpus.substr(x + 1));
  if (!model) return fail_at("--gpus", model.error());
  std::error_code failed;
  SlurmSetup setup{options.nodes,
                   *model,
                   *count,
                   options.mode == "cluster" ? SlurmMode::cluster : SlurmMode::node,
                   options.template_nodes,
                   options.programs,
                   options.folder};
  if (setup.programs.empty())
    setup.programs = fs::read_symlink("/proc/self/exe", failed).parent_path();
  if (setup.folder.empty())
    setup.folder = fs::absolute(options.write.empty() ? "." : options.write, failed)
                       .lexically_normal()
                       .string();
  while (setup.folder.size() > 1 && setup.folder.ends_with('/')) setup.folder.pop_back();
  return setup;
}

/// A file with what it includes in its place; what cannot be read is left as it is.
std::string with_includes(const fs::path& path, int depth) {
  const auto text = read_text(path.string());
  if (!text) return {};
  std::string whole;
  for (const std::string_view line : split(*text, '\n')) {
    const std::string_view word = trimmed(line);
    constexpr std::string_view include = "include ";
    if (depth > 0 && lowercase(word).starts_with(include)) {
      const fs::path other(std::string(trimmed(word.substr(include.size()))));
      whole += with_includes(other.is_absolute() ? other : path.parent_path() / other, depth - 1);
    } else {
      whole += fmt::format("{}\n", line);
    }
  }
  return whole;
}

Result<int> write_files(const SlurmSetupCommandOptions& options, const SlurmSetup& setup) {
  std::error_code failed;
  fs::create_directories(options.write, failed);
  if (failed) return fail(ErrorKind::bad_input, options.write, failed.message());
  for (const SetupFile& file : setup_files(setup)) {
    const std::string path = (fs::path(options.write) / file.name).string();
    if (const auto written = write_whole(path, file.text); !written)
      return std::unexpected(written.error());
    if (file.program) ::chmod(path.c_str(), 0755);
    fmt::print("{}\n", path);
  }
  fmt::print(
      "\nNothing of Slurm's was changed. Merge the two *.add files into slurm.conf and "
      "gres.conf,\nput job_submit.lua beside them, and then: cleave slurm setup --check\n");
  return 0;
}

constexpr std::string_view state_words[] = {"ok", "missing", "differs", "note"};

Result<int> check(const SlurmSetupCommandOptions& options, const SlurmSetup& setup) {
  std::string conf = options.conf;
  if (const char* given = std::getenv("SLURM_CONF"); conf.empty() && given != nullptr) conf = given;
  if (conf.empty()) conf = "/etc/slurm/slurm.conf";
  const auto readable = read_text(conf);
  if (!readable) return std::unexpected(readable.error());
  const fs::path gres = fs::path(conf).parent_path() / "gres.conf";
  const auto findings = check_setup(with_includes(conf, 3), with_includes(gres, 3), setup);
  Json list = Json::array();
  bool fine = true;
  for (const SetupFinding& each : findings) {
    const std::string_view state = state_words[static_cast<std::size_t>(each.state)];
    fine = fine &&
           (each.state == SetupFinding::State::fine || each.state == SetupFinding::State::note);
    list.push_back(
        {{"key", each.key}, {"state", state}, {"found", each.found}, {"remedy", each.remedy}});
    if (options.json) continue;
    fmt::print("{:<8} {:<22} {}\n", state, each.key, each.found);
    if (!each.remedy.empty()) fmt::print("         {}\n", each.remedy);
  }
  if (options.json) print(Json{{"file", conf}, {"fine", fine}, {"findings", list}});
  return fine ? 0 : 1;
}

Result<int> setup_command(const SlurmSetupCommandOptions& options) {
  const auto setup = setup_of(options);
  if (!setup) return std::unexpected(setup.error());
  if (options.check) return check(options, *setup);
  if (options.write.empty())
    return fail(ErrorKind::bad_usage, "", "there is nothing to do",
                "give --write FOLDER or --check");
  if (options.nodes.empty())
    return fail(ErrorKind::bad_usage, "--nodes", "the nodes with GPUs are not named",
                "as in slurm.conf: n[1-8]");
  return write_files(options, *setup);
}

}  // namespace

void add_slurm_setup(CommandLine& group, Run& run) {
  const auto [command, options] = add_command(
      group, run, "setup", "Write what Slurm's configuration needs, or check one",
      "cleave slurm setup --write out --nodes n[1-8] --gpus 4xA100-40GB", setup_command);
  command->add_option("--write", options.write, "Write the files into this folder")
      ->check(not_empty());
  command->add_flag("--check", options.check, "Say what an existing configuration has and lacks");
  command->add_option("--conf", options.conf,
                      "With --check: slurm.conf; SLURM_CONF or Debian's by default");
  command->add_option("--nodes", options.nodes, "Nodes with GPUs, as in slurm.conf: n[1-8]");
  command->add_option("--gpus", options.gpus, "GPUs of each node")->default_str("4xA100-40GB");
  command->add_option("--mode", options.mode, "node or cluster: whether jobs wait for Cleave")
      ->check(Check::one_of({"node", "cluster"}))
      ->default_str("node");
  command
      ->add_option("--template", options.template_nodes,
                   "Nodes that have every profile and never run a job")
      ->default_str("cleave-template[1-4]");
  command->add_option("--programs", options.programs,
                      "Where `cleave` is on the nodes; this program's folder by default");
  command->add_option("--folder", options.folder,
                      "Where these files will be on the nodes; that of --write by default");
  add_json(*command, options.json);
}

}  // namespace cleave::cli
