#include "model/smi_nodes.hpp"

#include <algorithm>
#include <map>

#include "base/format.hpp"
#include "base/text.hpp"
#include "model/host_list.hpp"

namespace cleave {

namespace {

/// Lines of one node, and where they stand in the whole text.
struct NodeLines {
  std::string node, text;
  std::vector<std::size_t> numbers;

  void add(std::string_view line, std::size_t number) {
    text.append(line).push_back('\n');
    numbers.push_back(number);
  }
};

bool is_dashes(std::string_view line) {
  return line.size() >= 5 && line.find_first_not_of('-') == std::string_view::npos;
}

bool is_of_table(std::string_view line) {
  return line.starts_with('|') || line.starts_with('+');
}

/// "NODE: |..." or "NODE: +...": the node; empty for other lines.
std::string_view prefix_of(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) return {};
  const std::string_view node = line.substr(0, colon);
  const bool name = std::ranges::all_of(node, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '-' || c == '_';
  });
  return name ? node : std::string_view();
}

bool has_prefixed_table(const std::vector<std::string_view>& lines) {
  return std::ranges::any_of(lines, [](std::string_view line) {
    const std::string_view node = prefix_of(line);
    return !node.empty() && is_of_table(trimmed(line.substr(node.size() + 1)));
  });
}

/// Gathers the lines of each node.
class NodeSplitter {
 public:
  NodeSplitter(std::vector<std::string_view> lines, const std::string& place)
      : lines_(std::move(lines)), place_(place), prefixed_(has_prefixed_table(lines_)) {}

  Result<std::vector<NodeLines>> split_all() {
    for (at_ = 0; at_ < lines_.size(); ++at_) {
      const auto taken = prefixed_ ? take_prefixed() : take_below_marks();
      if (!taken) return std::unexpected(taken.error());
    }
    return std::move(nodes_);
  }

 private:
  [[nodiscard]] std::string_view line() const { return lines_[at_]; }
  [[nodiscard]] std::string here() const { return fmt::format("{}: line {}", place_, at_ + 1); }

  NodeLines& lines_of(const std::string& node) {
    const auto [found, fresh] = numbers_.try_emplace(node, nodes_.size());
    if (fresh) nodes_.push_back({node, {}, {}});
    return nodes_[found->second];
  }

  Result<void> take_prefixed() {
    const std::string_view node = prefix_of(line());
    if (!node.empty()) {
      std::string_view rest = line().substr(node.size() + 1);
      if (rest.starts_with(' ')) rest.remove_prefix(1);
      lines_of(std::string(node)).add(rest, at_ + 1);
    } else if (is_of_table(trimmed(line()))) {
      return fail(ErrorKind::bad_input, here(), "this line of a table names no node",
                  "other lines begin with NODE: as pdsh writes it; list the nodes again");
    }
    return {};
  }

  Result<void> take_below_marks() {
    if (line().starts_with("==> ") && line().ends_with(" <=="))
      return begin(line().substr(4, line().size() - 8));
    const bool banner = at_ + 2 < lines_.size() && is_dashes(line()) && is_dashes(lines_[at_ + 2]);
    if (banner) {
      ++at_;
      std::string_view names = line();
      // clush -b says how many: "n[0-3] (4)".
      if (const std::size_t count = names.rfind(" ("); count != std::string_view::npos)
        names = names.substr(0, count);
      const auto begun = begin(trimmed(names));
      ++at_;
      return begun;
    }
    copied_ += current_.size() * (line().size() + 1);
    if (copied_ > most_copied)
      return fail(ErrorKind::bad_input, here(), "the listings of all nodes together are too long",
                  "is it the right file?");
    for (const std::string& node : current_) lines_of(node).add(line(), at_ + 1);
    return {};
  }

  Result<void> begin(std::string_view names) {
    const auto nodes = expand_hosts(names, here());
    if (!nodes) return std::unexpected(nodes.error());
    if (nodes->size() > most_nodes)
      return fail(ErrorKind::bad_input, here(), fmt::format("more than {} nodes", most_nodes),
                  "is it the right file?");
    current_ = *nodes;
    for (const std::string& node : current_) lines_of(node);
    return {};
  }

