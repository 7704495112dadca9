#include "model/smi_text.hpp"

#include <algorithm>
#include <utility>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

constexpr std::string_view save_again =
    "save the whole output of `nvidia-smi mig -lgi` (and `-lci`) again, unshortened";

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> list;
  while (!(text = trimmed(text)).empty()) {
    list.push_back(text.substr(0, text.find_first_of(" \t")));
    text.remove_prefix(list.back().size());
  }
  return list;
}

bool consists_of(std::string_view text, std::string_view characters) {
  return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
}

bool is_border(std::string_view line) {
  return line.size() > 2 && line.front() == '+' && line.back() == '+' && consists_of(line, "+-=");
}

/// The text between the bars of a line of a table. Some copies have doubled bars.
std::string_view between_bars(std::string_view line) {
  while (line.starts_with('|')) line.remove_prefix(1);
  while (line.ends_with('|')) line.remove_suffix(1);
  return trimmed(line);
}

/// "GPU instances:", "Processes:"
bool is_title(std::string_view content) {
  const std::string_view letters = content.substr(0, content.find(':'));
  return letters.size() + 1 == content.size() && !letters.empty() &&
         std::ranges::all_of(letters, [](char c) {
           return c == ' ' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
         });
}

/// The name of a profile or compute instance: "3g.20gb", "1g.24gb+me.all", "1c.3g.20gb".
bool is_profile_name(std::string_view word) {
  const bool letters = std::ranges::all_of(word, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '.' || c == '+' || c == '-';
  });
  return letters && word.size() > 3 && word.front() >= '0' && word.front() <= '9' &&
         word.find("g.") != std::string_view::npos && word.find("gb") != std::string_view::npos;
}

/// Whether a line is a row of `-lgi` or `-lci`, by its numbers: `-lgip` and `-lcip` have "0/7" in
/// place of an ID.
bool looks_like_row(std::string_view line) {
  const std::vector<std::string_view> list = words(between_bars(line));
  const std::size_t mig = list.size() > 1 && list[1] == "MIG" ? 1 : 2;
  if (list.size() < mig + 4 || list[mig] != "MIG") return false;
  for (const std::size_t at : {std::size_t{0}, mig - 1, mig + 2, mig + 3})
    if (!parse_integer(list[at])) return false;
  return true;
}

/// Reads the fields of one row from left to right, and keeps what is wrong with the first bad one.
class Row {
 public:
  explicit Row(std::string_view content) : words_(words(content)) {}

  int number(std::string_view what, int most) {
    const std::int64_t value = parse_integer(next()).value_or(-1);
    if (value < 0 || value > most) refuse(what);
    return static_cast<int>(value);
  }

  std::string profile(std::string_view example) {
    if (next() != "MIG") refuse(fmt::format("'MIG' and a profile such as {}", example));
    const std::string_view name = next();
    if (!is_profile_name(name)) refuse(fmt::format("a profile such as {}", example));
    return std::string(name);
  }

  SmiPlacement placement() {
    const std::string_view word = next();
    const std::size_t colon = word.find(':');
    const std::int64_t start = parse_integer(word.substr(0, colon)).value_or(-1);
    const std::int64_t size =
        colon == std::string_view::npos ? -1 : parse_integer(word.substr(colon + 1)).value_or(-1);
    if (start < 0 || start > 99 || size < 1 || size > 99) refuse("'start:size' such as 4:2");
    return {static_cast<int>(start), static_cast<int>(size)};
  }

  void end() {
    if (at_ >= words_.size()) return;
    next();
    refuse("the end of the row");
  }

  /// "expected ..., found ..."; empty if nothing is wrong.
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  std::string_view next() {
    ++at_;
    return word();
  }
  [[nodiscard]] std::string_view word() const {
    return at_ <= words_.size() ? words_[at_ - 1] : std::string_view();
  }
  void refuse(std::string_view expected) {
    if (!wrong_.empty()) return;
    const std::string found = at_ <= words_.size() ? fmt::format("'{}'", shown(word()))
                                                   : std::string("the end of the row");
    wrong_ = fmt::format("expected {}, found {}", expected, found);
  }

  std::vector<std::string_view> words_;
  std::size_t at_ = 0;  // words taken
  std::string wrong_;
};

/// How to recognise texts of other commands; the first match names what was found.
struct OtherText {
  std::string_view mark;
  bool at_the_start;  // of a line; otherwise anywhere in it
  std::string_view what;
};

constexpr OtherText other_texts[] = {
    {"{", true, "JSON"},
    {"[{", true, "JSON"},
    {"<?xml", true, "XML"},
    {"GPU instance profiles:", false, "the profiles of `nvidia-smi mig -lgip`"},
    {"Compute instance profiles:", false, "the profiles of `nvidia-smi mig -lcip`"},
    {"Placements:", false, "the possible placements of `nvidia-smi mig -lgipp`"},
    {"Placement :", false, "the possible placements of `nvidia-smi mig -lgipp`"},
    {"(UUID:", false, "the devices of `nvidia-smi -L`"},
    {"NVIDIA-SMI", false, "the summary of `nvidia-smi`"},
    {"MIG devices:", false, "the summary of `nvidia-smi`"},
    {"==NVSMI LOG==", false, "the log of `nvidia-smi -q`"},
};

