// Random calls of every exported function in random order, by several programs that are killed at
// random times: none crashes, none hangs, none writes beyond the structure that it was given, and
// the node's state obeys the rules afterwards.

#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "base/random.hpp"
#include "nvmlsim/child_test.hpp"
#include "nvmlsim/function_rows.hpp"
#include "nvmlsim/library_test.hpp"

namespace cleave::sim {
namespace {

using enum nvml::Return;
using nvml::FunctionRow;
using nvml::FunctionState;

constexpr std::size_t most_arguments = 6, room_bytes = 16 << 10;
constexpr auto canary = std::byte{0xa5};
using Arguments = std::array<std::uint64_t, most_arguments>;
using Function = nvml::Return (*)(std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t,
                                  std::uint64_t, std::uint64_t);

/// A function, and what must be known of it to give it sensible room.
struct Callee {
  FunctionRow row;
  Function function;
  bool waits;  // its last number is how long
  bool lists;  // it writes as many things as a number or a count says
};

std::vector<Callee> callees() {
  std::vector<Callee> list;
  for (const FunctionRow& row : nvml::function_rows()) {
    if (row.state == FunctionState::absent) continue;
    const auto has = [&](std::string_view part) { return row.name.contains(part); };
    const bool lists = has("Affinity") || has("FieldValues") || has("PerformanceStates") ||
                       has("GetGpuInstances") || has("GetComputeInstances") ||
                       row.shape.contains('o');
    list.push_back({row, reinterpret_cast<Function>(::dlsym(library_handle(), row.name.c_str())),
                    has("Wait"), lists});
  }
  return list;
}

constexpr std::string_view kinds = "DGCES";

/// A program that calls whatever it likes.
class RandomProgram {
 public:
  RandomProgram(std::uint64_t seed, std::atomic<std::uint64_t>& succeeded)
      : random_(seed), succeeded_(&succeeded), callees_(callees()) {
    library().nvmlInit_v2();
    find_handles();
  }

  /// False if the call wrote where it must not.
  bool call() {
    const Callee& callee = callees_[random_.below(callees_.size())];
    const std::string& shape = callee.row.shape;
    Arguments arguments{};
    for (std::size_t i = 0; i < shape.size(); ++i) arguments[i] = argument(callee, i);
    const nvml::Return answer = callee.function(arguments[0], arguments[1], arguments[2],
                                                arguments[3], arguments[4], arguments[5]);
    if (answer == success) ++*succeeded_;
    if (answer == uninitialized && random_.below(4) == 0) library().nvmlInit_v2();
    if (answer == success && random_.below(8) == 0) find_handles();
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (!untouched(callee, i, arguments)) {
        std::fprintf(stderr, "%s wrote beyond argument %zu\n", callee.row.name.c_str(), i);
        return false;
      }
    return true;
  }

 private:
  std::uint64_t argument(const Callee& callee, std::size_t at) {
    switch (callee.row.shape[at]) {
      case 'P':
      case 'o':
        return random_.below(16) == 0 ? 0 : room(callee, at);
      case '#':
        return callee.waits ? random_.below(3) : number(callee);
      default:
        return handle(callee.row.shape[at] == 'd' ? 'D' : callee.row.shape[at]);
    }
  }

  std::uint64_t number(const Callee& callee) {
    constexpr std::uint64_t odd[] = {0x7fffffff, 0x80000000, 0xffffffff, 0xffffff01, 1'000'000'000};
    if (!callee.lists && random_.below(8) == 0) return odd[random_.below(std::size(odd))];
    return random_.below(40);
  }

  /// Mostly one that exists, or existed, and mostly one of the right kind.
  std::uint64_t handle(char kind) {
    const std::size_t other = random_.below(kinds.size());
    const auto& handles = handles_[random_.below(8) == 0 ? other : kinds.find(kind)];
    if (handles.empty() || random_.below(16) == 0) return random_.bits();
    return handles[random_.below(handles.size())];
  }

  /// Zeros after a version and a few numbers, and at 16 bytes, where some structures have one, a
  /// pointer; then canaries.
  std::uint64_t room(const Callee& callee, std::size_t at) {
    auto& bytes = *rooms_[at];
    const std::size_t size = at < callee.row.sizes.size() ? callee.row.sizes[at] : 0;
    const std::size_t given = callee.lists || size == 0 ? bytes.size() : size;
    std::fill(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(given), std::byte{0});
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(given), bytes.end(), canary);
    const std::array<std::uint32_t, 4> words = {
        static_cast<std::uint32_t>(random_.below(2) == 0 ? random_.below(64)
                                                         : size | (1 + random_.below(3)) << 24U),
        static_cast<std::uint32_t>(random_.below(40)),
        static_cast<std::uint32_t>(random_.below(40)), 0};
    std::memcpy(bytes.data(), words.data(), std::min(given, sizeof words));
    const void* inner = random_.below(2) == 0 ? nullptr : inner_->data();
    if (given >= 24) std::memcpy(bytes.data() + 16, static_cast<const void*>(&inner), sizeof inner);
    return std::bit_cast<std::uint64_t>(bytes.data());
  }

