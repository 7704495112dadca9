// The basic types: quantities, fractions, sizes, seeded randomness, text from outside.

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cmath>
#include <concepts>
#include <functional>

#include "base/clock_text.hpp"
#include "base/csv.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "base/json_line.hpp"
#include "base/options.hpp"
#include "base/quantity.hpp"
#include "base/random.hpp"
#include "base/ratio.hpp"
#include "base/shell_word.hpp"
#include "base/text.hpp"
#include "base/time.hpp"

namespace cleave {
namespace {

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Comparable = requires(A a, B b) {
  a < b;
};

// The compiler refuses to mix different quantities.
static_assert(Addable<MemorySlices, MemorySlices>);
static_assert(!Addable<ComputeSlices, MemorySlices> && !Comparable<ComputeSlices, MemorySlices>);
static_assert(!Addable<MiB, MemorySlices> && !Comparable<MiB, Sms>);
static_assert(!std::convertible_to<int, MemorySlices> && !std::convertible_to<MiB, int>);
static_assert(!Addable<Duration, MiB> && !Addable<Instant, Instant>);

TEST(Ratio, KeepsDecimalsExactly) {
  EXPECT_EQ(Ratio::parse("0.4")->exact(), "2/5");
  EXPECT_EQ(Ratio::parse("0")->exact(), "0/1");
  EXPECT_EQ(Ratio::parse("-1.25")->exact(), "-5/4");
  EXPECT_EQ(*Ratio::parse("0.4"), Ratio(2, 5));
  EXPECT_LT(Ratio(2, 7), Ratio(3, 10));
  for (const char* wrong :
       {"", ".", "1e3", "0,4", "nan", "1.2.3", "0x1", "12345678901", "--1", " 1"})
    EXPECT_FALSE(Ratio::parse(wrong)) << wrong;
}

TEST(Size, HasAUnitOrMeansMiB) {
  EXPECT_EQ(parse_size("9GiB")->value, 9216);
  EXPECT_EQ(parse_size("9216")->value, 9216);
  EXPECT_EQ(parse_size("1.5 GiB")->value, 1536);
  EXPECT_EQ(parse_size("1KiB")->value, 1) << "rounded up: what was asked for must fit";
  EXPECT_EQ(parse_size("512MiB")->value, 512);
  for (const char* wrong : {"", "GiB", "9GB", "-1", "nan", "inf", "1e300", "9 9"})
    EXPECT_FALSE(parse_size(wrong)) << wrong;
}

TEST(Text, SuggestsTheWordThatWasMeant) {
  const std::vector<std::string> known = {"A100-40GB", "A100-80GB", "H100-80GB-SXM5"};
  EXPECT_EQ(nearest("a100-40gb", known), "A100-40GB");
  EXPECT_EQ(nearest("A10040GB", known), "A100-40GB");
  EXPECT_EQ(nearest("MI300X", known), std::nullopt);
  EXPECT_EQ(any_of(std::vector<std::string>{"0", "2", "4"}), "0, 2 or 4");
  EXPECT_EQ(shown("\xd0 \xc2\x9b \u202e"), "\\xd0 \\u{9b} \\u{202e}");
  EXPECT_EQ(shown("a\x1b[31m\n"), "a\\x1b[31m\\x0a")
      << "what comes from outside cannot drive a terminal";
}

TEST(Text, WordsForAShellAreReadBackByOne) {
  EXPECT_EQ(shell_word("build/pages-2/a.json"), "build/pages-2/a.json");
  EXPECT_EQ(shell_word("static:layout=3g.20gb@0+4g.20gb@4"), "static:layout=3g.20gb@0+4g.20gb@4");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("my data"), "'my data'");
  EXPECT_EQ(shell_word("dyna-p:base=own;window=all"), "'dyna-p:base=own;window=all'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  for (const char* read_into : {"~", "$HOME", "*", "a\nb", "a|b", "#", "=ls", "\xc3\xa4"})
    EXPECT_EQ(shell_word(read_into), fmt::format("'{}'", read_into));
}

TEST(Text, KnowsUtf8) {
  for (const char* good : {"", "abc", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"})
    EXPECT_TRUE(valid_utf8(good)) << good;
  for (const char* bad : {"\xff", "\x80", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                          "\xe2\x82", "a\xd8"})
    EXPECT_FALSE(valid_utf8(bad));
}

TEST(Random, IsTheSameEverywhere) {
  // The standard fixes this engine: its 10,000th number from the default seed is printed there.
  Random random(5489);
  std::uint64_t last = 0;
  for (int i = 0; i < 10000; ++i) last = random.bits();
  EXPECT_EQ(last, 9981545732273789042U);
}

TEST(Random, DrawsWhatItSays) {
  Random random(1);
  double sum = 0;
  std::array<int, 3> counts{};
  for (int i = 0; i < 30000; ++i) {
    sum += random.exponential(5);
    ++counts[random.weighted(std::array{1.0, 2.0, 3.0})];
    EXPECT_LT(random.below(7), 7U);
  }
  EXPECT_NEAR(sum / 30000, 5, 0.15);
  EXPECT_NEAR(counts[0], 5000, 300);
  EXPECT_NEAR(counts[2], 15000, 400);
}

TEST(Time, RefusesWhatIsNoTime) {
  EXPECT_EQ(*duration_from_seconds(1.5), std::chrono::milliseconds(1500));
  EXPECT_FALSE(duration_from_seconds(std::nan("")));
  EXPECT_FALSE(duration_from_seconds(1e12));
}

TEST(Options, AreCheckedAgainstTheirRows) {
  constexpr OptionRow rows[] = {{"load", "compute|memory", "compute", ""},
                                {"threshold", "NUMBER", "0.4", ""}};
  EXPECT_EQ(complete({}, rows, "it")->at("load"), "compute");
  EXPECT_EQ(complete({{"load", "memory"}}, rows, "it")->at("load"), "memory");
  EXPECT_EQ(complete({{"laod", "memory"}}, rows, "it").error().text(),
            "it has no option 'laod'; did you mean 'load'?");
  EXPECT_EQ(complete({{"load", "memry"}}, rows, "it").error().text(),
            "load: 'memry' is not a value of it; did you mean 'memory'?");
}

TEST(Csv, ReadsQuotesAndRefusesTornLines) {
  auto csv = CsvReader::open(
      "\xef\xbb\xbf"
      "a,b\r\n1,\"x,\"\"y\"\"\"\r\n\r\n2,\n",
      "t.csv");
  ASSERT_TRUE(csv);
  std::vector<std::string> row;
  ASSERT_TRUE(*csv->next(row));
  EXPECT_EQ(row, (std::vector<std::string>{"1", "x,\"y\""}));
  ASSERT_TRUE(*csv->next(row));
  EXPECT_EQ(row, (std::vector<std::string>{"2", ""}));
  EXPECT_EQ(csv->place(), "t.csv:4");
  EXPECT_FALSE(*csv->next(row));

  auto torn = CsvReader::open("a,b\n1,2\n3", "t.csv");
  ASSERT_TRUE(torn->next(row));
  EXPECT_EQ(torn->next(row).error().text(),
            "t.csv:3: the line has 1 cells, the header 2; the line may be torn");
  auto open = CsvReader::open("a\n\"1", "t.csv");
  EXPECT_EQ(open->next(row).error().place, "t.csv:2");
  EXPECT_FALSE(CsvReader::open("", "t.csv"));
}

TEST(Csv, TheHeaderSaysWhatSeparatesTheCells) {
  for (const char* text : {"\na;b\n\"1;\";2,5\n", "\r\na\tb\n1;\t2,5\n"}) {
    auto csv = CsvReader::open(text, "t.csv");
    ASSERT_TRUE(csv) << text;
    EXPECT_EQ(csv->columns(), (std::vector<std::string>{"a", "b"}));
    std::vector<std::string> row;
    ASSERT_TRUE(*csv->next(row)) << text;
    EXPECT_EQ(row, (std::vector<std::string>{"1;", "2,5"}));
  }
  const auto commas = CsvReader::open("a,\"b;c\"\n", "t.csv");
  ASSERT_TRUE(commas);
  EXPECT_EQ(commas->columns(), (std::vector<std::string>{"a", "b;c"}));
}

TEST(Csv, JsonIsNamedAsSuch) {
  EXPECT_EQ(CsvReader::open("{\"id\": \"a\", \"s\": 1}\n", "t.jsonl").error().text(),
            "t.jsonl:1: this is JSON; a CSV with a header line is read here");
}

TEST(Csv, GoesOnBehindABadLine) {
  auto csv = CsvReader::open("a,b\n1\n\"x\"y,2\n\xff,2\n\"3,4\n5,6\n", "t.csv");
  ASSERT_TRUE(csv);
  std::vector<std::string> row;
  std::vector<std::string> places;
  while (true) {
    const auto more = csv->next(row);
    if (more) break;
    places.push_back(more.error().place);
  }
  EXPECT_EQ(places, (std::vector<std::string>{"t.csv:2", "t.csv:3", "t.csv:4", "t.csv:5"}));
  EXPECT_EQ(row, (std::vector<std::string>{"5", "6"}));
  EXPECT_EQ(csv->place(), "t.csv:6");
  EXPECT_FALSE(*csv->next(row));
}

TEST(Clock, IsReadWithAndWithoutAZone) {
  const auto seconds = [](std::string_view text) {
    const auto time = parse_clock(text);
    return time ? std::optional(time->seconds) : std::nullopt;
  };
  const double noon = 1706702400;  // of 2024-01-31 in UTC
  for (const char* same : {"2024-01-31T12:00:00", "2024-01-31 12:00:00", "2024-01-31T12:00:00Z",
                           "2024-01-31T13:30:00+01:30", "2024-01-31T10:00:00-0200",
                           "2024-01-31T14:00:00+02", "2024-01-31T12:00:00.000Z"})
    EXPECT_EQ(seconds(same), noon) << same;
  EXPECT_EQ(seconds("2024-01-31T12:00:00.5"), noon + 0.5);
  EXPECT_EQ(seconds("1969-12-31T23:59:59Z"), -1);
  EXPECT_FALSE(parse_clock("2024-01-31T12:00:00")->zoned);
  EXPECT_TRUE(parse_clock("2024-01-31T12:00:00Z")->zoned);
  for (const char* wrong :
       {"", "2024-01-31", "2024-02-30T12:00:00", "2024-01-31T24:00:00", "2024-01-31T12:60:00",
        "2024-01-31T12:00:00.", "2024-01-31T12:00:00+", "2024-01-31T12:00:00+15:00",
        "2024-01-31T12:00:00+1:00", "2024-01-31T12:00:00 CET", "24-01-31T12:00:00"})
    EXPECT_FALSE(seconds(wrong)) << wrong;
}

std::string json_error(const std::string& text) {
  const auto document = parse_json(text, "f.json");
  return document ? "none" : document.error().text();
}

TEST(Json, SaysWhereItIsBroken) {
  EXPECT_EQ(json_error("{\"a\": 1,\n \"b\" 2}"),
            "f.json: line 2, column 6: this is not valid JSON; look for a missing comma, quote or "
            "bracket "
            "just before it");
  EXPECT_EQ(json_error("{\"a\": [1, 2"),
            "f.json: line 1, column 12: the JSON text ends in the middle; the file may be cut off");
  EXPECT_EQ(parse_json_line("{\"a\": 1 \"b\"}", "f.jsonl:7").error().place, "f.jsonl:7: column 11");
  const auto after = [](const std::string& text) {
    return json_error(text).substr(std::string("f.json: line 1, column 7: ").size());
  };
  EXPECT_EQ(after("{\"a\": NaN}"),
            "this is not valid JSON; JSON has no NaN and no infinity; write a number, or leave the "
            "key out");
  EXPECT_EQ(after("{\"a\": -Infinity}"), after("{\"a\": NaN}"));
  EXPECT_EQ(after("{\"a\": True}"), "this is not valid JSON; write true in lower case");
  EXPECT_EQ(after("{\"a\":\"\xe9\"}"),
            "this is not UTF-8 text; convert it, as `iconv -f LATIN1 -t UTF-8` does of Latin-1");
  EXPECT_EQ(json_error(std::string("{\"a\": 1}\0{", 10)),
            "f.json: line 1, column 9: here is a byte of zero, which no text has; is it the right "
            "file?");
  EXPECT_EQ(json_error("{\"a\": 1, \"a\": 2}"),
            "f.json: the key 'a' occurs twice in one object; keep one of the two");
  EXPECT_EQ(json_error(std::string(1000, '[')), "f.json: nested more than 64 levels deep");
  EXPECT_NE(json_error("{\"a\": 1e999}"), "none");
}

/// Compared with the library's parser: any nesting, objects of a list that differ, more keys than
/// are searched one by one.
/// By the library's own parser, which searches each key among all earlier ones, it took minutes.
TEST(Json, IsRefusedQuicklyHoweverManyKeysItHas) {
  std::string text = "{";
  for (int i = 0; i < 400'000; ++i) text += fmt::format("\"a{}\":0,", i);
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(parse_json(text, "keys").error().message, "the JSON text ends in the middle");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(30));
}

TEST(Json, IsWhatTheLibraryReads) {
  Random random(20261121);
  const std::function<Json(int)> any = [&](int depth) -> Json {
    switch (random.below(depth > 4 ? 6 : 8)) {
      case 0:
        return nullptr;
      case 1:
        return random.below(2) == 0;
      case 2:
        return static_cast<std::int64_t>(random.bits());
      case 3:
        return random.bits();
      case 4:
        return random.uniform() * 1e9;
      case 5:
        return std::string(random.below(40), 'x') + "\n\"\u00e4";
      case 6: {
        Json list = Json::array();
        for (std::uint64_t left = random.below(6); left > 0; --left) list.push_back(any(depth + 1));
        return list;
      }
      default: {
        Json object = Json::object();
        for (std::uint64_t left = random.below(random.below(20) == 0 ? 80 : 6); left > 0; --left)
          object[fmt::format("a key {}", left)] = any(depth + 1);
        return object;
      }
    }
  };
  for (int i = 0; i < 500; ++i) {
    const std::string text = any(0).dump();
    const auto read = parse_json(text, "f.json");
    ASSERT_TRUE(read) << read.error().text();
    ASSERT_EQ(*read, Json::parse(text));
    ASSERT_EQ(read->dump(), text);
  }
  std::string many = "{";
  for (int i = 0; i < 100; ++i) many += fmt::format("\"key {}\": {}, ", i, i);
  EXPECT_EQ(json_error(many + "\"key 100\": 0}"), "none");
  for (const int again : {0, 31, 32, 33, 99})
    EXPECT_EQ(
        json_error(many + fmt::format("\"key {}\": 0}}", again)),
        fmt::format("f.json: the key 'key {}' occurs twice in one object; keep one of the two",
                    again));
}

TEST(JsonReader, KeepsTheFirstErrorWithItsPlace) {
  const Json document =
      *parse_json(R"({"gpus": [{"name": "a"}, {"name": 3, "count": -1}]})", "f.json");
  std::optional<Error> error;
  JsonReader in(document, "f.json", error);
  for (JsonReader& gpu : in.objects("gpus")) {
    gpu.text("name");
    gpu.integer_if("count", 0, 10);
  }
  EXPECT_EQ(error->text(), "f.json: gpus[1].name: expected a text, found 3");
}

TEST(JsonReader, RefusesKeysThatNobodyAskedFor) {
  const Json document = *parse_json(R"({"ownd": false, "x-mine": 1})", "f.json");
  std::optional<Error> error;
  JsonReader in(document, "f.json", error);
  in.flag("owned", true);
  in.done();
  EXPECT_EQ(error->text(), "f.json: unknown key 'ownd'; did you mean 'owned'?");
}

}  // namespace
}  // namespace cleave
