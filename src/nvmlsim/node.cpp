#include "nvmlsim/node.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>

#include "base/format.hpp"
#include "nvmlsim/energy.hpp"
#include "nvmlsim/fault_kinds.hpp"
#include "nvmlsim/gpu_rules.hpp"
#include "nvmlsim/holders.hpp"

namespace cleave::sim {

namespace {

std::string_view model_key(const GpuCell& cell) {
  return {cell.model.data(), ::strnlen(cell.model.data(), cell.model.size())};
}

}  // namespace

std::unique_ptr<Node> Node::without_gpus() {
  std::unique_ptr<Node> node(new Node(-1));
  node->own_header_ = std::make_unique<NodeHeader>();
  node->header_ = node->own_header_.get();
  node->header_->alive = 1;
  return node;
}

Result<std::unique_ptr<Node>> Node::open(const std::filesystem::path& directory) {
  const std::filesystem::path file = directory / state_file_name;
  const int handle = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
  if (handle < 0 && (errno == EACCES || errno == EPERM))
    return fail(
        ErrorKind::bad_input, directory.string(),
        fmt::format("the simulated node cannot be used by this user: {}", std::strerror(errno)),
        "a node belongs to the user who made it: run as that user, or make one with `cleave "
        "sim-node "
        "create`");
  if (handle < 0)
    return fail(ErrorKind::bad_input, directory.string(),
                fmt::format("there is no simulated node: {}", std::strerror(errno)),
                "make one with `cleave sim-node create`");
  struct stat about {};
  const bool known = ::fstat(handle, &about) == 0 && S_ISREG(about.st_mode);
  const auto size = known ? static_cast<std::size_t>(about.st_size) : 0;
  void* bytes = size < state_bytes(1) || size > state_bytes(most_sim_gpus)
                    ? MAP_FAILED
                    : ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, handle, 0);
  if (bytes == MAP_FAILED) {
    ::close(handle);
    return fail(ErrorKind::bad_input, file.string(), "this is not the state of a simulated node",
                "destroy the node and create it again");
  }
  std::unique_ptr<Node> node(new Node(handle));
  if (const auto fine = node->adopt(file, bytes, size); !fine) return std::unexpected(fine.error());
  return node;
}

Result<void> Node::adopt(const std::filesystem::path& file, void* bytes, std::size_t size) {
  mapping_ = bytes;
  size_ = size;
  header_ = static_cast<NodeHeader*>(bytes);
  const std::uint32_t count = header_->gpus;
  if (header_->magic != state_magic || header_->version != state_version || count < 1 ||
      count > static_cast<std::uint32_t>(most_sim_gpus) || header_->bytes != size ||
      state_bytes(count) != size)
    return fail(ErrorKind::bad_input, file.string(),
                "this is not the state of a simulated node, or of another version of Cleave",
                "destroy the node and create it again");
  for (std::uint32_t gpu = 0; gpu < count; ++gpu) {
    auto* cell =
        reinterpret_cast<GpuCell*>(static_cast<char*>(bytes) + cells_offset + gpu * cell_stride);
    const auto model = find_gpu_model(model_key(*cell));
    if (!model) return fail_at(file.string(), model.error());
    cells_.push_back(cell);
    boards_.push_back(&board_of(**model));
    commands_.emplace_back();
    mig_indices_.emplace_back();
  }
  return {};
}

Node::~Node() {
  if (mapping_ == nullptr) return;
  if (const std::uint32_t mine = client_.load(); is_mine(mine)) {
    const Holding tables(header_->tables, presence_);
    if (is_mine(mine)) header_->clients[mine].holder.store(0, std::memory_order_release);
  }
  ::munmap(mapping_, size_);
}

bool Node::privileged() const {
  switch (header_->administrator.load()) {
    case Administrator::everybody:
      return true;
    case Administrator::root:
      return ::geteuid() == 0;
    case Administrator::nobody:
      break;
  }
  return false;
}

InstanceNumbering Node::numbering() const {
  return static_cast<InstanceNumbering>(std::min(header_->numbering, 2U));
}

void Node::report_event(std::uint32_t gpu, const NewEvent& reported) {
  const Holding tables(header_->tables, presence_);
  const std::uint64_t number = header_->events.load(std::memory_order_relaxed) + 1;
  EventRecord& event = header_->ring[number % event_slots];
  event.number.store(0, std::memory_order_relaxed);
  event.gpu.store(gpu, std::memory_order_release);
  event.gpu_instance.store(reported.gpu_instance, std::memory_order_release);
  event.compute_instance.store(reported.compute_instance, std::memory_order_release);
  event.type.store(reported.type, std::memory_order_release);
  event.data.store(reported.data, std::memory_order_release);
  event.number.store(number, std::memory_order_release);
  header_->events.store(number, std::memory_order_release);
  header_->bell.fetch_add(1, std::memory_order_release);
  ::syscall(SYS_futex, &header_->bell, FUTEX_WAKE, std::numeric_limits<int>::max(), nullptr,
            nullptr, 0);
}

bool Node::is_mine(std::uint32_t client) const {
  return client < most_clients &&
         header_->clients[client].holder.load(std::memory_order_relaxed) == presence_.self();
}

