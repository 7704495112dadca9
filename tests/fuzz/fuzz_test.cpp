// Runs every fuzz target without clang: the kept inputs of corpus/NAME, then mutations of them,
// which are cut, spliced, with bits flipped, numbers and tokens replaced by awkward ones. An input
// that kills the process, by a broken law or a sanitizer, is written to build/.../fuzz/NAME.
//
// Seeded: CLEAVE_FUZZ_SEED begins elsewhere. CLEAVE_FUZZ_SECONDS is the time of each target (1).

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/format.hpp"
#include "base/places_test.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "fuzz.hpp"

#define CLEAVE_FUZZ_NAME(name) \
  extern "C" int fuzz_##name(const std::uint8_t* data, std::size_t size);
#include "fuzz_targets.inc"
#undef CLEAVE_FUZZ_NAME

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace cleave::fuzz {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// A function under test.
struct Target {
  const char* name;
  int (*run)(const std::uint8_t*, std::size_t);
};
constexpr Target targets[] = {
#define CLEAVE_FUZZ_NAME(name) {#name, fuzz_##name},
#include "fuzz_targets.inc"
#undef CLEAVE_FUZZ_NAME
};

std::int64_t number_of_environment(const char* name, std::int64_t otherwise) {
  const char* given = std::getenv(name);
  return given == nullptr ? otherwise : parse_integer(given).value_or(otherwise);
}

/// The input that runs, for the handler of the process's death.
struct Running {
  const std::string* input = nullptr;
  std::array<char, 4096> file{};
};
Running running;

/// Only calls that a signal handler may make.
void keep_input() {
  if (running.input == nullptr) return;
  const int file = ::open(running.file.data(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const std::string& input = *std::exchange(running.input, nullptr);
  constexpr std::string_view said = "the input is kept in ";
  [[maybe_unused]] ssize_t written = ::write(file, input.data(), input.size());
  written = ::write(STDERR_FILENO, said.data(), said.size());
  written = ::write(STDERR_FILENO, running.file.data(), std::strlen(running.file.data()));
  written = ::write(STDERR_FILENO, "\n", 1);
  ::close(file);
}

void keep_input_of_signal(int signal) {
  keep_input();
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void keep_inputs_that_kill(const Target& target) {
  const fs::path folder = fs::path(binary_dir()) / "fuzz";
  fs::create_directories(folder);
  const std::string file = (folder / target.name).string();
  ASSERT_LT(file.size(), running.file.size());
  std::ranges::copy(file, running.file.begin());
  ::signal(SIGABRT, keep_input_of_signal);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_set_death_callback(keep_input);  // it says more of the other signals than we could
#else
  for (const int each : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) ::signal(each, keep_input_of_signal);
#endif
}

void run(const Target& target, const std::string& input) {
  running.input = &input;
  target.run(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  running.input = nullptr;
}

/// Tokens that often confuse readers.
constexpr std::string_view awkward[] = {
    "",
    "-1",
    "0",
    "1e308",
    "1e-308",
    "-0",
    "99999999999999999999",
    "NaN",
    "null",
    "true",
    "[]",
    "{}",
    "\"\"",
    "\"",
    "\\",
    "\\u0000",
    ",",
    "\n",
    "\r\n",
    "@",
    "7g.40gb",
    "2g.10gb",
    "none",
    "%d",
    "\xff\xfe",
    "\xe2\x82",
    "1.5",
    "\"count\": 4000000",
    "{\"a\":",
    "2147483648",
    "-9223372036854775808",
    "1g.5gb+me",
    "0x10",
    "9GiB",
    "3e9",
    "\"phases\": {\"cpu_s\": 3e9, \"compute_s\": 3e9, \"bandwidth_s\": 3e9}",
    "instances",
    ":",
    "=",
    "4x1g.5gb",
    "99999x",
    "100000",
    "|",
    "| GPU instances: |\n",
    "4:2",
    " MIG ",
    "+----+\n",
    ";"};

/// Numbers at the ends of what headers of files hold.
constexpr std::uint64_t edges[] = {0,          1,          0x7f,       0xff,       0x7fff,
                                   0xffff,     0x7fffffff, 0x80000000, 0xffffffff, 1ULL << 40,
                                   1ULL << 62, 1ULL << 63, ~0ULL};

void change(std::string& text, const std::string& other, Random& random) {
  const std::size_t at = random.below(text.size());
  const std::size_t length = std::min<std::size_t>(random.below(12), text.size() - at);
  switch (random.below(8)) {
    case 0:
      text.resize(at);
      break;
    case 1:
      text.erase(at, length);
      break;
    case 2:
      text[at] = static_cast<char>(random.below(256));
      break;
    case 3:
      text.insert(at, awkward[random.below(std::size(awkward))]);
      break;
    case 4:
      text.replace(at, length, awkward[random.below(std::size(awkward))]);
      break;
    case 5: {
      const std::uint64_t edge = edges[random.below(std::size(edges))];
      std::memcpy(text.data() + at, &edge, std::min<std::size_t>(sizeof edge, text.size() - at));
      break;
    }
    case 6:
      text.replace(at, std::string::npos, other.substr(random.below(other.size() + 1)));
      break;
    default:
      text.insert(random.below(text.size()), text.substr(at, length * 5));
      break;
  }
}

std::string mutated(const std::vector<std::string>& corpus, Random& random) {
  std::string text = corpus[random.below(corpus.size())];
  for (std::size_t left = 1 + random.below(4); left > 0 && !text.empty(); --left)
    change(text, corpus[random.below(corpus.size())], random);
  return text;
}

class Fuzz : public ::testing::TestWithParam<Target> {};

TEST_P(Fuzz, KeptAndMutatedInputs) {
  const Target& target = GetParam();
  keep_inputs_that_kill(target);
  std::vector<std::string> corpus;
  for (const auto& entry :
       fs::directory_iterator(fs::path(source_dir()) / "tests/fuzz/corpus" / target.name)) {
    std::ifstream in(entry.path(), std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    const std::size_t refused_before = counts.refused;
    run(target, corpus.back());
    const bool refused = counts.refused > refused_before;
    EXPECT_EQ(refused, entry.path().filename().string().starts_with("refused"))
        << entry.path() << ": only what is named so is refused";
  }
  ASSERT_FALSE(corpus.empty());
  std::ranges::sort(corpus);  // so that a seed means the same everywhere

  counts = {};
  const std::chrono::seconds time(number_of_environment("CLEAVE_FUZZ_SECONDS", 1));
  auto round = static_cast<std::uint64_t>(number_of_environment("CLEAVE_FUZZ_SEED", 0));
  const auto begin = Clock::now();
  auto now = begin;
  auto longest = Clock::duration::zero();
  for (; now - begin < time; ++round) {
    Random random(round);
    run(target, mutated(corpus, random));
    const auto after = Clock::now();
    longest = std::max(longest, after - now);
    now = after;
  }
  EXPECT_LT(longest, std::chrono::seconds(30)) << "an input takes too long";
  // Both branches of every reader are taken.
  EXPECT_GT(counts.accepted, 0U);
  EXPECT_GT(counts.refused, 0U);
}

INSTANTIATE_TEST_SUITE_P(Targets, Fuzz, ::testing::ValuesIn(targets),
                         [](const auto& target) { return std::string(target.param.name); });

}  // namespace
}  // namespace cleave::fuzz
