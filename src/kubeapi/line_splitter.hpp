#pragma once
// Whole lines from pieces of text as they arrive. What has no end yet is kept for the next piece.

#include <string>
#include <string_view>
#include <vector>

namespace cleave {

/// Empty lines are passed over.
class LineSplitter {
 public:
  explicit LineSplitter(std::size_t longest) : longest_(longest) {}

  std::vector<std::string> take(std::string_view piece) {
    std::vector<std::string> lines;
    for (std::size_t end = 0; (end = piece.find('\n')) != std::string_view::npos;) {
      begun_ += piece.substr(0, end);
      piece.remove_prefix(end + 1);
      if (!begun_.empty() && begun_ != "\r") lines.push_back(std::move(begun_));
      begun_.clear();
    }
    begun_ += piece;
    return lines;
  }
  [[nodiscard]] bool too_long() const { return begun_.size() > longest_; }

 private:
  std::size_t longest_;
  std::string begun_;
};

}  // namespace cleave
