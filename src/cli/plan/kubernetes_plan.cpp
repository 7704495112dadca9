#include "cli/plan/kubernetes_plan.hpp"

#include <unistd.h>

#include <vector>

#include "base/installation.hpp"

namespace cleave::cli {

void add_kubernetes(CommandLine& command, KubernetesPlanOptions& options) {
  command.add_flag("--kubernetes", options.asked,
                   "Plan which pods of a Kubernetes cluster to evict for one that waits; nothing "
                   "is evicted");
  command.add_option("--server", options.server,
                     "With --kubernetes: the API server, https://HOST:PORT");
  command.add_option("--ca", options.ca, "With --kubernetes: who signed its certificate, in PEM")
      ->type_name("FILE");
  command
      .add_option("--token", options.token, "With --kubernetes: file with a token that may list")
      ->type_name("FILE");
  command.add_option("--room-for", options.room_for,
                     "With --kubernetes: plan for one more instance of this profile");
}

Error become_kubernetes_plan(const KubernetesPlanOptions& options, bool json) {
  const auto program = installed_program("cleave-kube");
  std::vector<std::string> words = {program.string(), "plan"};
  for (const auto& [option, value] :
       {std::pair("--server", &options.server), std::pair("--ca", &options.ca),
        std::pair("--token", &options.token), std::pair("--profile", &options.room_for)})
    if (!value->empty()) words.insert(words.end(), {option, *value});
  if (json) words.emplace_back("--json");
  std::vector<char*> arguments;
  for (std::string& each : words) arguments.push_back(each.data());
  arguments.push_back(nullptr);
  ::execv(program.c_str(), arguments.data());
  return {ErrorKind::bad_input, program.string(),
          "this program plans for Kubernetes, and it cannot be started",
          "install the package cleave-kube, or build the target cleave-kube, which needs gRPC"};
}

}  // namespace cleave::cli
