#include "base/terminal.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/tell.hpp"

namespace cleave {
namespace {

TEST(Terminal, LinesBreakBetweenWords) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lines_of("one two three", 8), (Lines{"one two", "three"}));
  EXPECT_EQ(lines_of("one two three", 0), (Lines{"one two three"}));
  EXPECT_EQ(lines_of("", 8), (Lines{""}));
  EXPECT_EQ(lines_of("incomprehensible it is", 8), (Lines{"incomprehensible", "it is"}));
  EXPECT_EQ(lines_of("of one,two,three it", 8), (Lines{"of", "one,two,", "three it"}));
  EXPECT_EQ(lines_of("\u00e4\u00f6 \u00fc", 4), (Lines{"\u00e4\u00f6 \u00fc"}))
      << "columns, not bytes";
}

TEST(Terminal, QuotedCommandsStayWhole) {
  EXPECT_EQ(told("it is gone; see `cleave ps --all` or so", 30),
            "it is gone; see\n  `cleave ps --all` or so");
  EXPECT_EQ(told("`one two three four five six`", 24), "`one two three four\n  five six`")
      << "no line holds it";
  EXPECT_EQ(told("`it` ends in ` alone", 80), "`it` ends in ` alone");
  EXPECT_EQ(told("as it is, whatever its length", 0), "as it is, whatever its length");
}

TEST(Terminal, TextKeepsItsIndentation) {
  EXPECT_EQ(wrapped("a short line\n\n    what does not fit on a line of that width\nend\n", 30),
            "a short line\n\n    what does not fit on a\n      line of that width\nend\n");
  EXPECT_EQ(wrapped("as it is, whatever its length may be", 0),
            "as it is, whatever its length may be");
}

TEST(Terminal, TheLocaleSaysWhatItShows) {
  ::setenv("LC_ALL", "C", 1);
  ::setenv("LANG", "en_GB.UTF-8", 1);
  EXPECT_FALSE(shows_unicode());
  EXPECT_EQ(in_locale("0.93 \u00b10.04, na\u2026"), "0.93 +-0.04, na~");
  EXPECT_EQ(in_locale("\u00e4"), "\u00e4") << "as a user wrote it";
  ::unsetenv("LC_ALL");
  ::unsetenv("LC_CTYPE");
  EXPECT_TRUE(shows_unicode());
  EXPECT_EQ(in_locale("0.93 \u00b10.04, na\u2026"), "0.93 \u00b10.04, na\u2026");
}

}  // namespace
}  // namespace cleave