/// Reads the lines, with at most one open table.
class SmiReader {
 public:
  explicit SmiReader(const std::string& place) : place_(&place) {}

  [[nodiscard]] Result<void> read(std::string_view line, int number) {
    if (line.empty()) return {};
    number_ = number;
    if (line.find('\0') != std::string_view::npos)
      return refuse("expected text, found a zero byte", "save it as UTF-8 text");
    const bool below_border = std::exchange(below_border_, is_border(line));
    if (below_border_) return read_border(line);
    upper_border_ = false;
    if (line.front() != '|') return read_other(line);
    // A truncated title would make its table look like another command's.
    if (below_border && (!line.ends_with('|') || line.size() < 2)) return refuse_cut(line);
    return read_bars(line);
  }

  [[nodiscard]] Result<SmiListing> end() {
    if (torn()) return torn_before("the end of the text");
    if (upper_border_ && found_)
      return refuse("expected a table below its upper border, found the end of the text");
    if (!found_) {
      std::string what = "other text";
      if (number_ == 0) what = "nothing";
      if (other_ != nullptr) what = other_->what;
      number_ = other_ != nullptr ? other_line_ : std::max(number_, 1);
      return refuse(fmt::format("expected the table 'GPU instances:', found {}", what),
                    "save what `nvidia-smi mig -lgi` prints, as root");
    }
    return std::move(listing_);
  }

 private:
  enum class Table { none, instances, computes, foreign };

  [[nodiscard]] std::unexpected<Error> refuse(std::string message,
                                              std::string remedy = std::string(save_again)) const {
    return fail(ErrorKind::bad_input, here(), std::move(message), std::move(remedy));
  }
  [[nodiscard]] std::string here() const { return fmt::format("{}: line {}", *place_, number_); }
  [[nodiscard]] bool ours() const {
    return table_ == Table::instances || table_ == Table::computes;
  }
  /// Whether one of our tables is open and its head has not ended with a border.
  [[nodiscard]] bool torn() const { return ours() && !(in_rows_ && bordered_); }
  [[nodiscard]] std::unexpected<Error> torn_before(const std::string& what) const {
    const std::string_view expected = in_rows_ ? "the table's closing border, a line '+---+'"
                                               : "the line '|===|' under the table's head";
    return refuse(fmt::format("expected {}, found {}", expected, what));
  }

  [[nodiscard]] std::unexpected<Error> refuse_cut(std::string_view line) const {
    return refuse(
        fmt::format("expected '|' at the end of the line, found '{}'",
                    shown(line.substr(line.size() - std::min<std::size_t>(line.size(), 12)))));
  }

  [[nodiscard]] Result<void> read_border(std::string_view line) {
    if (ours() && !in_rows_) return torn_before(fmt::format("'{}'", shown(line, 20)));
    upper_border_ = table_ == Table::none || (ours() && bordered_);
    if (upper_border_) table_ = Table::none;
    bordered_ = true;
    return {};
  }

  [[nodiscard]] Result<void> read_bars(std::string_view line) {
    const std::string_view content = between_bars(line);
    if (is_title(content)) return begin(content);
    if (!ours()) {
      table_ = Table::foreign;
      note_other(line);
      if (looks_like_row(line))
        return refuse(fmt::format("expected the table's head before its rows, found the row '{}'",
                                  shown(content)));
      return {};
    }
    if (!line.ends_with('|') || line.size() < 2) return refuse_cut(line);
    if (!in_rows_) return read_head(content);
    bordered_ = false;
    return table_ == Table::instances ? read_instance(content) : read_compute(content);
  }

  [[nodiscard]] Result<void> begin(std::string_view title) {
    if (torn()) return torn_before(fmt::format("'{}'", shown(title)));
    note_other(title);
    table_ = title == "GPU instances:"       ? Table::instances
             : title == "Compute instances:" ? Table::computes
                                             : Table::foreign;
    in_rows_ = bordered_ = false;
    head_.clear();
    if (ours()) {
      found_ = true;
      listing_.lists_computes = listing_.lists_computes || table_ == Table::computes;
      table_place_ = here();
    }
    return {};
  }

  [[nodiscard]] Result<void> read_head(std::string_view content) {
    if (!consists_of(content, "=+")) {
      if (looks_like_row(content)) return torn_before(fmt::format("the row '{}'", shown(content)));
      for (const std::string_view word : words(content)) head_.emplace_back(word);
      return {};
    }
    std::vector<std::string_view> columns = {"GPU", "Name", "Profile", "Instance", "ID"};
    if (table_ == Table::instances) columns.emplace_back("Start:Size");
    for (const std::string_view column : columns)
      if (std::ranges::find(head_, column) == head_.end())
        return refuse(fmt::format("expected a column '{}' in the table's head, found '{}'", column,
                                  shown(fmt::format("{}", fmt::join(head_, " ")))));
    in_rows_ = true;
    return {};
  }

