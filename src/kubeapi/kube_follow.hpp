#pragma once
// Follows all objects of one kind: lists them, then watches for changes from there on. A stream
// that ends or breaks is taken up at the latest version seen; where the server has forgotten that,
// all are listed anew, and the listener is told that what it knew is replaced.

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "kubeapi/kube_rest.hpp"

namespace cleave {

/// Who is told. Called by the thread that follows.
struct KubeListener {
  /// These are all objects there are.
  std::function<void(const std::vector<Json>& all)> replaced;
  /// One is there, or as it is now; or it is gone.
  std::function<void(const Json& object, bool gone)> changed;
  /// Something did not work, in words; it will be tried again.
  std::function<void(const std::string& what)> trouble;
};

/// What to follow, and how.
struct KubeFollowing {
  std::string target;  // "/api/v1/pods"
  std::string query;   // "fieldSelector=..."; may be empty
  /// Takes away what the listener does not read, as soon as an object is there; may be empty.
  std::function<void(Json&)> trim;
  std::chrono::milliseconds shortest_pause{100}, longest_pause{10'000};
  std::function<bool()> stop;
};

/// All objects, in several answers where there are many. Fails where one of them is not to be had.
struct KubeList {
  std::vector<Json> items;
  std::string version;  // from which to watch on
};
[[nodiscard]] Result<KubeList> list_all(KubeRest& rest, const std::string& target,
                                        const std::string& query,
                                        const std::function<void(Json&)>& trim = {});

/// Until `stop`.
void follow(KubeRest& rest, const KubeFollowing& what, const KubeListener& listener);

}  // namespace cleave
