#include "cli/daemon/claim_client.hpp"

#include <algorithm>
#include <array>
#include <thread>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

namespace cleave::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds first_pause{10}, longest_pause{500};

/// Pauses that grow, until a moment.
class Pauses {
 public:
  explicit Pauses(std::chrono::milliseconds patience) : until_(Clock::now() + patience) {}
  /// False, without a pause, once the time is up.
  bool pause() {
    if (Clock::now() >= until_) return false;
    std::this_thread::sleep_for(std::min<Clock::duration>(next_, until_ - Clock::now()));
    next_ = std::min(2 * next_, longest_pause);
    return true;
  }

 private:
  Clock::time_point until_;
  std::chrono::milliseconds next_ = first_pause;
};

Result<ApiClaim> ask_claim(ApiClient& daemon, std::string_view method, const std::string& key,
                           const std::string& body = {}) {
  const auto document = daemon.ask_json(method, claim_target(key), body);
  if (!document) return std::unexpected(document.error());
  return read_claim(*document, "the daemon's answer");
}

}  // namespace

std::string claim_target(const std::string& key) {
  return fmt::format("/v1/claims/{}", percent_encoded(key));
}

bool may_have_room_later(const Error& error) {
  constexpr std::array<std::string_view, 4> later = {"no_room", "fits_by_size_not_by_position",
                                                     "releasing", "paused"};
  return std::ranges::find(later, error.place) != later.end();
}

Result<ApiClaim> make_claim(ApiClient& daemon, const std::string& key, const ClaimOrder& order,
                            const ClaimPatience& patience) {
  const std::string body = to_json(order).dump();
  Pauses room(patience.room), making(patience.making);
  while (true) {
    const auto claim = ask_claim(daemon, "PUT", key, body);
    if (!claim) {
      const bool again = may_have_room_later(claim.error()) || daemon.unreachable();
      if (again && room.pause()) continue;
      return std::unexpected(claim.error());
    }
    if (claim->state == ClaimState::held) return claim;
    if (claim->state == ClaimState::failed)
      return fail(ErrorKind::infeasible, "failed", claim->why,
                  "`cleave events` shows what the GPUs said");
    if (!making.pause())
      return fail(ErrorKind::infeasible, "making", "its instances are still being made",
                  "ask again: cleave claim show " + key);
  }
}

Result<ApiClaim> release_claim(ApiClient& daemon, const std::string& key,
                               std::chrono::milliseconds patience) {
  Pauses pauses(patience);
  while (true) {
    const auto claim = ask_claim(daemon, "DELETE", key);
    if (!claim && daemon.unreachable() && pauses.pause()) continue;
    if (!claim || claim->state == ClaimState::released || !pauses.pause()) return claim;
  }
}

Result<std::vector<ApiClaim>> list_claims(ApiClient& daemon) {
  const auto document = daemon.ask_json("GET", "/v1/claims");
  if (!document) return std::unexpected(document.error());
  return read_claims(*document, "the daemon's answer");
}

Result<ClaimAsk> parse_claim_ask(const std::string& text, bool by_memory) {
  ClaimAsk ask;
  const std::size_t colon = text.rfind(':');
  const auto count =
      colon == std::string::npos ? std::nullopt : parse_integer(text.substr(colon + 1));
  const std::string what = count ? text.substr(0, colon) : text;  // MODEL:PROFILE has one too
  if (count) {
    if (*count < 1 || *count > most_claimed)
      return fail(ErrorKind::bad_usage, text, "the count is not a number of instances",
                  fmt::format("write {}:2", what));
    ask.count = *count;
  }
  if (!by_memory) {
    ask.profile = what;
    return ask;
  }
  // 9G, as Slurm's users write it, is 9 GiB.
  const bool short_unit =
      !what.empty() && std::string_view("KMG").find(what.back()) != std::string_view::npos;
  const auto memory = parse_size(short_unit ? what + "iB" : what);
  if (!memory)
    return fail(ErrorKind::bad_usage, text, "this is not an amount of memory",
                "write 9G, or 9216M");
  ask.memory = *memory;
  return ask;
}

}  // namespace cleave::cli
