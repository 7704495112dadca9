// Reading files as text: gzip of several members, what is not text, and the limits.

#include "base/read_text.hpp"

#define ZLIB_CONST  // input is not changed
#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>

#include "base/read_limits.hpp"
#include "base/temporary_folder_test.hpp"

namespace cleave {

namespace {

std::string gzip(std::string_view text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<const Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(packed.size() - stream.avail_out);
  deflateEnd(&stream);
  return packed;
}

/// Lines that do not compress to nothing, more than a few chunks of the reader's.
std::string long_text() {
  std::string text;
  for (std::uint32_t i = 0; i < 100000; ++i) text += std::to_string(i * 2654435761U) + '\n';
  return text;
}

class ReadText : public testing::Test {
 protected:
  /// What the file holds as it is read, or the error's text without the folder's name.
  std::string read(const std::string& bytes, const ReadLimits& limits = {}) {
    const std::string file = (folder_.path() / "f").string();
    std::ofstream(file, std::ios::binary) << bytes;
    const auto text = read_text(file, limits);
    if (text) return *text;
    EXPECT_EQ(text.error().kind, ErrorKind::bad_input);
    return text.error().text().substr(folder_.path().string().size() + 1);
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(ReadText, InflatesEveryMember) {
  const std::string text = long_text();
  EXPECT_EQ(read(text), text);
  EXPECT_EQ(read(gzip(text)), text);
  EXPECT_EQ(read(gzip(text) + gzip("") + gzip("more\n")), text + "more\n");
  EXPECT_EQ(read(gzip("a\n") + std::string(512, '\0')), "a\n") << "padding of tapes";
  EXPECT_EQ(read(""), "");
  EXPECT_EQ(read(gzip("")), "");
}

TEST_F(ReadText, RefusesBrokenGzip) {
  const std::string packed = gzip(long_text());
  for (const std::size_t length : {std::size_t{2}, std::size_t{11}, packed.size() - 1})
    EXPECT_EQ(read(packed.substr(0, length)),
              "f: broken gzip: unexpected end of file; the file may be cut off; fetch it again");
  std::string other = packed;
  other[packed.size() - 6] = static_cast<char>(other[packed.size() - 6] ^ 1);
  EXPECT_EQ(read(other),
            "f: broken gzip: incorrect data check; the file may be cut off; fetch it again");
}

TEST_F(ReadText, RefusesWhatIsNotText) {
  constexpr const char* utf16 =
      "f: the file is UTF-16, not UTF-8; convert it, as `iconv -f UTF-16 -t UTF-8` does";
  EXPECT_EQ(read("\xff\xfei\0d\0"), utf16);
  EXPECT_EQ(read(std::string("i\0d\0,\0", 6)), utf16);
  EXPECT_EQ(read(std::string("\0i\0d\0,", 6)), utf16);
  constexpr const char* binary =
      "f:3: the line holds a byte of zero, which no text does; is it the right file? Name a file "
      "of text";
  EXPECT_EQ(read(std::string("a\nb\nc\0d\n", 8)), binary);
  EXPECT_EQ(read(gzip(std::string("a\nb\nc\0d\n", 8))), binary);
  for (const char* const device : {"/dev/zero", "/dev/urandom"})
    EXPECT_NE(read_text(device).error().message.find("byte of zero"), std::string::npos) << device;
}

TEST_F(ReadText, StopsAtItsLimits) {
  const ReadLimits little{.bytes = 2048, .inflation = 20, .inflates_freely = 1024};
  constexpr const char* too_long =
      "f: it is longer than 2048 bytes, the most that is read here; is it the right file? A long "
      "table can be cut into several";
  const std::string text = long_text();
  EXPECT_EQ(read(text.substr(0, 2048), little), text.substr(0, 2048));
  EXPECT_EQ(read(text.substr(0, 2049), little), too_long);
  EXPECT_EQ(read(gzip(text.substr(0, 2048)), little), text.substr(0, 2048));
  EXPECT_EQ(read(gzip(text.substr(0, 2049)), little), too_long);
  const std::string same(1024, 'x');
  EXPECT_EQ(read(gzip(same), little), same) << "small ones may inflate as they like";
  EXPECT_EQ(read(gzip(same + 'x'), little),
            "f: this gzip file inflates to more than 20 times its size; text inflates 5 to 50 "
            "times; if the file is to be trusted, inflate it with gunzip");
}

// 100 MB of one letter in 100 kB; where the limit is not seen, all of it is read.
TEST_F(ReadText, StopsAGzipBombByDefault) {
  const std::string bomb = gzip(std::string(100'000'000, 'x'));
  EXPECT_NE(read(bomb).find("inflates to more than 200 times its size"), std::string::npos);
  ReadLimits trusting;
  trusting.inflation = 2000;
  EXPECT_EQ(read(bomb, trusting).size(), 100'000'000U);
}

TEST_F(ReadText, StopsAnEndlessPipe) {
  FILE* const endless = ::popen("yes", "r");
  ASSERT_NE(endless, nullptr);
  const auto text = read_text("/proc/self/fd/" + std::to_string(::fileno(endless)),
                              {.bytes = std::size_t{1} << 20});
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().message, "it is longer than 1 MiB, the most that is read here");
  ::pclose(endless);
}

}  // namespace

}  // namespace cleave
