#pragma once
// Claims, from the request to the last process of their holder. Where their instances go is decided
// at once and kept from then on; nothing is done on a GPU before it is written. Their places are
// nobody else's, so that the engine takes them for walls: it is made again when one comes or goes.
//
// A daemon that begins finds its claims in the store. An instance that was made just before the
// other died is ours by the ledger, and is known by its place.

#include <map>
#include <string>
#include <vector>

#include "control/claim_status.hpp"
#include "control/loop/gpu_listener.hpp"
#include "control/verdicts/claim_verdicts.hpp"

namespace cleave {

/// How often a claim goes elsewhere because a GPU refused.
inline constexpr std::int64_t most_claim_tries = 3;
/// Between looks at instances that were given back and still have processes.
inline constexpr Duration claim_look_pause = std::chrono::milliseconds(300);

/// Makes, watches and gives back the instances of claims.
class ClaimKeeper {
 public:
  /// All must outlive it.
  ClaimKeeper(const Clock& clock, const ControlSettings& settings, NodeState& node, Book& book,
              Brain& brain, JobLifecycle& lifecycle, GpuListener& gpus)
      : clock_(clock),
        settings_(settings),
        node_(node),
        book_(book),
        brain_(brain),
        lifecycle_(lifecycle),
        gpus_(gpus) {}

  /// What earlier daemons had. After a restart of the machine no holder's programs run any more.
  void recall(const std::map<std::string, Claim>& claims, bool rebooted);
  /// Fails at once where there is no room; the words are those of place_claim(), and `differs`,
  /// `releasing` and `too_many`. With a key that holds the same already, it does nothing.
  [[nodiscard]] Result<void> make(const std::string& key, const ClaimOrder& order,
                                  const std::string& by);
  /// Gives it back; one that is not there is no failure.
  void release(const std::string& key, const std::string& by);
  /// Goes on with each.
  void step();

  /// By key; nothing where there is none.
  [[nodiscard]] std::optional<ClaimStatus> status(const std::string& key) const;
  [[nodiscard]] std::vector<ClaimStatus> all() const;
  [[nodiscard]] NodeRoom room() const { return room_of(node_, rules()); }

 private:
  [[nodiscard]] ClaimRules rules() const;
  [[nodiscard]] Result<void> may_make(const std::string& key) const;
  void refresh();
  void note(const Claim& claim);
  void enter_release(const std::string& key);
  void step(LiveClaim& claim);
  void make_places(LiveClaim& claim);
  /// Whether the instance is there; false: not yet. Where it cannot be made, `why` says so.
  [[nodiscard]] bool make_place(Claim& claim, ClaimPlace& place, std::string& why);
  void carry_out(const JobPlace& at, const ClaimStep& step);
  void take(Claim& claim, ClaimPlace& place, const JobPlace& at);
  void go_elsewhere(LiveClaim& claim, const std::string& gpu, const std::string& why);
  void watch_places(LiveClaim& claim);
  void release_places(LiveClaim& claim);
  [[nodiscard]] bool release_place(LiveClaim& claim, const ClaimPlace& place);
  void look_again(LiveClaim& claim, GpuId gpu);
  [[nodiscard]] std::optional<JobPlace> where(const ClaimPlace& place) const;
  [[nodiscard]] ClaimStatus status_of(const Claim& claim) const;
  void event(std::string kind, const Claim& claim, const std::string& text);

  const Clock& clock_;
  const ControlSettings& settings_;
  NodeState& node_;
  Book& book_;
  Brain& brain_;
  JobLifecycle& lifecycle_;
  GpuListener& gpus_;
};

}  // namespace cleave
