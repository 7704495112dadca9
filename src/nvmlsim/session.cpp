#include "nvmlsim/session.hpp"

#include <errno.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <new>

#include "nvmlsim/fence.hpp"
#include "nvmlsim/forks.hpp"

namespace cleave::sim {

namespace {

/// The session of this program; members that are not atomic are guarded by session_mutex.
struct OpenLibrary {
  int users = 0;
  std::unique_ptr<Node> kept;                  // the node of `node`
  std::vector<std::unique_ptr<Node>> retired;  // closed while other threads were in calls
  std::atomic<bool> some_retired{false};
  std::atomic<Node*> node{nullptr};
  std::atomic<int> calls{0};
};

/// Never destroyed: threads may call until the program ends.
OpenLibrary& library() {
  alignas(OpenLibrary) static std::byte place[sizeof(OpenLibrary)];
  static OpenLibrary* const made = new (place) OpenLibrary;
  return *made;
}

void drop_retired(OpenLibrary& open) {
  if (open.calls.load() == 0) open.retired.clear();
  open.some_retired.store(!open.retired.empty());
}

nvml::Return open_named_node(std::unique_ptr<Node>& node) {
  const char* directory = std::getenv(sim_node_variable);
  if (directory == nullptr || *directory == '\0') {
    node = Node::without_gpus();
    return nvml::Return::success;
  }
  auto opened = Node::open(directory);
  if (!opened &&
      ::access((std::filesystem::path(directory) / state_file_name).c_str(), R_OK | W_OK) != 0 &&
      errno == EACCES)
    return nvml::Return::no_permission;
  if (!opened || (*opened)->gone()) return nvml::Return::driver_not_loaded;
  node = std::move(*opened);
  return nvml::Return::success;
}

}  // namespace

void forget_calls_after_fork() {
  library().calls.store(0);
}

nvml::Return open_session() {
  OpenLibrary& open = library();
  const std::lock_guard guard(session_mutex);
  if (open.users == 0) {
    drop_retired(open);
    if (const nvml::Return opened = open_named_node(open.kept); opened != nvml::Return::success)
      return opened;
    read_fence();
    open.node.store(open.kept.get());
  }
  ++open.users;
  return nvml::Return::success;
}

nvml::Return close_session() {
  OpenLibrary& open = library();
  const std::lock_guard guard(session_mutex);
  if (open.users == 0) return nvml::Return::uninitialized;
  if (--open.users > 0) return nvml::Return::success;
  open.node.store(nullptr);
  open.retired.push_back(std::move(open.kept));
  drop_retired(open);
  return nvml::Return::success;
}

Call::Call() {
  OpenLibrary& open = library();
  open.calls.fetch_add(1);
  node_ = open.node.load();
}

/// After nvmlShutdown the last running call closes the node, which releases its handles.
Call::~Call() {
  OpenLibrary& open = library();
  if (open.calls.fetch_sub(1) != 1 || !open.some_retired.load()) return;
  const std::lock_guard guard(session_mutex);
  drop_retired(open);
}

nvml::Return Call::status() const {
  if (node_ == nullptr) return nvml::Return::uninitialized;
  return node_->gone() ? nvml::Return::gpu_is_lost : nvml::Return::success;
}

void Call::hold(std::uint32_t gpu, std::size_t slot) const {
  node_->hold(gpu, slot);
}

}  // namespace cleave::sim
