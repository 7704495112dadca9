// Profile repositories; they are written again and exported.

#include "base/json.hpp"
#include "forecast/choice/choice_file.hpp"
#include "forecast/choice/profile_exports.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::profile_repository_target {
namespace {

std::optional<Error> read_input(const std::string& text) {
  ProfileRepository repository;
  const auto lines = add_profiles(repository, text, "r", MergeRule::mean);
  if (!lines) return lines.error();
  const std::string written = repository_text(repository);
  ProfileRepository again;
  require(add_profiles(again, written, "w", MergeRule::mean).has_value(), "what is written reads");
  require(repository_text(again) == written, "what is read is written again");
  const auto table = training_table(repository, {});
  require(table.rows + table.left_out.size() == repository.records().size(), "none is lost");
  const auto measured = reward_question(repository, {});
  require(!measured || parse_reward_question(to_json(measured->question).dump(), "q"),
          "an exported question reads");
  require(parse_batch_question(to_json(batch_tables(repository, gpu_models().front())).dump(), "q")
              .has_value(),
          "exported tables read");
  return std::nullopt;
}

}  // namespace
}  // namespace cleave::fuzz::profile_repository_target

CLEAVE_FUZZ_TARGET(profile_repository, judged)
