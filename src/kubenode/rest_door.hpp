#pragma once
// The API server over as many connections as there are questions at a time.

#include <mutex>
#include <vector>

#include "kubenode/kube_doors.hpp"

namespace cleave {

/// Connections are kept and used again.
class RestDoor : public KubeDoor {
 public:
  explicit RestDoor(KubeServer server) : server_(std::move(server)) {}

  [[nodiscard]] Result<KubeAnswer> ask(std::string_view method, const std::string& target,
                                       const Json* body) override {
    KubeRest rest = borrow();
    auto answer = rest.ask(method, target, body);
    give_back(std::move(rest));
    return answer;
  }
  [[nodiscard]] Result<KubeList> list(const std::string& target) override {
    KubeRest rest = borrow();
    auto all = list_all(rest, target, "");
    give_back(std::move(rest));
    return all;
  }

 private:
  KubeRest borrow() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return {server_, {}};
    KubeRest rest = std::move(idle_.back());
    idle_.pop_back();
    return rest;
  }
  void give_back(KubeRest rest) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(rest));
  }

  const KubeServer server_;
  std::mutex mutex_;
  std::vector<KubeRest> idle_;
};

}  // namespace cleave
