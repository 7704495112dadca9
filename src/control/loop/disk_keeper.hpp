#pragma once
// Keeps jobs from filling the disk: looks at the room of the file systems, weighs what jobs keep,
// forgets the oldest ended ones of users who keep too much, or of those who keep most where room is
// short, and stops running jobs whose folders take too much. verdicts/disk_verdicts.hpp says when.
//
// Users decide how many files there are, so that everything goes by small pieces with other work in
// between: an attempt is weighed at a time, or a page of the store counted, or some jobs forgotten.

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "control/book/retention.hpp"
#include "control/loop/job_lifecycle.hpp"
#include "control/requests.hpp"
#include "control/settings.hpp"
#include "control/verdicts/disk_verdicts.hpp"

namespace cleave {

/// Watches the disk, and acts.
class DiskKeeper {
 public:
  /// What it asks the world.
  struct Questions {
    std::function<std::vector<DiskRoom>()> look;  // empty: how much room there is is not known
    ExemptUsers exempt;
  };
  /// All must outlive it.
  DiskKeeper(const Clock& clock, const ControlSettings& settings, NodeState& node, Book& book,
             Retention& retention, JobLifecycle& lifecycle, Runner& runner, Questions questions)
      : clock_(clock),
        settings_(settings),
        node_(node),
        book_(book),
        retention_(retention),
        lifecycle_(lifecycle),
        runner_(runner),
        questions_(std::move(questions)) {}

  /// What the store holds up to the last job that the node knows is counted from now on.
  void begin() { uncounted_ = node_.last_job; }
  /// Does what is due, and no more than a piece of it.
  void step();
  /// When step() has something to do next.
  [[nodiscard]] Duration next() const;
  /// As Control::purge.
  [[nodiscard]] Result<Purged> purge(std::span<const JobNumber> jobs, bool only_say);

 private:
  /// A job whose folders are being weighed.
  struct Weighing {
    JobNumber job = 0;
    std::vector<JobKey> left;
    std::int64_t bytes = 0;
  };
  /// Jobs that were forgotten and of which nothing has been said yet.
  struct Forgotten {
    std::size_t jobs = 0;
    JobRecord last;
    bool for_room = false;
  };

  void look();
  [[nodiscard]] bool has_dropped() const;
  void count_stored();
  void forget_some();
  [[nodiscard]] std::optional<JobNumber> next_to_go() const;
  bool forget_one(JobNumber number);
  void say_what_was_forgotten();
  void begin_round();
  void weigh_some();
  [[nodiscard]] bool begin_next_job();
  [[nodiscard]] std::optional<std::vector<JobKey>> folders_of(JobNumber number);
  void weigh(const JobKey& key);
  void stop(const JobKey& key, std::int64_t bytes);

  const Clock& clock_;
  const ControlSettings& settings_;
  NodeState& node_;
  Book& book_;
  Retention& retention_;
  JobLifecycle& lifecycle_;
  Runner& runner_;
  Questions questions_;

  JobNumber counted_ = 0, uncounted_ = 0;  // how far the store was counted, and how far it is to be
  Duration look_at_{}, round_at_{}, say_at_{}, piece_at_{};
  std::vector<DiskRoom> at_round_;  // the room when the last round began
  std::deque<JobNumber> round_;     // unfinished jobs that are still to be weighed in it
  std::optional<Weighing> weighing_;
  std::int64_t freed_ = 0;           // by what was forgotten lately
  Duration freed_until_{};           // when that shows in what is seen of the disk
  std::size_t forgotten_since_ = 0;  // jobs, since the last look
  std::set<JobNumber> stuck_;        // could not be forgotten, and are tried again after a while
  std::map<std::uint32_t, Forgotten> unsaid_;
};

}  // namespace cleave
