// Operations of module `wasted`: Table II of *Taming GPU Underutilization*, and the same sums for
// any mix.

#include "forecast/choice/choice_file.hpp"
#include "operations.hpp"

namespace cleave::cases::wasted {

Json table(JsonReader&) {
  return published_waste_json();
}

Json of_mix(JsonReader& in) {
  const WasteQuestion question = read_waste_question(in);
  return to_json(wasted_resources(question.gpu, question.instances));
}

}  // namespace cleave::cases::wasted