  bool untouched(const Callee& callee, std::size_t at, const Arguments& arguments) const {
    if (arguments[at] == 0 || callee.lists || at >= callee.row.sizes.size()) return true;
    const std::size_t size = callee.row.sizes[at];
    if (size == 0) return true;
    // The third version of the compute profiles is longer, and says so.
    const bool third = callee.row.name == "nvmlGpuInstanceGetComputeInstanceProfileInfoV";
    const auto& bytes = *rooms_[at];
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(third ? 140 : size);
    return std::all_of(begin, bytes.begin() + 512, [](std::byte each) { return each == canary; });
  }

  /// Handles of everything that there is now; older ones are kept for a while.
  void find_handles() {
    const auto add = [&](auto handle) {
      auto& handles = handles_[kinds.find(nvml::letter_of<decltype(handle)>())];
      if (handles.size() > 40) handles.clear();
      if (handle != nullptr) handles.push_back(std::bit_cast<std::uint64_t>(handle));
    };
    for (std::uint32_t index = 0; index < 2; ++index) {
      nvml::Device gpu = nullptr;
      if (library().nvmlDeviceGetHandleByIndex_v2(index, &gpu) != success) continue;
      add(gpu);
      for (std::uint32_t id = 0; id < 15; ++id) {
        nvml::GpuInstance instance = nullptr;
        if (library().nvmlDeviceGetGpuInstanceById(gpu, id, &instance) != success) continue;
        add(instance);
        nvml::ComputeInstance compute = nullptr;
        if (library().nvmlGpuInstanceGetComputeInstanceById(instance, 0, &compute) == success)
          add(compute);
      }
      nvml::Device mig = nullptr;
      if (library().nvmlDeviceGetMigDeviceHandleByIndex(
              gpu, static_cast<std::uint32_t>(random_.below(7)), &mig) == success)
        add(mig);
    }
    nvml::EventSet set = nullptr;
    nvml::GpmSample sample = nullptr;
    if (random_.below(8) == 0 && library().nvmlEventSetCreate(&set) == success) add(set);
    if (random_.below(8) == 0 && library().nvmlGpmSampleAlloc(&sample) == success) add(sample);
  }

  using Room = std::array<std::byte, room_bytes>;
  Random random_;
  std::atomic<std::uint64_t>* succeeded_;
  std::vector<Callee> callees_;
  std::array<std::vector<std::uint64_t>, kinds.size()> handles_;
  std::array<std::unique_ptr<Room>, most_arguments> rooms_ = {
      std::make_unique<Room>(), std::make_unique<Room>(), std::make_unique<Room>(),
      std::make_unique<Room>(), std::make_unique<Room>(), std::make_unique<Room>()};
  std::unique_ptr<Room> inner_ = std::make_unique<Room>();
};

/// Counted by all programs together.
class SharedCount {
 public:
  SharedCount()
      : count_(new (::mmap(nullptr, sizeof *count_, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0)) std::atomic<std::uint64_t>{0}) {}
  ~SharedCount() { ::munmap(count_, sizeof *count_); }
  SharedCount(const SharedCount&) = delete;
  SharedCount& operator=(const SharedCount&) = delete;
  std::atomic<std::uint64_t>& operator*() { return *count_; }

 private:
  std::atomic<std::uint64_t>* count_;
};

TEST(RandomCalls, NeitherCrashNorWriteBeyondTheirRoom) {
  const std::uint64_t calls = std::getenv("CLEAVE_LONG") != nullptr ? 1'000'000 : 40'000;
  constexpr std::size_t programs = 8;
  const TemporaryFolder folder;
  ASSERT_TRUE(create_sim_node(folder.path(), node_spec("A100-40GB,H100-80GB-SXM5")));
  ::setenv(sim_node_variable, folder.path().c_str(), 1);
  SharedCount made, succeeded;
  Random random(23);
  std::uint64_t seed = 0;
  const auto start = [&] {
    ++seed;
    return std::make_unique<Child>([&] {
      RandomProgram program(seed, *succeeded);
      while ((*made).fetch_add(1) < calls)
        if (!program.call()) return 1;
      return 0;
    });
  };
  std::vector<std::unique_ptr<Child>> running;
  for (std::size_t i = 0; i < programs; ++i) running.push_back(start());
  int killed = 0;
  while (*made < calls) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5 + random.below(20)));
    auto& one = running[random.below(programs)];
    // Nobody kills one that ended by itself: how it ended is what is tested.
    int status = 0;
    if (::waitpid(one->pid(), &status, WNOHANG) != 0) {
      one->is_gone();
      ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
      if (*made >= calls) break;
    } else {
      one->kill_it();
      ++killed;
    }
    one = start();
  }
  for (auto& each : running)
    if (each->pid() > 0) {
      EXPECT_EQ(each->wait(), 0);
    }
  EXPECT_GT(killed, 0);
  EXPECT_GT(*succeeded, calls / 8) << "of " << calls;
  EXPECT_EQ(sim_node_flaw(folder.path()).value(), "");
  ASSERT_EQ(library().nvmlInit_v2(), success);
  EXPECT_EQ(library().nvmlShutdown(), success);
  ::unsetenv(sim_node_variable);
}

}  // namespace
}  // namespace cleave::sim
