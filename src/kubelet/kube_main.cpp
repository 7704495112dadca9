// The program `cleave-kube`: GPU instances for pods, as a driver of Kubernetes' dynamic resource
// allocation. `node` runs on each node, beside the daemon; `doctor` says what is missing.

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>

#include "api/socket_place.hpp"
#include "base/format.hpp"
#include "base/human_time.hpp"
#include "base/json.hpp"
#include "base/time.hpp"
#include "kube/device_classes.hpp"
#include "kubecontrol/kube_controller.hpp"
#include "kubelet/kubelet_plugin.hpp"
#include "kubenode/daemon_door.hpp"
#include "kubenode/host_door.hpp"
#include "kubenode/kube_doctor.hpp"
#include "kubenode/kube_targets.hpp"
#include "kubenode/rest_door.hpp"
#include "manual/command_line.hpp"
#include "manual/completion.hpp"
#include "manual/manual.hpp"

namespace cleave {

namespace {

using std::chrono::milliseconds;

struct KubeOptions {
  std::string command;
  KubeServerOptions server;
  std::string socket, node;
  std::string kubelet_root = "/var/lib/kubelet", cdi = "/var/run/cdi", driver_root = "/", sim_node;
  bool no_evict = false, man = false, dry_run = false, json = false;
  std::string space = "cleave-system", when_waiting = "30s", profile, order = "policy";
  std::string completion;
};

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

/// Lines of several threads, each with its time.
void say(const std::string& line) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  fmt::print(stderr, "cleave-kube: {}\n", line);
}

std::string node_name(const KubeOptions& options) {
  if (!options.node.empty()) return options.node;
  if (const auto name = environment("NODE_NAME")) return *name;
  std::array<char, 256> host{};
  return ::gethostname(host.data(), host.size() - 1) == 0 ? host.data() : "";
}

/// The doors that the commands have in common.
struct Doors {
  Doors(const KubeServer& at, std::vector<SocketPlace> sockets)
      : server(at), kube(at), daemon(std::move(sockets)) {}
  KubeServer server;
  RestDoor kube;
  SocketDaemon daemon;
};

Result<std::unique_ptr<Doors>> open_doors(const KubeOptions& options) {
  auto server = find_kube_server(options.server, environment);
  if (!server) return std::unexpected(server.error());
  SocketQuery query = socket_query_of_process();
  if (!options.socket.empty()) query.given = options.socket;
  auto sockets = client_sockets(query);
  if (!sockets) return std::unexpected(sockets.error());
  return std::make_unique<Doors>(*server, std::move(*sockets));
}

/// The node's UID, so that its slices go with it; waits for an API server, a node and a role that
/// are not there yet. A role counts a moment after it was made.
Result<std::string> uid_of_node(KubeDoor& kube, const std::string& node) {
  constexpr milliseconds pause{500};
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  for (std::string said;;) {
    const auto answer = kube.ask("GET", node_target(node), nullptr);
    if (answer && answer->fine())
      return answer->body.value("metadata", Json::object()).value("uid", std::string());
    const std::string why = answer ? answer->message() : answer.error().text();
    const bool refused = answer && (answer->status == 401 || answer->status == 403);
    if (refused && std::chrono::steady_clock::now() > until)
      return fail(ErrorKind::infeasible, fmt::format("node {}", node), why,
                  "see that the token is right, and that its role may read nodes");
    if (why != said) say("waits: " + why);
    said = why;
    std::this_thread::sleep_for(pause);
  }
}

/// Tells a listener of changes, from a thread of its own.
std::thread follower(const KubeServer& server, const std::string& target, const std::string& query,
                     const KubeListener& listener, const std::atomic<bool>& stop,
                     const std::function<void(Json&)>& trim = {}) {
  return std::thread([=, &stop] {
    KubeRest::Settings settings;
    settings.stop = [&stop] { return stop.load(); };
    KubeRest rest(server, settings);
    KubeFollowing what;
    what.target = target;
    what.query = query;
    what.stop = settings.stop;
    what.trim = trim;
    follow(rest, what, listener);
  });
}

/// Rounds until the end: the first change is published at once, later ones five times a second.
void run_rounds(KubeNode& node, const std::atomic<bool>& stop) {
  constexpr milliseconds gathered{10}, between{200}, longest{1000};
  std::string trouble;
  while (!stop) {
    node.wait_for_change(longest);
    std::this_thread::sleep_for(gathered);
    const auto done = node.round();
    const std::string now = done ? std::string() : done.error().text();
    if (now != trouble && !now.empty()) say(now);
    trouble = now;
    std::this_thread::sleep_for(between);
  }
}

/// Signals are waited for here and go nowhere else.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGTERM);
    sigaddset(&set_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }
  void wait() const {
    int signal = 0;
    sigwait(&set_, &signal);
  }