  /// Of one banner, whose lines are those of each.
  static constexpr std::size_t most_nodes = 1024;
  static constexpr std::size_t most_copied = std::size_t{256} << 20;  // bytes, over all nodes

  std::vector<std::string_view> lines_;
  const std::string& place_;
  bool prefixed_;
  std::size_t at_ = 0, copied_ = 0;
  std::vector<std::string> current_ = {""};
  std::vector<NodeLines> nodes_;
  std::map<std::string, std::size_t> numbers_;
};

/// "smi.txt: line 3" of a node's own lines as the line of the whole text.
void renumber(std::string& place, const NodeLines& node) {
  constexpr std::string_view mark = ": line ";
  const std::size_t at = place.rfind(mark);
  if (at == std::string::npos) return;
  const std::size_t begin = at + mark.size();
  const std::size_t end = std::min(place.find_first_not_of("0123456789", begin), place.size());
  const auto number = parse_integer(std::string_view(place).substr(begin, end - begin));
  if (!number || *number < 1 || static_cast<std::size_t>(*number) > node.numbers.size()) return;
  place.replace(begin, end - begin,
                fmt::format("{}", node.numbers[static_cast<std::size_t>(*number) - 1]));
}

/// "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-...)": its name.
std::optional<std::string_view> gpu_of_list(std::string_view line) {
  constexpr std::string_view uuid = " (UUID: GPU-";
  const std::size_t colon = line.find(": "), end = line.find(uuid);
  if (!line.starts_with("GPU ") || end == std::string_view::npos ||
      colon == std::string_view::npos || colon + 2 >= end ||
      !parse_integer(line.substr(4, colon - 4)))
    return std::nullopt;
  return line.substr(colon + 2, end - colon - 2);
}

Result<void> read_gpu_list(const NodeLines& lines, const std::string& place, SmiNodeListing& node) {
  std::size_t number = 0;
  for (const std::string_view line : split(lines.text, '\n')) {
    ++number;
    const auto name = gpu_of_list(trimmed(line));
    if (!name) continue;
    if (node.gpu_name && *node.gpu_name != *name)
      return fail(ErrorKind::bad_input,
                  fmt::format("{}: line {}", place, lines.numbers[number - 1]),
                  fmt::format("this GPU is a '{}', the ones before it '{}'", shown(*name),
                              shown(*node.gpu_name)),
                  "nodes with GPUs of several models are not imported");
    node.gpu_name = std::string(*name);
    ++node.gpus;
  }
  return {};
}

}  // namespace

Result<std::vector<SmiNodeListing>> parse_smi_nodes(std::string_view text,
                                                    const std::string& place) {
  std::vector<std::string_view> lines = split(text, '\n');
  for (std::string_view& line : lines)
    if (line.ends_with('\r')) line.remove_suffix(1);
  NodeSplitter splitter(std::move(lines), place);
  const auto split_nodes = splitter.split_all();
  if (!split_nodes) return std::unexpected(split_nodes.error());
  const bool marked = std::ranges::any_of(
      *split_nodes, [](const NodeLines& lines_of_node) { return !lines_of_node.node.empty(); });
  std::vector<SmiNodeListing> nodes;
  for (const NodeLines& of : *split_nodes) {
    // What stands above the first mark.
    if (marked && of.node.empty() && trimmed(of.text).empty()) continue;
    SmiNodeListing& node = nodes.emplace_back();
    node.node = of.node;
    if (const auto read = read_gpu_list(of, place, node); !read)
      return std::unexpected(read.error());
    auto listing = parse_smi(of.text, place);
    if (!listing) {
      renumber(listing.error().place, of);
      return std::unexpected(listing.error());
    }
    node.listing = *std::move(listing);
    for (SmiInstance& row : node.listing.instances) {
      renumber(row.place, of);
      renumber(row.table, of);
    }
    for (SmiCompute& row : node.listing.computes) renumber(row.place, of);
  }
  return nodes;
}

}  // namespace cleave
