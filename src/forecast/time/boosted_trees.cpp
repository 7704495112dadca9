#include "forecast/time/boosted_trees.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/format.hpp"
#include "base/installation.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "forecast/learner/learner.hpp"

namespace cleave {

void NumberRows::add(std::span<const double> row) {
  assert(row.size() == width);
  cells.insert(cells.end(), row.begin(), row.end());
}

namespace {

constexpr std::size_t most_columns = 1024;

Result<decltype(&cleave_learn)> learner() {
  static const Result<void*> function = installed_function(learner_library, learner_function);
  if (!function) return std::unexpected(function.error());
  return reinterpret_cast<decltype(&cleave_learn)>(*function);
}

Result<void> check(const NumberRows& rows, std::span<const double> targets) {
  const auto refuse = [](std::string message) {
    return fail(ErrorKind::bad_input, "", std::move(message));
  };
  if (rows.width == 0) return refuse("there is no column to learn from");
  if (rows.width > most_columns)
    return refuse(fmt::format("there are {} columns to learn from, more than the limit of {}",
                              rows.width, most_columns));
  if (targets.empty()) return refuse("there is no row to learn from");
  const auto unfit = [](double number) { return !(std::abs(number) <= largest_number); };
  const auto unfit_cell = [&](double number) { return !std::isnan(number) && unfit(number); };
  if (std::ranges::any_of(rows.cells, unfit_cell) || std::ranges::any_of(targets, unfit))
    return refuse(fmt::format("a number is beyond {}", largest_number));
  return {};
}

/// The numbers of an array, which may hold nothing else.
Result<std::vector<double>> numbers_of(const Json& tree, const char* key,
                                       const std::string& place) {
  const auto found = tree.is_object() ? tree.find(key) : tree.end();
  if (found == tree.end() || !found->is_array())
    return fail(ErrorKind::bad_input, place, fmt::format("the list '{}' is missing", key));
  std::vector<double> numbers;
  numbers.reserve(found->size());
  for (const Json& each : *found) {
    const double number =
        each.is_number() ? each.get<double>() : std::numeric_limits<double>::infinity();
    if (!(std::abs(number) <= std::numeric_limits<float>::max()))
      return fail(ErrorKind::bad_input, fmt::format("{}.{}", place, key),
                  "a number is missing or too large");
    numbers.push_back(number);
  }
  return numbers;
}

bool whole_in(double number, double least, double most) {
  return number >= least && number <= most && number == std::floor(number);
}

/// The trees in XGBoost's own JSON.
const Json* trees_of(const Json& model) {
  const Json* at = &model;
  for (const char* key : {"learner", "gradient_booster", "model", "trees"}) {
    const auto next = at->find(key);
    if (next == at->end()) return nullptr;
    at = &*next;
  }
  return at->is_array() ? at : nullptr;
}

/// XGBoost's tree in our form: nodes in breadth-first order, siblings together.
Json in_our_form(const Json& tree) {
  const Json &left = tree.at("left_children"), &right = tree.at("right_children"),
             &features = tree.at("split_indices"), &values = tree.at("split_conditions"),
             &missing = tree.at("default_left");
  std::vector<int> order = {0};
  Json ours = {{"feature", Json::array()}, {"value", Json::array()}, {"left", Json::array()}};
  ours["missing_left"] = Json::array();
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto node = static_cast<std::size_t>(order[i]);
    const bool leaf = left.at(node).get<int>() < 0;
    ours["feature"].push_back(leaf ? -1 : features.at(node).get<int>());
    ours["value"].push_back(values.at(node).get<double>());
    ours["left"].push_back(leaf ? 0 : static_cast<int>(order.size()));
    const Json& goes = missing.at(node);
    ours["missing_left"].push_back(
        !leaf && (goes.is_boolean() ? goes.get<bool>() : goes.get<int>() != 0) ? 1 : 0);
    if (leaf) continue;
    order.push_back(left.at(node).get<int>());
    order.push_back(right.at(node).get<int>());
  }
  return ours;
}

}  // namespace

Result<BoostedTrees> BoostedTrees::from_xgboost(const std::string& model, std::size_t width,
                                                bool missing) {
  const auto document = parse_json(model, "xgboost");
  if (!document) return std::unexpected(document.error());
  const Json* trees = trees_of(*document);
  if (trees == nullptr)
    return fail(ErrorKind::internal, "xgboost",
                "its model has another form than that of version 1.7");
  BoostedTrees grown;
  grown.width_ = width;
  grown.missing_ = missing;
  for (const Json& tree : *trees)
    if (const auto added = grown.add_tree(in_our_form(tree), "xgboost"); !added)
      return std::unexpected(added.error());
  return grown;
}