std::uint32_t Node::client() {
  if (const std::uint32_t known = client_.load(std::memory_order_relaxed); is_mine(known))
    return known;
  const Holding tables(header_->tables, presence_);
  if (const std::uint32_t known = client_.load(std::memory_order_relaxed); is_mine(known))
    return known;
  const std::uint32_t used =
      std::min(header_->clients_used.load(std::memory_order_relaxed), most_clients);
  std::uint32_t free = most_clients;
  for (std::uint32_t client = 0; client < used && free == most_clients; ++client)
    if (header_->clients[client].holder.load(std::memory_order_relaxed) == 0) free = client;
  if (free == most_clients && used < most_clients) free = used;
  for (std::uint32_t client = 0; client < used && free == most_clients; ++client)
    if (!presence_.alive(header_->clients[client].holder.load(std::memory_order_relaxed)))
      free = client;
  if (free == most_clients) return free;
  ClientRecord& record = header_->clients[free];
  for (auto& slots : record.held) slots.store(0, std::memory_order_relaxed);
  record.holder.store(presence_.self(), std::memory_order_release);
  if (free == used) header_->clients_used.store(used + 1, std::memory_order_release);
  client_.store(free, std::memory_order_relaxed);
  return free;
}

const MigIndices& Node::mig_indices(std::uint32_t gpu, const GpuRecord& record) {
  mig_indices_[gpu].follow(board(gpu), record, numbering());
  return mig_indices_[gpu];
}

void Node::hold(std::uint32_t gpu, std::size_t slot) {
  const std::uint32_t mine = gpu < gpus() ? client() : most_clients;
  if (mine == most_clients) return;
  auto& held = header_->clients[mine].held[gpu];
  const auto bit = static_cast<std::uint8_t>(1U << slot % instance_slots);
  if ((held.load(std::memory_order_relaxed) & bit) == 0)
    held.fetch_or(bit, std::memory_order_relaxed);
}

bool Node::held_by_others(std::uint32_t gpu, std::size_t slot) {
  std::uint32_t from = 0;
  return next_holder(*this, {gpu, std::uint64_t{1} << slot}, from) != 0;
}

void Node::forget_holders(std::uint32_t gpu, std::size_t slot) {
  const std::uint32_t used =
      std::min(header_->clients_used.load(std::memory_order_acquire), most_clients);
  const auto others = static_cast<std::uint8_t>(~(1U << slot));
  for (std::uint32_t client = 0; client < used; ++client) {
    auto& held = header_->clients[client].held[gpu];
    if ((held.load(std::memory_order_relaxed) >> slot & 1U) != 0)
      held.fetch_and(others, std::memory_order_relaxed);
  }
}

GpuAccess::GpuAccess(Node& node, std::uint32_t gpu)
    : cell_(&node.cell(gpu)), board_(&node.board(gpu)) {
  cell_->state.lock(node.presence());
  active_ = cell_->active.load(std::memory_order_relaxed) & 1U;
  status_ = nvml::Return::success;
  // A lost GPU may be damaged as well, and programs end their work on lost GPUs.
  if (!sound(*board_, record()))
    status_ = nvml::Return::unknown;
  else if (node.gone() || is_set(*cell_, Fault::lost))
    status_ = nvml::Return::gpu_is_lost;
}

GpuRecord& GpuAccess::draft() {
  const GpuRecord& now = record();
  GpuRecord& next = cell_->records[1 - active_];
  constexpr std::size_t without_processes = offsetof(GpuRecord, processes);
  const std::size_t count = std::min(now.process_count, most_processes);
  std::memcpy(static_cast<void*>(&next), &now, without_processes + count * sizeof(ProcessRecord));
  next.process_count = static_cast<std::uint32_t>(count);
  account_before(*board_, next, now_ns());
  return next;
}

void GpuAccess::commit() {
  active_ = 1 - active_;
  account_after(*board_, cell_->records[active_]);
  cell_->active.store(active_, std::memory_order_release);
}

void reap(Node& node, std::uint32_t gpu, bool urgent) {
  static thread_local std::array<std::int64_t, most_sim_gpus> looked{};
  const std::int64_t now = now_ns();
  constexpr std::int64_t between_looks = 1'000'000;
  if (!urgent && now - looked[gpu] < between_looks) return;
  looked[gpu] = now;
  std::array<Identity, most_processes> dead{};
  std::size_t count = 0;
  {
    const GpuAccess access(node, gpu);
    if (access.status() == nvml::Return::unknown) return;
    for (std::uint32_t i = 0; i < access.record().process_count; ++i)
      dead[count++] = access.record().processes[i].identity;
  }
  const auto end = std::remove_if(dead.begin(), dead.begin() + count, alive);
  if (end == dead.begin()) return;
  const auto is_dead = [&](const ProcessRecord& each) {
    return std::find(dead.begin(), end, each.identity) != end;
  };
  GpuAccess access(node, gpu);
  if (access.status() == nvml::Return::unknown) return;
  GpuRecord& next = access.draft();
  auto* const left =
      std::remove_if(next.processes.begin(), next.processes.begin() + next.process_count, is_dead);
  next.process_count = static_cast<std::uint32_t>(left - next.processes.begin());
  access.commit();
}

}  // namespace cleave::sim
