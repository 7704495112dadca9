#include "nvmlsim/session.hpp"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <new>

namespace cleave::sim {

namespace {

constexpr std::uint32_t unclaimed = 0xffffffff;

struct OpenLibrary {
  std::mutex mutex;  // of what is not atomic
  int users = 0;
  std::unique_ptr<Node> kept;                  // the node of `node`
  std::vector<std::unique_ptr<Node>> retired;  // closed while other threads were in calls
  std::atomic<Node*> node{nullptr};
  std::atomic<int> calls{0};
  std::atomic<std::uint32_t> client{unclaimed};
};

/// Never destroyed: threads may call until the very end of the program.
OpenLibrary& library() {
  alignas(OpenLibrary) static std::byte place[sizeof(OpenLibrary)];
  static OpenLibrary* const made = new (place) OpenLibrary;
  return *made;
}

/// In the child there is one thread, and it is in no call.
void after_fork() {
  OpenLibrary& open = library();
  new (&open.mutex) std::mutex;
  open.calls.store(0);
  open.client.store(unclaimed);
}

void drop_retired(OpenLibrary& open) {
  if (open.calls.load() == 0) open.retired.clear();
}

nvml::Return open_named_node(std::unique_ptr<Node>& node) {
  const char* directory = std::getenv(sim_node_variable);
  if (directory == nullptr || *directory == '\0') {
    node = Node::without_gpus();
    return nvml::Return::success;
  }
  auto opened = Node::open(directory);
  if (!opened && ::access((std::filesystem::path(directory) / state_file_name).c_str(), R_OK | W_OK) != 0 &&
      errno == EACCES)
    return nvml::Return::no_permission;
  if (!opened || (*opened)->gone()) return nvml::Return::driver_not_loaded;
  node = std::move(*opened);
  return nvml::Return::success;
}

std::uint32_t client_of(OpenLibrary& open, Node& node) {
  const std::uint32_t known = open.client.load(std::memory_order_relaxed);
  if (known != unclaimed) return known;
  const std::lock_guard guard(open.mutex);
  if (open.client.load() == unclaimed) {
    const std::uint32_t claimed = node.claim_client();
    open.client.store(claimed < most_clients ? claimed : unclaimed);
  }
  return open.client.load();
}

}  // namespace

nvml::Return open_session() {
  OpenLibrary& open = library();
  static const int registered = ::pthread_atfork(nullptr, nullptr, after_fork);
  (void)registered;
  const std::lock_guard guard(open.mutex);
  if (open.users == 0) {
    drop_retired(open);
    if (const nvml::Return opened = open_named_node(open.kept); opened != nvml::Return::success)
      return opened;
    open.node.store(open.kept.get());
  }
  ++open.users;
  return nvml::Return::success;
}

nvml::Return close_session() {
  OpenLibrary& open = library();
  const std::lock_guard guard(open.mutex);
  if (open.users == 0) return nvml::Return::uninitialized;
  if (--open.users > 0) return nvml::Return::success;
  if (open.client.load() != unclaimed) open.kept->release_client(open.client.load());
  open.client.store(unclaimed);
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

Call::~Call() {
  library().calls.fetch_sub(1);
}

nvml::Return Call::status() const {
  if (node_ == nullptr) return nvml::Return::uninitialized;
  return node_->gone() ? nvml::Return::gpu_is_lost : nvml::Return::success;
}

void Call::hold(std::uint32_t gpu, std::size_t slot) const {
  node_->hold(client_of(library(), *node_), gpu, slot);
}

}  // namespace cleave::sim
