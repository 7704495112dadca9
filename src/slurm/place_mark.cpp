#include "slurm/place_mark.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

constexpr std::string_view front = "cleave:", was_word = ":was=", asked_front = "cleave:was=";
constexpr std::int64_t most_number = 1'000'000;

/// The last word of the comment, where it is a mark.
std::string_view mark_word(std::string_view comment) {
  const std::size_t cut = comment.rfind(' ');
  const std::string_view word = cut == std::string_view::npos ? comment : comment.substr(cut + 1);
  return word.starts_with(front) ? word : std::string_view();
}

std::optional<MarkedNode> node_of_mark(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string_view::npos) return std::nullopt;
  MarkedNode node{std::string(text.substr(0, equals)), {}};
  for (const std::string_view place : split(text.substr(equals + 1), ',')) {
    const std::size_t at = place.find('@');
    if (at == std::string_view::npos) return std::nullopt;
    const auto gpu = parse_integer(place.substr(0, at)),
               start = parse_integer(place.substr(at + 1));
    if (!gpu || !start || *gpu < 0 || *start < 0 || *gpu > most_number || *start > most_number)
      return std::nullopt;
    node.places.push_back({*gpu, *start});
  }
  return node;
}

}  // namespace

NodeWish parse_wish(std::string_view text) {
  NodeWish wish;
  const std::size_t tried = std::min(text.find('~'), text.size());
  if (tried < text.size()) wish.tried = text.substr(tried + 1);
  text = text.substr(0, tried);
  const std::size_t excluded = std::min(text.find('!'), text.size());
  if (excluded < text.size()) wish.excluded = text.substr(excluded + 1);
  wish.wanted = text.substr(0, excluded);
  return wish;
}

std::string wish_text(const NodeWish& wish) {
  std::string text = wish.wanted;
  if (!wish.excluded.empty()) text += fmt::format("!{}", wish.excluded);
  if (!wish.tried.empty()) text += fmt::format("~{}", wish.tried);
  return text;
}

std::optional<PlaceMark> parse_mark(std::string_view comment) {
  std::string_view word = mark_word(comment);
  if (word.empty()) return std::nullopt;
  word.remove_prefix(front.size());
  const std::size_t cut = word.find(':');
  if (cut == std::string_view::npos) return std::nullopt;
  const auto seconds = parse_integer(word.substr(0, cut));
  if (!seconds || *seconds < 0 || *seconds > 1LL << 32) return std::nullopt;
  PlaceMark mark{Instant(std::chrono::seconds(*seconds)), {}, {}};
  word.remove_prefix(cut + 1);
  if (const std::size_t was = word.find(was_word); was != std::string_view::npos) {
    mark.was = parse_wish(word.substr(was + was_word.size()));
    word = word.substr(0, was);
  }
  for (const std::string_view text : split(word, ';')) {
    auto node = node_of_mark(text);
    if (!node) return std::nullopt;
    mark.nodes.push_back(std::move(*node));
  }
  return mark;
}

std::string marked(std::string_view comment, const PlaceMark& mark) {
  std::string text = unmarked(comment);
  if (!text.empty()) text += ' ';
  text += fmt::format(
      "{}{}:", front,
      std::chrono::duration_cast<std::chrono::seconds>(mark.released.time_since_epoch()).count());
  std::string_view between;
  for (const MarkedNode& node : mark.nodes) {
    text += fmt::format("{}{}=", between, node.node);
    between = ";";
    std::vector<std::string> places;
    for (const MarkedPlace& each : node.places)
      places.push_back(fmt::format("{}@{}", each.gpu, each.start));
    text += fmt::format("{}", fmt::join(places, ","));
  }
  if (mark.was != NodeWish{}) text += fmt::format("{}{}", was_word, wish_text(mark.was));
  return text;
}

NodeWish asked_nodes(std::string_view comment) {
  const std::string_view word = mark_word(comment);
  return word.starts_with(asked_front) ? parse_wish(word.substr(asked_front.size())) : NodeWish{};
}

std::string asking_for(std::string_view comment, const NodeWish& wish) {
  std::string text = unmarked(comment);
  if (wish == NodeWish{}) return text;
  return fmt::format("{}{}{}{}", text, text.empty() ? "" : " ", asked_front, wish_text(wish));
}

std::string unmarked(std::string_view comment) {
  const std::string_view word = mark_word(comment);
  return std::string(trimmed(comment.substr(0, comment.size() - word.size())));
}

}  // namespace cleave