Result<BoostedTrees> BoostedTrees::train(const NumberRows& rows, std::span<const double> targets,
                                         const BoostingOptions& options) {
  assert(rows.size() == targets.size() || rows.width == 0);
  if (const auto fine = check(rows, targets); !fine) return std::unexpected(fine.error());
  const double mean =
      std::accumulate(targets.begin(), targets.end(), 0.0) / static_cast<double>(targets.size());
  std::vector<float> centred(targets.size());
  std::ranges::transform(targets, centred.begin(),
                         [&](double t) { return static_cast<float>(t - mean); });
  const auto learn = learner();
  if (!learn) return std::unexpected(learn.error());
  Learnt learnt;
  (*learn)(rows, centred, options, learnt);
  if (!learnt.failure.empty())
    return fail(ErrorKind::internal, "xgboost", shown(learnt.failure, 200));
  auto grown =
      from_xgboost(learnt.model, rows.width,
                   std::ranges::any_of(rows.cells, [](double cell) { return std::isnan(cell); }));
  if (grown) grown->base_ = mean;
  return grown;
}

double BoostedTrees::predict(std::span<const double> row) const {
  assert(row.size() == width_);
  double sum = base_;
  for (std::uint32_t at : roots_) {
    // Single precision, like the training.
    while (nodes_[at].feature >= 0) {
      const Node& node = nodes_[at];
      const auto cell = static_cast<float>(row[static_cast<std::size_t>(node.feature)]);
      const bool less = std::isnan(cell) ? node.missing_left : cell < node.value;
      at = node.left + (less ? 0 : 1);
    }
    sum += static_cast<double>(nodes_[at].value);
  }
  return sum;
}

Json BoostedTrees::to_json() const {
  Json trees = Json::array();
  for (std::size_t t = 0; t < roots_.size(); ++t) {
    const std::size_t first = roots_[t],
                      last = t + 1 < roots_.size() ? roots_[t + 1] : nodes_.size();
    Json feature = Json::array(), value = Json::array(), left = Json::array(),
         missing = Json::array();
    for (std::size_t i = first; i < last; ++i) {
      feature.push_back(nodes_[i].feature);
      value.push_back(static_cast<double>(nodes_[i].value));
      left.push_back(nodes_[i].feature < 0 ? 0 : nodes_[i].left - first);
      missing.push_back(nodes_[i].missing_left ? 1 : 0);
    }
    trees.push_back(
        {{"feature", std::move(feature)}, {"value", std::move(value)}, {"left", std::move(left)}});
    if (missing_) trees.back()["missing_left"] = std::move(missing);
  }
  return {{"width", width_}, {"base", base_}, {"trees", std::move(trees)}};
}

Result<void> BoostedTrees::add_tree(const Json& tree, const std::string& place) {
  const auto feature = numbers_of(tree, "feature", place), value = numbers_of(tree, "value", place),
             left = numbers_of(tree, "left", place);
  for (const auto* each : {&feature, &value, &left})
    if (!*each) return std::unexpected(each->error());
  const bool listed = tree.contains("missing_left");
  const auto missing =
      listed ? numbers_of(tree, "missing_left", place) : std::vector<double>(value->size());
  if (!missing) return std::unexpected(missing.error());
  const std::size_t count = feature->size(), first = nodes_.size();
  const auto refuse = [&](std::string message) {
    return fail(ErrorKind::bad_input, place, std::move(message),
                "the model may be damaged: train it again");
  };
  if (count == 0 || value->size() != count || left->size() != count || missing->size() != count)
    return refuse("the lists of a tree must be equally long and not empty");
  if (first + count > std::numeric_limits<std::uint32_t>::max())
    return refuse("there are too many nodes");
  for (std::size_t i = 0; i < count; ++i) {
    Node& node = nodes_.emplace_back();
    if (!whole_in((*feature)[i], -1, static_cast<double>(width_) - 1))
      return refuse(fmt::format("node {} asks for a column that is not there", i));
    node.feature = static_cast<std::int32_t>((*feature)[i]);
    node.value = static_cast<float>((*value)[i]);
    if (node.feature < 0) continue;
    node.missing_left = missing_ && (*missing)[i] != 0;
    // Children come after their parent, so every walk ends.
    if (!whole_in((*left)[i], static_cast<double>(i) + 1, static_cast<double>(count) - 2))
      return refuse(fmt::format("node {} leads to one that is not there or not below it", i));
    node.left = static_cast<std::uint32_t>(first + static_cast<std::size_t>((*left)[i]));
  }
  roots_.push_back(static_cast<std::uint32_t>(first));
  return {};
}

Result<BoostedTrees> BoostedTrees::from_json(const Json& document, const std::string& place) {
  std::optional<Error> error;
  JsonReader in(document, place, error);
  BoostedTrees read;
  read.width_ = static_cast<std::size_t>(in.integer("width", 1, most_columns));
  const auto base = in.number_if("base");
  if (!base) in.refuse("base", "a number is missing");
  read.base_ = base.value_or(0);
  const bool listed =
      document.is_object() && document.contains("trees") && document["trees"].is_array();
  if (!listed) in.refuse("trees", "a list is missing");
  if (error) return std::unexpected(*error);
  const Json& trees = document["trees"];
  read.missing_ =
      std::ranges::any_of(trees, [](const Json& tree) { return tree.contains("missing_left"); });
  for (std::size_t i = 0; i < trees.size(); ++i)
    if (const auto added = read.add_tree(trees[i], fmt::format("{}.trees[{}]", place, i)); !added)
      return std::unexpected(added.error());
  return read;
}

}  // namespace cleave
