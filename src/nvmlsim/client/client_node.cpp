// Creates and destroys simulated nodes.

#include <errno.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/format.hpp"
#include "base/installation.hpp"
#include "base/json.hpp"
#include "model/nvml_abi.hpp"
#include "nvmlsim/client/client_view.hpp"
#include "nvmlsim/node.hpp"
#include "nvmlsim/sim_node.hpp"

namespace cleave {

namespace {

namespace fs = std::filesystem;

std::string_view numbering_name(InstanceNumbering numbering) {
  switch (numbering) {
    case InstanceNumbering::by_model:
      return "by-model";
    case InstanceNumbering::upper_first:
      return "upper-first";
    case InstanceNumbering::lower_first:
      return "lower-first";
  }
  return "by-model";
}

/// The description of a node for people; programs read the state.
Json description(const SimNodeSpec& spec) {
  Json gpus = Json::array();
  for (const GpuModel* model : spec.gpus) gpus.push_back(std::string(model->key));
  return {{"format", "cleave-sim-node/1"},
          {"gpus", gpus},
          {"instant", spec.instant},
          {"numbering", std::string(numbering_name(spec.numbering))},
          {"mig_enabled", spec.mig_enabled},
          {"check_root", spec.administrator != Administrator::everybody},
          {"seed", spec.seed}};
}

/// Files left by a program that was killed while it created a node here, or of one doing so now.
std::vector<fs::path> unfinished_files(const fs::path& directory) {
  std::vector<fs::path> files;
  std::error_code problem;
  for (fs::directory_iterator at(directory, problem), end; !problem && at != end;
       at.increment(problem))
    if (at->path().filename().string().starts_with(sim::unfinished_prefix))
      files.push_back(at->path());
  return files;
}

bool has_other_files(const fs::path& directory) {
  std::error_code problem;
  for (fs::directory_iterator at(directory, problem), end; !problem && at != end;
       at.increment(problem))
    if (!at->path().filename().string().starts_with(sim::unfinished_prefix)) return true;
  return bool(problem);
}

Result<void> check(const fs::path& directory, const SimNodeSpec& spec) {
  if (spec.gpus.empty() || spec.gpus.size() > static_cast<std::size_t>(most_sim_gpus))
    return fail(
        ErrorKind::bad_input, directory.string(),
        fmt::format("a simulated node has 1 to {} GPUs, not {}", most_sim_gpus, spec.gpus.size()));
  std::error_code problem;
  if (fs::exists(directory / sim::state_file_name, problem) ||
      fs::exists(directory / sim::description_file_name, problem))
    return fail(ErrorKind::bad_input, directory.string(), "there is a simulated node already",
                "destroy it with `cleave sim-node destroy`, or choose another directory");
  if (fs::exists(directory, problem) &&
      (!fs::is_directory(directory, problem) || has_other_files(directory)))
    return fail(ErrorKind::bad_input, directory.string(), "is not an empty directory",
                "choose another");
  fs::create_directories(directory, problem);
  if (problem)
    return fail(ErrorKind::bad_input, directory.string(),
                fmt::format("cannot be made: {}", problem.message()));
  return {};
}

constexpr const char* library_folder = "cleave-nvmlsim";

}  // namespace

std::uint64_t new_sim_seed() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ticks = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  return static_cast<std::uint64_t>(ticks) ^ (static_cast<std::uint64_t>(::getpid()) << 40U);
}

fs::path simulated_library() {
  return installation_prefix() / "lib" / library_folder / nvml::library_name;
}

bool is_simulated_library(const fs::path& file) {
  std::error_code failed;
  return fs::equivalent(file, simulated_library(), failed) ||
         file.parent_path().filename() == library_folder;
}

std::optional<fs::path> sim_node_of_environment() {
  const char* node = std::getenv(sim_node_variable);
  return node == nullptr || *node == 0 ? std::nullopt : std::optional<fs::path>(node);
}

Result<void> create_sim_node(const fs::path& directory, const SimNodeSpec& spec) {
  if (const auto fine = check(directory, spec); !fine) return fine;
  if (const auto made = sim::write_state(directory, spec); !made) return made;
  // Of several programs that create a node here, only the successful one gets here.
  const fs::path file = directory / sim::description_file_name;
  std::ofstream out(file);
  out << description(spec).dump(2) << '\n';
  if (!out.flush()) {
    (void)destroy_sim_node(directory);
    return fail(ErrorKind::bad_input, file.string(), "cannot be written");
  }
  return {};
}

Result<void> set_sim_administrator(const fs::path& directory, Administrator administrator) {
  const auto node = sim::open_living(directory);
  if (!node) return std::unexpected(node.error());
  (*node)->header().administrator = administrator;
  return {};
}

Result<void> destroy_sim_node(const fs::path& directory) {
  const fs::path state = directory / sim::state_file_name;
  const fs::path described = directory / sim::description_file_name;
  std::error_code problem;
  std::vector<fs::path> files = unfinished_files(directory);
  if (!fs::exists(state, problem) && !fs::exists(described, problem) && files.empty())
    return fail(ErrorKind::bad_input, directory.string(), "there is no simulated node");
  // The state file is removed first: a user who may not remove it must not end the node for the
  // others.
  auto node = sim::Node::open(directory);
  if (::unlink(state.c_str()) != 0 && errno != ENOENT)
    return fail(ErrorKind::bad_input, state.string(),
                fmt::format("cannot be removed: {}", std::strerror(errno)),
                "run it as the user who made the node");
  if (node) {
    sim::NodeHeader& header = (*node)->header();
    header.alive.store(0);
    (*node)->report_event(most_sim_gpus, {});  // of no GPU: wakes all that wait
  }
  files.push_back(described);
  for (const fs::path& file : files)
    if (::unlink(file.c_str()) != 0 && errno != ENOENT)
      return fail(ErrorKind::bad_input, file.string(),
                  fmt::format("cannot be removed: {}", std::strerror(errno)));
  ::rmdir(directory.c_str());  // fails, and keeps it, if something else is in it
  return {};
}

}  // namespace cleave
