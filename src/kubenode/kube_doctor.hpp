#pragma once
// What a cluster and a node need for Cleave's placement to work there, and what is missing. Looking
// is apart from judging, which is pure.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kubenode/kube_doors.hpp"

namespace cleave {

/// What was found. What could not be asked is empty.
struct DoctorView {
  std::string node;
  std::optional<int> major, minor;          // of the API server's version
  std::string server_trouble;               // why it does not answer
  std::map<std::string, bool> features;     // of the API server, by name
  std::vector<std::string> other_drivers;   // that publish devices of this node
  std::vector<std::string> device_plugins;  // resources of the node that a device plugin serves
  std::vector<std::string> classes;         // DeviceClasses of ours
  std::optional<std::size_t> gpus;          // that the daemon has for Kubernetes
  std::string daemon_trouble;
  std::vector<std::string> not_published;
  bool slices_there = false;
};

/// One line of the report.
struct DoctorFinding {
  enum class Kind { fine, warning, wrong } kind = Kind::fine;
  std::string text;
};

[[nodiscard]] DoctorView examine(const std::string& node, KubeDoor& kube, DaemonDoor& daemon);
[[nodiscard]] std::vector<DoctorFinding> findings_of(const DoctorView& view);

/// Features that are on or off, from the API server's metrics.
[[nodiscard]] std::map<std::string, bool> features_in(std::string_view metrics);

}  // namespace cleave
