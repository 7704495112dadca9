#pragma once
// Those parts of a job that nobody searches by, as one text each: what a store keeps in a single
// column. JSON without spaces, with its version under "v" (1 so far), times in whole nanoseconds,
// so that a record comes back exactly as it went. What is absent or nothing is left out; what a
// newer Cleave might assume otherwise is written out.
//
// Texts are UTF-8, as the check of a launch demands; bytes that are not come back as U+FFFD.

#include <string>
#include <string_view>
#include <vector>

#include "control/job_record.hpp"
#include "model/claim.hpp"
#include "model/live_plan.hpp"

namespace cleave {

[[nodiscard]] std::string owner_text(const JobOwner& owner);
[[nodiscard]] std::string spec_text(const JobSpec& spec);
[[nodiscard]] std::string request_text(const Request& request);
[[nodiscard]] std::string command_text(const JobCommand& command);
/// All but what the store searches by: its number, its state and its end.
[[nodiscard]] std::string plan_text(const LivePlan& plan);
[[nodiscard]] std::string claim_text(const Claim& claim);
[[nodiscard]] std::string instants_text(const std::vector<Instant>& instants);

// And back. `place` names the text in errors: a damaged text, an unknown key, a version that is not
// known.

[[nodiscard]] Result<JobOwner> parse_owner(std::string_view text, const std::string& place);
[[nodiscard]] Result<JobSpec> parse_spec(std::string_view text, const std::string& place);
[[nodiscard]] Result<Request> parse_request(std::string_view text, const std::string& place);
[[nodiscard]] Result<JobCommand> parse_command(std::string_view text, const std::string& place);
[[nodiscard]] Result<LivePlan> parse_plan(std::string_view text, const std::string& place);
[[nodiscard]] Result<Claim> parse_claim(std::string_view text, const std::string& place);
[[nodiscard]] Result<std::vector<Instant>> parse_instants(std::string_view text,
                                                          const std::string& place);

}  // namespace cleave
