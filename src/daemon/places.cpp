#include <unistd.h>

#include <cstdlib>

#include "base/format.hpp"
#include "base/text.hpp"
#include "daemon/daemon.hpp"
#include "daemon/simulated_node.hpp"
#include "device/nvml_library.hpp"
#include "device/state_directory.hpp"
#include "nvmlsim/sim_node.hpp"

namespace cleave {

namespace fs = std::filesystem;

namespace {

bool is_root() {
  return ::geteuid() == 0;
}

std::optional<fs::path> directory_of_environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value != '/') return std::nullopt;
  return value;
}

/// As root, the environment is not trusted.
std::optional<fs::path> sim_node_of_environment() {
  if (is_root()) return std::nullopt;
  const char* node = std::getenv(sim_node_variable);
  return node == nullptr || *node == 0 ? std::nullopt : std::optional<fs::path>(node);
}

Result<fs::path> place_of_state(const DaemonArguments& arguments,
                                const std::optional<fs::path>& node) {
  StateQuery query = state_query_of_process();
  query.given = arguments.state;
  query.sim_node = node;
  auto state = state_directory(query);
  if (!state) return state;
  std::error_code failed;
  fs::path whole = fs::absolute(*state, failed).lexically_normal();
  // Keeps trials apart from the state of real GPUs.
  if (!arguments.simulate.empty() && !arguments.state) whole /= "simulated";
  return whole;
}

/// Chooses the library and the node behind it, and sets the environment so that it uses that node.
Result<void> choose_library(const DaemonArguments& arguments, const DaemonConfig& config,
                            const std::optional<fs::path>& node, DaemonPlaces& places) {
  const std::string& given = arguments.nvml.empty() ? config.settings.nvml : arguments.nvml;
  const fs::path simulated = own_simulated_library();
  std::error_code failed;
  places.sim_node = node;
  if (!arguments.simulate.empty()) {
    auto own = own_sim_node(places.state, arguments.simulate, arguments.instant);
    if (!own) return std::unexpected(own.error());
    places.sim_node = *own;
  }
  if (!given.empty()) {
    places.library = given;
    const bool is_simulated = fs::equivalent(given, simulated, failed) ||
                              fs::path(given).parent_path().filename() == "cleave-nvmlsim";
    if (!is_simulated && arguments.simulate.empty()) places.sim_node.reset();
  } else if (places.sim_node) {
    if (!fs::exists(simulated, failed))
      return fail(ErrorKind::infeasible, simulated.string(), "the simulated library is not there",
                  "build it, or name one with --nvml");
    places.library = simulated.string();
  } else {
    places.library = nvml::library_name;
  }
  if (places.sim_node)
    ::setenv(sim_node_variable, places.sim_node->c_str(), 1);
  else
    ::unsetenv(sim_node_variable);
  return {};
}

}  // namespace

Result<fs::path> config_place(const DaemonArguments& arguments) {
  if (arguments.config) return *arguments.config;
  if (is_root()) return "/etc/cleave/cleaved.toml";
  if (const auto folder = directory_of_environment("XDG_CONFIG_HOME"))
    return *folder / "cleave/cleaved.toml";
  if (const auto home = directory_of_environment("HOME"))
    return *home / ".config/cleave/cleaved.toml";
  return fs::path();
}

Result<DaemonConfig> load_config(const DaemonArguments& arguments) {
  const auto place = config_place(arguments);
  if (!place) return std::unexpected(place.error());
  std::error_code failed;
  if (!arguments.config && (place->empty() || !fs::exists(*place, failed))) return default_config();
  return read_config(place->string());
}

Result<DaemonPlaces> prepare_places(const DaemonArguments& arguments, const DaemonConfig& config) {
  DaemonPlaces places;
  SocketQuery query = socket_query_of_process();
  query.given = arguments.socket;
  if (is_root()) query.environment.reset();
  const auto socket = daemon_socket(query);
  if (!socket) return std::unexpected(socket.error());
  places.socket = *socket;
  const auto node = arguments.simulate.empty() ? sim_node_of_environment() : std::nullopt;
  const auto state = place_of_state(arguments, node);
  if (!state) return std::unexpected(state.error());
  places.state = *state;
  if (const auto made = make_state_directory(places.state); !made)
    return std::unexpected(made.error());
  if (const auto chosen = choose_library(arguments, config, node, places); !chosen)
    return std::unexpected(chosen.error());
  places.ledger = places.sim_node ? *places.sim_node / "cleave" : places.state;
  if (const auto made = make_state_directory(places.ledger); !made)
    return std::unexpected(made.error());
  const auto file = config_place(arguments);
  if (!file) return std::unexpected(file.error());
  places.config = *file;
  places.config_given = arguments.config.has_value();
  return places;
}

}  // namespace cleave
