#include <unistd.h>

#include <cstdlib>

#include "base/format.hpp"
#include "base/text.hpp"
#include "daemon/daemon.hpp"
#include "daemon/jobs_place.hpp"
#include "device/nvml_library.hpp"
#include "device/state_directory.hpp"
#include "nvmlsim/sim_node.hpp"

namespace cleave {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view name_state = "or name another directory with --state";

bool is_root() {
  return ::geteuid() == 0;
}

std::optional<fs::path> directory_of_environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value != '/') return std::nullopt;
  return value;
}

Result<void> check_same(const fs::path& node, const std::vector<const GpuModel*>& wanted,
                        bool instant) {
  const auto there = look_at_sim_node(node);
  if (!there) return std::unexpected(there.error());
  std::vector<const GpuModel*> has;
  for (const SimGpuView& gpu : there->gpus) has.push_back(gpu.model);
  if (has == wanted && there->instant == instant) return {};
  const auto names = names_of(has, &GpuModel::key);
  return fail(
      ErrorKind::infeasible, shown(node.string(), 200),
      has == wanted
          ? fmt::format("the existing simulated node was made {} --instant",
                        there->instant ? "with" : "without")
          : fmt::format("the existing simulated node has other GPUs: {}", fmt::join(names, ", ")),
      fmt::format("ask for the same, name another --state, or remove it: `cleave sim-node destroy "
                  "{}`",
                  shown(node.string(), 200)));
}

/// Makes the simulated GPUs of --simulate, in STATE/sim-node, or takes the existing ones if they
/// are the same. Returns the node's directory.
Result<fs::path> own_sim_node(const fs::path& state, const std::string& gpus, bool instant) {
  auto models = parse_sim_gpus(gpus);
  if (!models) {
    models.error().place = "--simulate";
    return std::unexpected(models.error());
  }
  const fs::path node = state / "sim-node";
  std::error_code failed;
  if (fs::exists(node, failed) && !fs::is_empty(node, failed)) {
    if (const auto same = check_same(node, *models, instant); !same)
      return std::unexpected(same.error());
    return node;
  }
  SimNodeSpec spec;
  spec.gpus = std::move(*models);
  spec.instant = instant;
  spec.seed = new_sim_seed();
  if (const auto made = create_sim_node(node, spec); !made) return std::unexpected(made.error());
  return node;
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
  const fs::path simulated = simulated_library();
  std::error_code failed;
  places.sim_node = node;
  if (!arguments.simulate.empty()) {
    auto own = own_sim_node(places.state, arguments.simulate, arguments.instant);
    if (!own) return std::unexpected(own.error());
    places.sim_node = *own;
  }
  if (!given.empty()) {
    places.library = given;
    if (!is_simulated_library(given) && arguments.simulate.empty()) places.sim_node.reset();
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

/// As root, the environment is not trusted.
std::optional<fs::path> given_node(const DaemonArguments& arguments) {
  return arguments.simulate.empty() && !is_root() ? sim_node_of_environment() : std::nullopt;
}

}  // namespace

Result<fs::path> state_place(const DaemonArguments& arguments) {
  return place_of_state(arguments, given_node(arguments));
}

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
  auto sockets = daemon_sockets(query);
  if (!sockets) return std::unexpected(sockets.error());
  places.sockets = std::move(*sockets);
  const auto node = given_node(arguments);
  const auto state = place_of_state(arguments, node);
  if (!state) return std::unexpected(state.error());
  places.state = *state;
  if (const auto made = make_state_directory(places.state); !made)
    return std::unexpected(made.error());
  if (const auto owned = check_owner(places.state, name_state); !owned)
    return std::unexpected(owned.error());
  if (const auto chosen = choose_library(arguments, config, node, places); !chosen)
    return std::unexpected(chosen.error());
  places.ledger = places.sim_node ? *places.sim_node / "cleave" : places.state;
  if (const auto made = make_state_directory(places.ledger); !made)
    return std::unexpected(made.error());
  if (const auto owned = check_owner(places.ledger, name_state); !owned)
    return std::unexpected(owned.error());
  const auto file = config_place(arguments);
  if (!file) return std::unexpected(file.error());
  places.config = *file;
  places.config_given = arguments.config.has_value();
  return places;
}

}  // namespace cleave
