#pragma once
// What there is to see of the node, for users: jobs, GPUs, what is wrong, and why a job waits.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "control/figures.hpp"
#include "control/loop/gpu_listener.hpp"
#include "control/requests.hpp"
#include "control/verdicts/expected_end.hpp"
#include "model/gpu_reservation.hpp"

namespace cleave {

/// Where each job of the queue stands, and what room there is: worked out once, then asked for many
/// jobs.
struct QueueView {
  std::map<JobNumber, std::size_t> before;  // how many jobs wait in front of it
  std::vector<PlacementSet> free;           // by GPU: places beside what is in use
};

/// Answers questions about the node, and changes nothing.
class Listing {
 public:
  /// All must outlive it.
  Listing(const Clock& clock, const ControlSettings& settings, const NodeState& node,
          const Book& book, const Brain& brain, const GpuListener& gpus)
      : clock_(clock), settings_(settings), node_(node), book_(book), brain_(brain), gpus_(gpus) {}

  // Each is as control.hpp says.

  [[nodiscard]] const JobRecord* job(JobNumber number) const;
  [[nodiscard]] std::vector<const JobRecord*> jobs() const;
  [[nodiscard]] const AttemptRecord* attempt_of(JobNumber number) const;
  [[nodiscard]] std::optional<MiB> memory_of(JobNumber number) const;
  [[nodiscard]] std::optional<ExpectedEnd> expected_end_of(JobNumber number, Moment now) const;
  [[nodiscard]] const EndedProcess* end_of_process(JobNumber number) const;
  [[nodiscard]] ServiceStatus service(JobNumber number) const;
  [[nodiscard]] LeaseStatus lease(JobNumber number) const;
  [[nodiscard]] std::optional<Instant> starts_again_at(JobNumber number) const;
  [[nodiscard]] std::vector<GpuStatus> gpus() const;
  [[nodiscard]] std::vector<GpuReservation> reservations() const;
  [[nodiscard]] JobEnergy unwritten_energy(JobNumber job) const;
  [[nodiscard]] std::vector<UsageRow> unwritten_usage() const;
  [[nodiscard]] std::vector<std::string> troubles() const;

  [[nodiscard]] QueueView queue() const;
  /// Why a job waits that has not started; empty for others.
  [[nodiscard]] std::string why_waits(JobNumber number, const QueueView& queue) const;
  /// The same by class; nothing for others.
  [[nodiscard]] std::optional<WaitReason> wait_reason(JobNumber number,
                                                      const QueueView& queue) const;
  /// Why the instance of a job that has one is as large as it is; empty where that is not said.
  [[nodiscard]] std::string why_size(JobNumber number) const;
  [[nodiscard]] NodeFigures figures(const QueueView& queue) const;

 private:
  [[nodiscard]] GpuStanding standing_of(GpuId gpu) const;
  [[nodiscard]] JobNumber first_job_at(const JobPlace& place) const;
  void add_instances(GpuFigures& figures, GpuId gpu) const;
  void add_room(GpuFigures& figures, GpuId gpu) const;
  [[nodiscard]] std::optional<double> utilisation_of(GpuId gpu) const;
  [[nodiscard]] GpuFigures figures_of(GpuId gpu) const;
  /// Of a job that is not in the queue although it waits.
  [[nodiscard]] std::optional<WaitReason> reason_outside(const LiveJob& job,
                                                         const QueueView& queue) const;
  [[nodiscard]] WaitReason reason_inside(const LiveJob& job, const Brain::Outlook& outlook,
                                         const QueueView& queue) const;
  [[nodiscard]] std::string outside_in_words(WaitReason outside, const LiveJob& job) const;
  [[nodiscard]] std::optional<ExpectedEnd> expected_end_of(const LiveJob& process,
                                                           Moment now) const;
  [[nodiscard]] bool usable(GpuId gpu) const;
  /// Where jobs could be placed, or, `without_held`, could be if nobody held an instance that is to
  /// go.
  [[nodiscard]] PlacementSet free_places(GpuId gpu, bool without_held = false) const;
  [[nodiscard]] bool has_room(const Request& request, const QueueView& queue) const;
  [[nodiscard]] std::vector<std::string> shortages() const;
  [[nodiscard]] std::vector<std::string> not_gone() const;
  [[nodiscard]] std::vector<std::string> large_folders() const;
  [[nodiscard]] std::vector<std::string> unhealthy(GpuId gpu) const;
  [[nodiscard]] std::string closed_gpus(const Request* request) const;
  [[nodiscard]] std::string held_instances(const Request& request) const;
  [[nodiscard]] std::string stays_in_words(GpuId gpu, PlacementSet places,
                                           const std::string& why) const;
  [[nodiscard]] std::string awaited(const LiveJob& job) const;
  [[nodiscard]] std::string full_share(const JobSpec& spec) const;
  [[nodiscard]] std::string reserved_gpus(const JobRecord& job, const QueueView* queue) const;
  [[nodiscard]] bool could_serve(GpuId id, const Request& request) const;

  const Clock& clock_;
  const ControlSettings& settings_;
  const NodeState& node_;
  const Book& book_;
  const Brain& brain_;
  const GpuListener& gpus_;
};

}  // namespace cleave
