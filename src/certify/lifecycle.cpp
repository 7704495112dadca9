#include "certify/lifecycle.hpp"

#include <algorithm>
#include <set>
#include <thread>

#include "base/format.hpp"
#include "certify/helpers.hpp"
#include "certify/timed_door.hpp"
#include "device/changing_gpu.hpp"

namespace cleave::certify {

namespace {

constexpr auto topic = Topic::lifecycle;
constexpr const char* program = "cleave certify";
/// Longer than any change takes on hardware.
constexpr auto most_per_step = std::chrono::minutes(2);
constexpr auto most_until_busy = std::chrono::seconds(20);
constexpr auto counted_for = std::chrono::milliseconds(500);

Answer measured(const std::string& what, const std::string& about, Json value) {
  return {topic, what, about, Outcome::answered, nvml::Return::success, std::move(value), {}};
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

Json shares_json(const BusyShares& shares) {
  const auto whole = [](const std::optional<double>& share) {
    return share ? Json(*share) : Json(nullptr);
  };
  return {{"sm_activity", whole(shares.sm_activity)},
          {"sm_occupancy", whole(shares.sm_occupancy)},
          {"tensor_activity", whole(shares.tensor_activity)},
          {"dram_activity", whole(shares.dram_activity)}};
}

/// The instances on one GPU, made and destroyed one at a time.
class Lifecycle {
 public:
  Lifecycle(Asking& asking, Door& door, ChangingGpu& changing, TimedDoor& timed,
            const Consent& consent, HandleHolder& holder)
      : asking_(asking),
        door_(door),
        changing_(changing),
        timed_(timed),
        consent_(consent),
        holder_(holder) {}

  void run() {
    const Geometry& geometry = changing_.view().geometry->geometry();
    const Profile* smallest = nullptr;
    int start_of_smallest = 0;
    for (const Profile& profile : geometry.model().profiles) {
      if (stopped() || !left_.empty()) break;
      const auto start = free_start(profile);
      if (!start) {
        asking_.leave(topic, "create", std::string(profile.name),
                      "instances that others made are in the way");
        continue;
      }
      measure(profile, *start);
      if (profile.attribute != Attribute::none) continue;
      smallest = &profile;
      start_of_smallest = *start;
    }
    const auto goes_on = [&] { return smallest != nullptr && !stopped() && left_.empty(); };
    if (goes_on()) try_holders(*smallest, start_of_smallest);
    if (goes_on()) try_busy(*smallest, start_of_smallest);
    if (stopped())
      asking_.leave(topic, "the rest", "", "interrupted");
    else if (!left_.empty())
      asking_.leave(topic, "the rest", "", "an instance could not be destroyed, and is in the way");
    asking_.tell(measured(what_is_left, "", left_));
  }

 private:
  [[nodiscard]] bool stopped() const { return consent_.enough && consent_.enough(); }

  /// A start at which no instance stands.
  [[nodiscard]] std::optional<int> free_start(const Profile& profile) const {
    for (const int start : profile.starts.preferred()) {
      const int end = start + profile.memory.value;
      const bool taken =
          std::ranges::any_of(changing_.view().instances, [&](const InstanceView& each) {
            const auto first = static_cast<int>(each.live.placement.start);
            return first < end && start < first + static_cast<int>(each.live.placement.size);
          });
      if (!taken) return start;
    }
    return {};
  }

  /// A driver that refuses has answered too.
  std::optional<LiveInstance> create(const Profile& profile, int start) {
    auto made = changing_.create(profile, start, patience());
    Answer answer = measured("create", std::string(profile.name), nullptr);
    answer.code = made ? nvml::Return::success : timed_.last_create();
    if (!made && answer.code == nvml::Return::success)
      asking_.leave(topic, "create", std::string(profile.name), made.error().text());
    else if (told_.insert(profile.name).second)
      asking_.tell(answer);
    if (!made) return {};
    return std::move(*made);
  }

  /// Waits for what still uses it, as the daemon does; what stays is named at the end.
  bool destroy(const LiveInstance& instance) {
    const auto gone = changing_.destroy(instance.id, false, Patience{});
    if (!gone) left_.push_back(fmt::format("{}: {}", called(instance), gone.error().text()));
    return gone.has_value();
  }

  [[nodiscard]] Patience patience() const {
    Patience patience;
    patience.enough = consent_.enough;
    return patience;
  }

  void tell_time(const char* what, DoorCall call, const std::string& about) {
    const std::vector<double>& times = timed_.times(call);
    if (!times.empty()) asking_.tell(measured(what, about, median(times)));
  }

  /// Makes the profile some times; the driver's times are of its own calls alone.
  void measure(const Profile& profile, int start) {
    const std::string about(profile.name);
    timed_.reset();
    for (int round = 0; round < consent_.rounds && !stopped(); ++round) {
      const auto made = create(profile, start);
      if (!made) return;
      if (round == 0) tell_memory("memory of an idle instance", about, *made);
      if (!destroy(*made)) return;
    }
    tell_time("time to create a GPU instance, ms", DoorCall::create_gpu_instance, about);
    tell_time("time to create a compute instance, ms", DoorCall::create_compute_instance, about);
    tell_time("time to destroy a compute instance, ms", DoorCall::destroy_compute_instance, about);
    tell_time("time to destroy a GPU instance, ms", DoorCall::destroy_gpu_instance, about);
  }

  void tell_memory(const char* what, const std::string& about, const LiveInstance& instance) {
    if (instance.computes.empty()) return;
    const auto memory = door_.memory(instance.gpu, instance.id, instance.computes.front().id);
    Answer answer = measured(what, about, nullptr);
    if (memory)
      answer.value = {{"total", memory->total_bytes}, {"used", memory->used_bytes}};
    else
      answer.code = memory.error().code;
    asking_.tell(answer);
  }

  /// What the driver says to one attempt to destroy the instance.
  void tell_attempt(const char* what, const std::string& about, const LiveInstance& instance) {
    timed_.reset();
    Patience none;
    none.at_most = std::chrono::milliseconds(0);
    none.holders = [](auto) { return std::vector<DeviceHolder>{}; };
    const auto gone = changing_.destroy(instance.id, false, none);
    Answer answer = measured(what, about, nullptr);
    answer.code = gone ? nvml::Return::success : timed_.last_destroy();
    asking_.tell(answer);
  }

  /// As long as the driver does not say that it is gone.
  [[nodiscard]] bool stands(const LiveInstance& instance) {
    return !changing_.look() ||
           std::ranges::any_of(changing_.view().instances, [&](const InstanceView& each) {
             return each.live.id == instance.id;
           });
  }

  void try_holders(const Profile& profile, int start) {
    const std::string about(profile.name);
    const auto made = create(profile, start);
    if (!made || made->computes.empty()) return;
    if (holder_.hold(made->computes.front().uuid))
      tell_attempt("hold: destroy while another process has the handle", about, *made);
    else
      asking_.leave(topic, "hold: destroy while another process has the handle", about,
                    "the other process did not get the handle");
    holder_.release();
    if (stands(*made)) destroy(*made);
  }

  [[nodiscard]] bool wait_until_busy(const LiveInstance& instance, BusyProgram& busy) {
    const auto until = std::chrono::steady_clock::now() + most_until_busy;
    while (busy.runs() && !stopped() && std::chrono::steady_clock::now() < until) {
      const auto processes = door_.processes(instance.gpu);
      if (processes && !processes->empty()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }

  void tell_counted(const char* what, const std::string& about, const LiveInstance& instance) {
    Answer answer = measured(what, about, nullptr);
    auto shares = door_.busy_shares(instance.gpu, instance.id, Counting::anew);
    std::this_thread::sleep_for(counted_for);
    if (shares) shares = door_.busy_shares(instance.gpu, instance.id, Counting::on);
    if (!shares)
      answer.code = shares.error().code;
    else if (*shares)
      answer.value = shares_json(**shares);
    asking_.tell(answer);
  }

  void try_busy(const Profile& profile, int start) {
    const std::string about(profile.name);
    const auto made = create(profile, start);
    if (!made || made->computes.empty()) return;
    tell_counted("counting of an idle instance", about, *made);
    if (consent_.busy.empty()) {
      asking_.leave(topic, "memory of a busy instance", about, "no command was given to run on it");
    } else {
      BusyProgram busy(consent_.busy, made->computes.front().uuid);
      if (wait_until_busy(*made, busy)) {
        tell_memory("memory of a busy instance", about, *made);
        tell_counted("counting of a busy instance", about, *made);
        tell_attempt("hold: destroy while a program runs on it", about, *made);
      } else {
        asking_.leave(topic, "memory of a busy instance", about,
                      "the command did not show up on the instance");
      }
    }
    if (stands(*made)) destroy(*made);
  }

  Asking& asking_;
  Door& door_;
  ChangingGpu& changing_;
  TimedDoor& timed_;
  const Consent& consent_;
  HandleHolder& holder_;
  std::set<std::string_view> told_;  // profiles of which it was said whether they can be made
  Json left_ = Json::array();
};

/// Why no instance may be made there; empty if they may.
std::string not_now(Door& door, GpuIndex gpu) {
  const auto mig = door.mig_mode(gpu);
  if (!mig) return explain(mig.error()).message;
  if (!mig->current) return "MIG is off";
  const auto processes = door.processes(gpu);
  if (!processes) return explain(processes.error()).message;
  if (!processes->empty()) return fmt::format("the GPU is in use by {}", pids_text(*processes));
  return "";
}

}  // namespace

Result<Found> make_and_destroy(const Source& source, GpuIndex gpu, const Consent& consent) {
  const auto work = [&](Inside& inside) -> Result<void> {
    HandleHolder holder(source.file);
    const auto door = NvmlDoor::open(source.file);
    if (!door) return std::unexpected(door.error());
    if (const std::string why = not_now(**door, gpu); !why.empty()) {
      inside.asking.leave(topic, "create", "", why);
      return {};
    }
    TimedDoor timed(**door, inside.note);
    auto changing = ChangingGpu::begin(timed, gpu, consent.state, program);
    if (!changing) return std::unexpected(changing.error());
    if (!changing->view().geometry)
      return fail(ErrorKind::infeasible, place_of(gpu), "its profiles were not read");
    Lifecycle(inside.asking, timed, *changing, timed, consent, holder).run();
    return {};
  };
  Watch watch;
  watch.most_silent = most_per_step;
  watch.enough = consent.enough;
  watch.log = consent.log;
  return in_a_process(source, work, watch);
}

}  // namespace cleave::certify
