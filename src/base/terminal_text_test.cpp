// Text from outside on a terminal: nothing that controls the terminal passes, and nothing readable
// is lost.

#include "base/terminal_text.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/random.hpp"
#include "base/text.hpp"

namespace cleave {
namespace {

TEST(TerminalText, WritesOutWhatSteersATerminal) {
  EXPECT_EQ(visible("plain ünïcode 日本 👩‍🔬"), "plain ünïcode 日本 👩‍🔬");
  EXPECT_EQ(visible("\x1b]0;title\x07"), "\\x1b]0;title\\x07");
  EXPECT_EQ(visible("a\nb\rc\td\x7f"), "a\\x0ab\\x0dc\\x09d\\x7f");
  EXPECT_EQ(visible(std::string_view("nul\0!", 5)), "nul\\x00!");
  EXPECT_EQ(visible("\xc2\x9b"
                    "31m"),
            "\\u{9b}31m")
      << "C1: the same as ESC [";
  EXPECT_EQ(visible("\x9b"
                    "31m"),
            "\\x9b31m")
      << "the same byte for terminals of 8 bits";
  EXPECT_EQ(visible("a\u202egpj.exe"), "a\\u{202e}gpj.exe");
  EXPECT_EQ(visible("\u2066x\u2069\u200b\u061c\ufeff\u2028"),
            "\\u{2066}x\\u{2069}\\u{200b}\\u{61c}\\u{feff}\\u{2028}");
  EXPECT_EQ(visible("\xff\xc0\xaf\xed\xa0\x80"), "\\xff\\xc0\\xaf\\xed\\xa0\\x80");
  EXPECT_EQ(visible("cut \xe6\x97"), "cut \\xe6\\x97");
}

TEST(TerminalText, IsCutBetweenCharacters) {
  EXPECT_EQ(cut_to("äöü", 3), "äöü");
  ::setenv("LC_ALL", "C.UTF-8", 1);
  EXPECT_EQ(cut_to("äöüß", 3), "äö…");
  ::setenv("LC_ALL", "C", 1);
  EXPECT_EQ(cut_to("äöüß", 3), "äö~");
  ::unsetenv("LC_ALL");
  EXPECT_EQ(cut_to("abc", 0), "");
  EXPECT_EQ(columns_of(cut_to("a longer text", 5)), 5U);
}

TEST(TerminalText, OfAJobKeepsItsColoursAndLines) {
  OutputFilter filter;
  EXPECT_EQ(filter.pass("\x1b[1;31mred\x1b[0m\n50%\r60%\tx"), "\x1b[1;31mred\x1b[0m\n50%\r60%\tx");
  EXPECT_EQ(filter.pass("\x1b[2Jgone\x1b]52;c;aGk=\x07\x1b[999999999999999999999999999999999m"),
            "\\x1b[2Jgone\\x1b]52;c;aGk=\\x07\\x1b[999999999999999999999999999999999m");
  EXPECT_EQ(filter.pass("\x1b[3"), "");
  EXPECT_EQ(filter.pass("2mgreen\xc3"), "\x1b[32mgreen");
  EXPECT_EQ(filter.pass("\xa4"), "ä");
  EXPECT_EQ(filter.pass("end\x1b"), "end");
  EXPECT_EQ(filter.rest(), "\\x1b");
}

/// Random bytes, mostly those that matter here.
std::string restless_bytes(Random& random) {
  static constexpr std::string_view pieces[] = {
      "\x1b",     "[", "3",  ";",  "m",    "\xc2", "\x9b", "\xe2\x80\xae",
      "\xf0\x9f", "a", "\n", "\r", "\xff", "\x07", "]",    "ü"};
  std::string text;
  for (auto n = random.below(40); n > 0; --n) text += pieces[random.below(std::size(pieces))];
  return text;
}

TEST(TerminalText, DoesNotDependOnWhereThePiecesEnd) {
  Random random(7);
  for (int round = 0; round < 3000; ++round) {
    const std::string text = restless_bytes(random);
    OutputFilter whole, pieces;
    std::string at_once = whole.pass(text);
    at_once += whole.rest();
    std::string bit_by_bit;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t next = at + 1 + random.below(4);
      bit_by_bit += pieces.pass(std::string_view(text).substr(at, next - at));
      at = next;
    }
    bit_by_bit += pieces.rest();
    ASSERT_EQ(at_once, bit_by_bit);
    ASSERT_TRUE(valid_utf8(at_once));
    for (std::size_t at = at_once.find('\x1b'); at != std::string::npos;
         at = at_once.find('\x1b', at + 1)) {
      const std::size_t end = at_once.find_first_not_of("0123456789;:", at + 2);
      ASSERT_TRUE(at_once[at + 1] == '[' && end != std::string::npos && at_once[end] == 'm');
    }
    for (const char c : visible(text)) ASSERT_GE(static_cast<unsigned char>(c), 0x20U);
  }
}

}  // namespace
}  // namespace cleave
