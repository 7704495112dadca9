#include "model/workload/alike_lines.hpp"

#include <charconv>

namespace cleave {

namespace {

constexpr std::ptrdiff_t most_digits = 18;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Goes through one line.
class Scanner {
 public:
  explicit Scanner(std::string_view line) : at_(line.data()), end_(line.data() + line.size()) {}

  [[nodiscard]] const char* at() const { return at_; }
  bool take(char wanted) {
    if (at_ == end_ || *at_ != wanted) return false;
    ++at_;
    return true;
  }
  void skip_spaces() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }
  [[nodiscard]] bool at_end() const { return at_ == end_; }

  /// A text without escapes; its quotes are taken too.
  bool text(std::string_view& into) {
    if (!take('"')) return false;
    const char* const begin = at_;
    while (at_ != end_ && *at_ != '"') {
      if (*at_ < ' ' || *at_ > '~' || *at_ == '\\') return false;
      ++at_;
    }
    into = {begin, static_cast<std::size_t>(at_ - begin)};
    return take('"');
  }

  /// Digits, at most with a point among them.
  bool number(double& into) {
    const char* const begin = at_;
    while (at_ != end_ && is_digit(*at_)) ++at_;
    if (at_ == begin || (*begin == '0' && at_ - begin > 1)) return false;
    if (take('.')) {
      const char* const point = at_;
      while (at_ != end_ && is_digit(*at_)) ++at_;
      if (at_ == point) return false;
    }
    if (at_ - begin > most_digits) return false;
    const auto [stopped, error] = std::from_chars(begin, at_, into);
    return error == std::errc() && stopped == at_;
  }

  /// A value of the rest, which is not looked into: a text, or what looks like a number or a word.
  bool other() {
    std::string_view text_of;
    if (at_ != end_ && *at_ == '"') return text(text_of);
    const char* const begin = at_;
    while (at_ != end_ && (is_digit(*at_) || (*at_ >= 'a' && *at_ <= 'z') || *at_ == '.' ||
                           *at_ == '-' || *at_ == '+' || *at_ == 'E'))
      ++at_;
    return at_ != begin;
  }

 private:
  const char* at_;
  const char* end_;
};

}  // namespace

bool take_apart(std::string_view line, LineParts& parts) {
  Scanner scan(line);
  parts.rest.clear();
  const char* kept = line.data();  // what is before it is in the rest, or a value
  bool id = false, arrival = false, duration = false;
  scan.skip_spaces();
  if (!scan.take('{')) return false;
  do {
    std::string_view key;
    scan.skip_spaces();
    if (!scan.text(key)) return false;
    scan.skip_spaces();
    if (!scan.take(':')) return false;
    scan.skip_spaces();
    bool* const seen = key == "id"           ? &id
                       : key == "arrival_s"  ? &arrival
                       : key == "duration_s" ? &duration
                                             : nullptr;
    if (seen != nullptr) {
      if (*seen) return false;  // twice
      *seen = true;
      parts.rest.append(kept, scan.at());
      if (!(seen == &id        ? scan.text(parts.id)
            : seen == &arrival ? scan.number(parts.arrival_s)
                               : scan.number(parts.duration_s)))
        return false;
      kept = scan.at();
    } else if (!scan.other()) {
      return false;
    }
    scan.skip_spaces();
  } while (scan.take(','));
  if (!scan.take('}')) return false;
  scan.skip_spaces();
  parts.rest.append(kept, scan.at());
  return scan.at_end() && id && arrival && duration;
}

}  // namespace cleave