 private:
  sigset_t set_{};
};

Result<int> run_node(const KubeOptions& options) {
  std::atomic<bool> stop = false;
  auto doors = open_doors(options);
  if (!doors) return std::unexpected(doors.error());
  KubeNodeSettings settings;
  settings.node = node_name(options);
  settings.evict = !options.no_evict;
  settings.order = options.order == "policy" ? KubeOrder::policy : KubeOrder::fixed;
  auto uid = uid_of_node((*doors)->kube, settings.node);
  if (!uid) return std::unexpected(uid.error());
  settings.node_uid = *uid;
  const Signals signals;  // until here they end the program
  const auto sim_node = options.sim_node.empty()
                            ? std::nullopt
                            : std::optional<std::filesystem::path>(options.sim_node);
  NodeHost host(options.driver_root, sim_node, "");
  const CdiFolder files(options.cdi);
  if (const auto made = files.make(); !made) return std::unexpected(made.error());
  KubeNode node(settings, (*doors)->kube, (*doors)->daemon, host, files, say);
  auto plugin = KubeletPlugin::start(
      options.kubelet_root,
      {[&](const KubeName& name, const std::string& claim) { return node.prepare(name, claim); },
       [&](const std::string& claim) { return node.unprepare(claim); },
       [](bool taken, const std::string& why) {
         say(taken ? "the kubelet has taken the driver" : "the kubelet refuses: " + why);
       }});
  if (!plugin) return std::unexpected(plugin.error());
  const std::string of_node = fmt::format("fieldSelector=spec.nodeName%3D{}", settings.node);
  std::array threads = {
      follower((*doors)->server, all_pods_target, of_node, node.pod_listener(), stop),
      follower((*doors)->server, slices_target, of_node, node.slice_listener(), stop),
      follower((*doors)->server, fmt::format("/api/v1/namespaces/{}/configmaps", options.space),
               fmt::format("fieldSelector=metadata.name%3D{}", notes_name), node.notes_listener(),
               stop),
      std::thread([&] { run_rounds(node, stop); })};
  say(fmt::format("serves node {}", settings.node));
  signals.wait();
  stop = true;
  node.wake();
  for (std::thread& each : threads) each.join();
  return 0;
}

/// Of what the controller follows: only what it reads.
void trim_for_controller(Json& object) {
  if (!object.is_object()) return;
  if (const auto metadata = object.find("metadata");
      metadata != object.end() && metadata->is_object())
    metadata->erase("managedFields");
  const auto spec = object.find("spec"), status = object.find("status");
  if (status != object.end() && status->is_object()) status->erase("containerStatuses");
  if (spec == object.end() || !spec->is_object()) return;
  spec->erase("volumes");
  if (const auto devices = spec->find("devices"); devices != spec->end() && devices->is_array())
    for (Json& device : *devices)
      for (const char* key : {"consumesCounters", "capacity"}) device.erase(key);
}

std::vector<std::thread> follow_cluster(const KubeServer& server, KubeController& controller,
                                        const std::atomic<bool>& stop) {
  std::vector<std::thread> threads;
  for (const auto& [target, listener] : {std::pair(all_pods_target, controller.pod_listener()),
                                         std::pair(all_claims_target, controller.claim_listener()),
                                         std::pair(slices_target, controller.slice_listener())})
    threads.push_back(follower(server, target, "", listener, stop, trim_for_controller));
  return threads;
}

Result<KubeControllerSettings> controller_settings(const KubeOptions& options) {
  KubeControllerSettings settings;
  settings.space = options.space;
  // In a pod the host's name is the pod's. After a restart of the program it is not the one before.
  settings.holder = fmt::format("{}-{}", node_name(options), ::getpid());
  settings.dry_run = options.dry_run;
  const auto waiting = parse_human(options.when_waiting);
  if (!waiting) return fail_at("--when-waiting", waiting.error());
  settings.rules.when_waiting = *waiting;
  return settings;
}

