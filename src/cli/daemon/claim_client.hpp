#pragma once
// Claims as commands make and give them back: asking again until the daemon has done it, for a time
// that the caller bounds.

#include <chrono>
#include <string>

#include "api/claim_documents.hpp"
#include "api/client.hpp"

namespace cleave::cli {

/// How long to ask again: while there is no room, and while what has been taken is being made.
struct ClaimPatience {
  std::chrono::milliseconds room{};
  std::chrono::milliseconds making = std::chrono::seconds(60);
};

/// Asks until the claim holds its instances. The error's place is the daemon's word for why not:
/// no_room, fits_by_size_not_by_position, too_large, paused, differs, releasing; or failed, where
/// the GPUs refused. After no_room nothing of the claim is left.
[[nodiscard]] Result<ApiClaim> make_claim(ApiClient& daemon, const std::string& key,
                                          const ClaimOrder& order, const ClaimPatience& patience);
/// Gives it back, and waits for its processes to end for at most `patience`. Its last state.
[[nodiscard]] Result<ApiClaim> release_claim(ApiClient& daemon, const std::string& key,
                                             std::chrono::milliseconds patience);
[[nodiscard]] Result<std::vector<ApiClaim>> list_claims(ApiClient& daemon);
[[nodiscard]] std::string claim_target(const std::string& key);

/// Whether the same request may succeed later although nobody changes it.
[[nodiscard]] bool may_have_room_later(const Error& error);

/// "3g.20gb", "1g.5gb:3"; "9216", "9G", "9G:2" by memory.
[[nodiscard]] Result<ClaimAsk> parse_claim_ask(const std::string& text, bool by_memory);

}  // namespace cleave::cli
