#pragma once
// How a claim is prepared for its pod and unprepared afterwards, one step at a time. Each step
// follows from what is there: what the API server says of the claim, what the daemon holds under
// its key, and whether its CDI file is written. Nothing is remembered here, so that a crash between
// any two steps, and a call that comes again, go on where things are.
//
// Forwards the daemon has its claim first, which it writes before it touches a GPU; then the file;
// then the answer. Backwards the file goes first, so that no new container finds an instance that
// is on its way out.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kube/claim_cdi.hpp"

namespace cleave {

/// The next thing to do for a claim.
enum class PrepareStep : std::uint8_t {
  claim_it,   // ask the daemon for its instances
  give_back,  // the daemon has something else under its key: release it
  wait,       // the daemon is at it
  write,      // the CDI file
  done,       // prepared, or unprepared
  refuse      // it cannot be: `why`
};

/// It, and the reason where there is one.
struct PrepareVerdict {
  PrepareStep step = PrepareStep::done;
  std::string why;
};

/// `at_daemon`: what it holds under the claim's key; `file`: the text of the CDI file that is
/// there, `wanted_file` the one that is to be there, once all instances are known.
struct PrepareView {
  std::optional<Claim> at_daemon;
  bool same_places = true;  // what it holds is what the allocation says
  std::optional<std::string> file, wanted_file;
};

/// `tried`: this call has seen the daemon fail already, and another try would do no better.
[[nodiscard]] PrepareVerdict judge_prepare(const KubeClaim& claim, const PrepareView& view,
                                           bool tried);
[[nodiscard]] PrepareStep judge_unprepare(const PrepareView& view);

/// Whether the daemon's claim has the places of the allocation and no others.
[[nodiscard]] bool holds_the_same(const KubeClaim& claim, const Claim& at_daemon,
                                  std::span<const KubeGpu> gpus);
/// The UUIDs of the claim's instances in the order of its grants; nothing where one is not there.
[[nodiscard]] std::optional<std::vector<std::string>> uuids_of(const KubeClaim& claim,
                                                               const Claim& at_daemon,
                                                               std::span<const KubeGpu> gpus);

/// Of the daemon's claims, those for which no ResourceClaim is allocated here any more. `allocated`
/// has the UIDs of those that are; where they could not all be read it is empty, and none is given
/// back: an unread claim may have a pod at work.
[[nodiscard]] std::vector<std::string> keys_to_give_back(
    const std::vector<std::string>& keys, const std::optional<std::set<std::string>>& allocated);

}  // namespace cleave
