#pragma once
// The engine as the loop uses it. The brain is told events and has each command of the answer
// carried out; it numbers jobs for the engine, keeps what schedulers may know of them, and notes
// when the engine wants to be woken. brain.cpp and known_facts.hpp are the only files of control/
// that know engine/.
//
// Whatever goes otherwise than commanded makes the engine useless: begin_rebuild() says so, and
// from then on nothing reaches it until make() has made another (loop/engine_rebuild.hpp).

#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "control/clock.hpp"
#include "control/node/live_job.hpp"
#include "control/node/tally.hpp"
#include "model/event.hpp"
#include "model/fleet_file.hpp"
#include "model/gpu_reservation.hpp"
#include "model/past_use.hpp"
#include "model/user_limits.hpp"

namespace cleave {

class Refusals;

/// Decides by the one engine, and has its commands carried out.
class Brain {
 public:
  using CarryOut = std::function<void(const Command&)>;

  /// `clock` must outlive the brain.
  explicit Brain(const Clock& clock);
  ~Brain();
  Brain(const Brain&) = delete;
  Brain& operator=(const Brain&) = delete;
  /// Before anything is told. Carrying out may tell the brain more.
  void set_carry_out(CarryOut carry_out) { carry_out_ = std::move(carry_out); }

  /// From now on it is measured how long decisions take.
  void set_stopwatch(Stopwatch stopwatch) { stopwatch_ = std::move(stopwatch); }
  /// What the engine took for each event, and to settle what it was told.
  [[nodiscard]] const TimeCounts& decisions() const { return decisions_; }

  // Schedulers and forecasters, as texts that users write.

  [[nodiscard]] static Result<void> check_forecaster(const std::string& text);
  /// Whether this scheduler could decide over the fleet, of which these GPUs are reserved; with
  /// `kinds`, over services and leases too.
  [[nodiscard]] static Result<void> check_scheduler(
      const std::string& text, const FleetFile& fleet,
      std::span<const GpuReservation> reservations = {}, bool kinds = false,
      const UserLimits& limits = {});
  /// The scheduler's name if it stops jobs and starts them again; empty: it does not.
  [[nodiscard]] static Result<std::string> interrupting_name(const std::string& text);
  /// Whether the scheduler in use gives jobs the profile that they name, and chooses none itself.
  [[nodiscard]] bool gives_named_profiles() const;
  /// Whether no job may begin before one that came first, as that scheduler is set.
  [[nodiscard]] bool keeps_order() const;
  void choose_scheduler(std::string text) { scheduler_ = std::move(text); }
  [[nodiscard]] const std::string& scheduler() const { return scheduler_; }

  // The engine's life.

  /// Whether there is an engine that may be told something.
  [[nodiscard]] bool active() const { return parts_ != nullptr && !rebuilding_; }
  [[nodiscard]] bool rebuilding() const { return rebuilding_; }
  [[nodiscard]] const std::string& rebuild_reason() const { return rebuild_reason_; }
  /// Why no engine can be made of the scheduler; empty: one can.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  /// From now on nothing is told to the engine. False: it was so already.
  bool begin_rebuild(const std::string& why);
  /// What an engine knows from the beginning: what the operator gave of applications, or null; and
  /// on the wall clock what users held before, and which GPUs are reserved.
  struct Background {
    const ApplicationTimes* given = nullptr;
    std::span<const PastUse> past_use = {};
    std::span<const GpuReservation> reservations = {};
    bool kinds = false;  // there are services or leases
    UserLimits limits = {};
  };
  /// Another engine, which knows nothing else yet. False: see trouble().
  bool make(const FleetFile& fleet, const std::string& forecaster, const Background& background);
  /// The scheduler keeps instances that nobody uses.
  [[nodiscard]] bool furnishes() const;
  /// The scheduler puts jobs on GPUs with MIG off. As of the last engine that could be made.
  [[nodiscard]] bool wants_whole_gpus() const;
  /// Whether the engine was told that there may be services and leases.
  [[nodiscard]] bool takes_kinds() const;
  /// How many jobs the engine has ever heard of.
  [[nodiscard]] std::size_t jobs_known() const;

  // GPUs that refused a change rest for a while, whichever engine there is.

  /// The GPU refused to destroy an instance or to change its mode. Of one that it refused to make,
  /// the engine hears by CreateFailed.
  void refused(GpuId gpu);
  /// The GPU made an instance.
  void made(GpuId gpu);
  [[nodiscard]] bool rests(GpuId gpu) const;

  // Telling. All of it does nothing where the brain is not active.

  /// Tells, and carries out what the engine answers.
  void tell(const Event& event);
  /// Only tells; returns the commands of the answer, until the next call. carry_out() follows.
  std::span<const Command> collect(const Event& event);
  void carry_out();
  /// Lets the scheduler settle what it was told, without carrying out what it answers. As
  /// collect().
  void collect_settled();
  /// Lets the scheduler settle what it was told since the last time.
  void settle();
  /// Wakes the engine if that is due.
  void wake();
  /// When it wants to be woken, on the steady clock; Duration::max(): not at all.
  [[nodiscard]] Duration next_wake() const;

  // Jobs. Each gets a number that is the engine's; of several processes each does.

  using Processes = std::span<LiveJob* const>;
  /// The event that the job waits. Numbers it; tell it next.
  [[nodiscard]] Event submission_of(Processes job);
  /// The events that it runs, each process at its place. Numbers it; tell them next.
  [[nodiscard]] std::vector<Event> adoption_of(Processes job);
  /// The job has begun, or has reported how far it is: schedulers may know its times and its end.
  void learnt(Processes job);
  /// The event that a lease, which runs and which the engine knows, would do with this memory.
  [[nodiscard]] Event idleness_of(const LiveJob& lease, MiB enough);
  [[nodiscard]] JobNumber number_of(JobId id) const;
  /// What the scheduler says of a job that waits, for people.
  struct Outlook {
    std::optional<JobPlace> kept;   // a place for it alone
    std::optional<Duration> in;     // until it is expected to be free, where that is known
    std::string user_limit;         // what its user has as much of as the queue allows
    std::string order;              // what goes before the order of submission; empty: nothing
    bool waits_for_better = false;  // there is room, but a better place is expected soon
    std::string size;               // why its instance is as large as it is; empty: not said
    std::string host;               // of what the host has too little left for it; empty: nothing
    bool array_is_full = false;     // as many of its array as may run at a time go before it
  };
  /// Nothing where the engine does not know the job.
  [[nodiscard]] Outlook outlook(const LiveJob& job) const;
  /// What a job of the engine asks for now.
  [[nodiscard]] Request request_of(JobId id) const;

 private:
  struct Parts;
  /// Has the engine decide, and measures that.
  void decide(const std::function<void()>& decision);
  void admit(Processes job);
  /// When the last of its processes is expected to end, on the engine's clock; nothing where that
  /// is not known of each.
  [[nodiscard]] std::optional<Instant> end_of(Processes job) const;
  [[nodiscard]] std::optional<Instant> end_of(const LiveJob& process) const;

  const Clock* clock_;
  CarryOut carry_out_;
  std::string scheduler_;
  bool rebuilding_ = true;
  std::string rebuild_reason_ = "the daemon has begun";
  std::string trouble_;
  std::unique_ptr<Refusals> refusals_;
  std::unique_ptr<Parts> parts_;
  std::vector<Command> commands_;
  std::multiset<Duration> wakes_;
  bool unsettled_ = false, carrying_out_ = false;
  Stopwatch stopwatch_;
  TimeCounts decisions_{computing_bounds_s};
};

}  // namespace cleave
