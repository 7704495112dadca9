// Operations of module `reward`: the reward model of *Taming GPU Underutilization*.

#include "forecast/choice/choice_file.hpp"
#include "operations.hpp"

namespace cleave::cases::reward {

// The cases state the sum of the wastes.

Json of_one(JsonReader& in) {
  RewardQuestion question = read_reward_of_one(in);
  question.basis.form = RewardForm::sum;
  return to_json(cleave::reward(question.instances.front(), question.basis));
}

Json best(JsonReader& in) {
  RewardQuestion question = read_reward_question(in);
  question.basis.form = RewardForm::sum;
  return to_json(question, recommend(question.instances, question.basis));
}

}  // namespace cleave::cases::reward