Result<int> run_controller(const KubeOptions& options) {
  constexpr milliseconds between{250};
  std::atomic<bool> stop = false;
  const auto server = find_kube_server(options.server, environment);
  if (!server) return std::unexpected(server.error());
  const auto settings = controller_settings(options);
  if (!settings) return std::unexpected(settings.error());
  const Signals signals;
  RestDoor kube(*server);
  KubeController controller(*settings, kube, say);
  auto threads = follow_cluster(*server, controller, stop);
  threads.emplace_back([&] {
    std::string trouble;
    while (!stop) {
      const auto done = controller.round();
      const std::string now = done ? std::string() : done.error().text();
      if (now != trouble && !now.empty()) say(now);
      trouble = now;
      std::this_thread::sleep_for(between);
    }
    controller.end();
  });
  say(fmt::format("stands by as {}", settings->holder));
  signals.wait();
  stop = true;
  for (std::thread& each : threads) each.join();
  return 0;
}

Result<int> run_plan(const KubeOptions& options) {
  constexpr milliseconds pause{20};
  constexpr auto patience = std::chrono::seconds(60);
  std::atomic<bool> stop = false;
  const auto server = find_kube_server(options.server, environment);
  if (!server) return std::unexpected(server.error());
  const auto settings = controller_settings(options);
  if (!settings) return std::unexpected(settings.error());
  if (!options.profile.empty() && std::ranges::none_of(gpu_models(), [&](const GpuModel& model) {
        return model.find(options.profile) != nullptr;
      }))
    return fail(ErrorKind::bad_usage, "--profile",
                fmt::format("no GPU model has a profile {}", options.profile),
                "`cleave gpu` lists models and their profiles");
  std::string trouble;
  std::mutex mutex;
  RestDoor kube(*server);
  KubeController controller(*settings, kube, [&](const std::string& line) {
    const std::lock_guard lock(mutex);
    trouble = line;
  });
  auto threads = follow_cluster(*server, controller, stop);
  const auto until = std::chrono::steady_clock::now() + patience;
  const auto troubled = [&] {
    const std::lock_guard lock(mutex);
    return !trouble.empty();
  };
  while (!controller.knows_all() && !troubled() && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(pause);
  const bool known = controller.knows_all();
  const auto decision = known ? controller.decide(options.profile) : EvictionDecision();
  stop = true;
  for (std::thread& each : threads) each.join();
  if (!known)
    return fail(ErrorKind::infeasible, server->host,
                trouble.empty() ? "the API server does not list pods, claims and slices" : trouble,
                "see --server, --ca and --token, and that the token's role may list these");
  if (!decision) return std::unexpected(decision.error());
  fmt::print("{}", options.json ? to_json(*decision).dump(2) + "\n" : in_words(*decision));
  return 0;
}

Result<int> run_doctor(const KubeOptions& options) {
  auto doors = open_doors(options);
  if (!doors) return std::unexpected(doors.error());
  const DoctorView view = examine(node_name(options), (*doors)->kube, (*doors)->daemon);
  int worst = 0;
  for (const DoctorFinding& each : findings_of(view)) {
    constexpr std::array words = {"ok     ", "warning", "wrong  "};
    fmt::print("{}  {}\n", words[static_cast<std::size_t>(each.kind)], each.text);
    if (each.kind == DoctorFinding::Kind::wrong) worst = 1;
  }
  return worst;
}

void add_server(CommandLine& command, KubeOptions& options) {
  command.add_option("--server", options.server.url,
                     "API server, https://HOST:PORT; in a pod that of its cluster");
  command.add_option("--ca", options.server.ca, "Who signed its certificate, in PEM")
      ->type_name("FILE");
  command.add_option("--token", options.server.token, "File with the token to be known by")
      ->type_name("FILE");
  command
      .add_option("--namespace", options.space,
                  "Where the controller's lease and its ConfigMap are")
      ->default_str(options.space);
}

void add_common(CommandLine& command, KubeOptions& options) {
  add_server(command, options);
  command.add_option("--socket", options.socket, "The daemon's socket");
  command.add_option("--node", options.node,
                     "This node's name in the cluster; $NODE_NAME, else that of the machine");
}

void add_controller(CommandLine& program, KubeOptions& options) {
  CommandLine* controller = program.add_subcommand(
      "controller",
      "Make room for pods that wait by evictions that honour disruption budgets; of several one "
      "acts");
  add_server(*controller, options);
  controller
      ->add_option("--when-waiting", options.when_waiting,
                   "How long a pod has waited before others are evicted for it")
      ->default_str(options.when_waiting);
  controller->add_flag("--dry-run", options.dry_run, "Say what would be done, and evict nothing");
  controller->callback([&options] { options.command = "controller"; });
  CommandLine* plan = program.add_subcommand(
      "plan", "Print which pods would be evicted for one that waits; as a user who may list them");
  add_server(*plan, options);
  plan->add_option("--profile", options.profile, "Plan for one more instance of this profile");
  plan->add_flag("--json", options.json, "Print JSON");
  plan->callback([&options] { options.command = "plan"; });
}

void add_commands(CommandLine& program, KubeOptions& options) {
  add_controller(program, options);
  CommandLine* node = program.add_subcommand(
      "node", "Serve this node: publish its GPUs and make instances for pods; ends on SIGTERM");
  add_common(*node, options);
  node->add_option("--kubelet-root", options.kubelet_root, "The kubelet's folder")
      ->type_name("DIR")
      ->default_str(options.kubelet_root);
  node->add_option("--cdi", options.cdi, "Where container runtimes look for CDI specifications")
      ->type_name("DIR")
      ->default_str(options.cdi);
  node->add_option("--driver-root", options.driver_root,
                   "Folder in which the host's proc/, dev/ and libraries lie")
      ->type_name("DIR")
      ->default_str(options.driver_root);
  node->add_option("--sim-node", options.sim_node, "The daemon's simulated GPUs, for trials")
      ->type_name("DIR");
  node->add_option("--order", options.order,
                   "Order of devices: policy, or fixed by GPU and start, to compare it with")
      ->check(Check::one_of({"policy", "fixed"}))
      ->default_str(options.order);
  node->add_flag("--no-evict", options.no_evict,
                 "Evict no pod whose instance cannot be made, even if its owner makes another");
  node->callback([&options] { options.command = "node"; });
  CommandLine* doctor = program.add_subcommand(
      "doctor", "Say what this node and its cluster lack for Cleave's placement");
  add_common(*doctor, options);
  doctor->callback([&options] { options.command = "doctor"; });
  program
      .add_subcommand("classes",
                      "Print a manifest with a DeviceClass for each profile that is known")
      ->callback([&options] { options.command = "classes"; });
}

constexpr const char* exit_status =
    "0 It ended as it was told to; doctor: nothing is wrong.\n1 It cannot serve; doctor: something "
    "is wrong.\n2 The command line is wrong.";

int report(const Error& error) {
  fmt::print(stderr, "cleave-kube: {}\n", error.text());
  return exit_code(error.kind);
}

int run_program(int argc, char** argv) {
  CommandLine program("GPU instances for the pods of a Kubernetes cluster, where Cleave puts them.",
                      "cleave-kube");
  program.version_flag("--version", CLEAVE_VERSION);
  KubeOptions options;
  add_commands(program, options);
  program.add_flag("--man", options.man, "Print this help as a man page");
  program
      .add_option("--completion", options.completion,
                  "Print what lets the Tab key of this shell complete options")
      ->check(Check::one_of(completion_shells));
  if (const auto end = program.parse(argc, argv)) return end->error ? report(*end->error) : 0;
  if (options.man) {
    const CommandNode tree = command_tree(program);
    fmt::print("{}", manual_page(tree, tree, {CLEAVE_VERSION, exit_status}));
    return 0;
  }
  if (!options.completion.empty()) {
    fmt::print("{}", completion(command_tree(program), options.completion, nullptr));
    return 0;
  }
  if (options.command.empty())
    return report({ErrorKind::bad_usage, "", "there is nothing to do",
                   "name a command: node, controller, plan, doctor or classes"});
  if (options.command == "classes") {
    fmt::print("{}", device_classes_yaml());
    return 0;
  }
  constexpr std::pair<std::string_view, Result<int> (*)(const KubeOptions&)> commands[] = {
      {"node", run_node},
      {"controller", run_controller},
      {"plan", run_plan},
      {"doctor", run_doctor}};
  const auto* const command =
      std::ranges::find(commands, options.command,
                        &std::pair<std::string_view, Result<int> (*)(const KubeOptions&)>::first);
  const auto code = command->second(options);
  return code ? *code : report(code.error());
}

}  // namespace

}  // namespace cleave

int main(int argc, char** argv) {
  try {
    return cleave::run_program(argc, argv);
  } catch (const std::exception& exception) {
    fmt::print(stderr, "cleave-kube: {}\n", exception.what());
    return 1;
  }
}