  [[nodiscard]] Result<void> read_instance(std::string_view content) {
    Row row(content);
    SmiInstance instance;
    instance.place = here();
    instance.table = table_place_;
    instance.gpu = row.number("the number of a GPU", most_gpus_in_node - 1);
    instance.profile = row.profile("3g.20gb");
    instance.profile_id = row.number("a profile ID such as 9", 9999);
    instance.id = row.number("an instance ID such as 1", 9999);
    instance.placement = row.placement();
    row.end();
    if (!row.wrong().empty()) return refuse(row.wrong());
    listing_.instances.push_back(std::move(instance));
    return {};
  }

  [[nodiscard]] Result<void> read_compute(std::string_view content) {
    Row row(content);
    SmiCompute compute;
    compute.place = here();
    compute.gpu = row.number("the number of a GPU", most_gpus_in_node - 1);
    compute.gpu_instance = row.number("a GPU instance ID such as 1", 9999);
    compute.name = row.profile("1c.3g.20gb");
    compute.profile_id = row.number("a profile ID such as 2", 9999);
    compute.id = row.number("an instance ID such as 0", 9999);
    if (std::ranges::find(head_, "Start:Size") != head_.end()) compute.placement = row.placement();
    row.end();
    if (!row.wrong().empty()) return refuse(row.wrong());
    listing_.computes.push_back(std::move(compute));
    return {};
  }

  /// A line outside tables: prompts, messages of nvidia-smi, anything.
  [[nodiscard]] Result<void> read_other(std::string_view line) {
    // A truncated row or border must not be taken for a prompt.
    const bool piece = ours() && (line.front() == '+' || line.back() == '|' || line.back() == '+');
    if (piece || looks_like_row(line))
      return refuse(fmt::format("expected a whole row from '|' to '|', or a border, found '{}'",
                                shown(line)));
    if (torn()) return torn_before(fmt::format("'{}'", shown(line)));
    table_ = Table::none;
    note_other(line);
    return read_message(line);
  }

  [[nodiscard]] Result<void> read_message(std::string_view line) {
    if (line.starts_with("No MIG-enabled devices found")) {
      found_ = listing_.mig_is_off = true;
      return {};
    }
    constexpr std::string_view none[] = {"No GPU instances found", "No compute instances found"};
    for (const std::string_view message : none) {
      if (!line.starts_with(message)) continue;
      // "No GPU instances found: Not Found" is an answer, "...: Insufficient Permissions" is not.
      std::string_view why = line.substr(message.size());
      while (why.starts_with(':') || why.starts_with('.') || why.starts_with(' '))
        why.remove_prefix(1);
      if (!why.empty() && lowercase(why) != "not found") return failed(line);
      found_ = true;
      listing_.lists_computes = listing_.lists_computes || message == none[1];
      return {};
    }
    if (line.starts_with("Failed to display") || line.starts_with("NVIDIA-SMI has failed") ||
        line.starts_with("Failed to initialize NVML"))
      return failed(line);
    return {};
  }

  [[nodiscard]] std::unexpected<Error> failed(std::string_view line) const {
    return refuse(
        fmt::format("expected a listing, found that nvidia-smi failed: '{}'", shown(line, 100)),
        "run `nvidia-smi mig -lgi` as root and save what it prints");
  }

  void note_other(std::string_view line) {
    if (other_ != nullptr) return;
    const auto fits = [&](const OtherText& text) {
      return text.at_the_start ? line.starts_with(text.mark)
                               : line.find(text.mark) != std::string_view::npos;
    };
    const auto* const text = std::ranges::find_if(other_texts, fits);
    if (text == std::end(other_texts)) return;
    other_ = text;
    other_line_ = number_;
  }

  const std::string* place_;
  SmiListing listing_;
  int number_ = 0;  // of the last line that is not blank
  Table table_ = Table::none;
  std::string table_place_;
  std::vector<std::string> head_;
  bool in_rows_ = false;       // past the line of equals signs
  bool bordered_ = false;      // the last line of the table was a border
  bool below_border_ = false;  // the line before was a border, of any table ...
  bool upper_border_ = false;  // ... and one that begins a table
  bool found_ = false;         // anything that `-lgi` or `-lci` prints
  const OtherText* other_ = nullptr;
  int other_line_ = 0;
};

}  // namespace

Result<SmiListing> parse_smi(std::string_view text, const std::string& place) {
  SmiReader reader(place);
  int number = 0;
  for (const std::string_view line : split(without_byte_order_mark(text), '\n'))
    if (const auto read = reader.read(trimmed(line), ++number); !read)
      return std::unexpected(read.error());
  return reader.end();
}

}  // namespace cleave
