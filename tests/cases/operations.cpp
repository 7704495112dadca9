#include "operations.hpp"

#include <algorithm>

namespace cleave::cases {

namespace {

constexpr Operation table[] = {
    {"geometry", "table", geometry::table},
    {"geometry", "legal", geometry::legal},
    {"geometry", "free", geometry::free_places},
    {"geometry", "counts", geometry::counts},
    {"geometry", "states", geometry::states},
    {"geometry", "assumption1", geometry::assumption1},
    {"reachability", "fcr", reachability::fcr},
    {"reachability", "all", reachability::all},
    {"reachability", "choose", reachability::choose},
    {"reachability", "choose_size", reachability::choose_size},
    {"fragmentation", "cost", fragmentation::cost, fragmentation::other_formula},
    {"fragmentation", "choose", fragmentation::choose, fragmentation::other_formula},
    {"online", "arrive", online::arrive},
    {"online", "depart", online::depart},
    {"predictor", "fit", predictor::fit},
    {"predictor", "predict", predictor::predict},
    {"predictor", "run", predictor::run},
    {"schemes", "A", schemes::scheme_a},
    {"schemes", "B", schemes::scheme_b},
    {"schemes", "baseline", schemes::baseline},
    {"placement", "deploy", placement::deploy},
    {"placement", "compact", placement::compact},
    {"placement", "reconfigure", placement::reconfigure},
    {"placement", "metrics", placement::measure},
    {"placement", "optimum", placement::optimum},
    {"placement", "partitions", placement::partitions},
    {"placement", "wpm_waste", placement::waste_of_model},
    {"dynap", "bpp", dynap::choose_partitions},
    {"dynap", "stp", dynap::throughput},
    {"dynap", "fm", dynap::fragmentation_measure},
    {"dynap", "rlp", dynap::reconfigure_last},
    {"dynap", "bnb", dynap::best_batch},
    {"reward", "reward", reward::of_one},
    {"reward", "best", reward::best},
    {"wasted", "table", wasted::table},
    {"wasted", "waste", wasted::of_mix},
};

}  // namespace

const Operation* find_operation(std::string_view module, std::string_view op) {
  const auto* const row = std::ranges::find_if(table, [&](const Operation& operation) {
    return operation.module == module && operation.op == op;
  });
  return row == std::end(table) ? nullptr : row;
}

}  // namespace cleave::cases
