#include "base/ratio.hpp"

#include <cassert>
#include <numeric>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

__extension__ typedef __int128 Wide;

Ratio::Ratio(std::int64_t numerator, std::int64_t denominator) {
  assert(denominator > 0);
  const std::int64_t shared = std::gcd(numerator, denominator);
  numerator_ = numerator / shared;
  denominator_ = denominator / shared;
}

Result<Ratio> Ratio::parse(std::string_view decimal) {
  const auto refuse = [&] {
    return fail(ErrorKind::bad_input, "",
                fmt::format("'{}' is not a plain decimal number", shown(decimal)),
                "write it like 0.4, with at most nine digits on either side of the point");
  };
  std::string_view rest = decimal;
  const bool negative = rest.starts_with('-');
  if (negative) rest.remove_prefix(1);
  std::int64_t numerator = 0, denominator = 1;
  int before = 0, after = 0;
  bool point = false;
  for (const char c : rest) {
    if (c == '.' && !point) {
      point = true;
    } else if (c >= '0' && c <= '9') {
      numerator = numerator * 10 + (c - '0');
      if (point) denominator *= 10;
      if (++(point ? after : before) > 9) return refuse();
    } else {
      return refuse();
    }
  }
  if (before + after == 0) return refuse();
  return Ratio(negative ? -numerator : numerator, denominator);
}

std::string Ratio::exact() const {
  return fmt::format("{}/{}", numerator_, denominator_);
}

std::string Ratio::decimal() const {
  return fmt::format("{}", value());
}

std::strong_ordering operator<=>(Ratio a, Ratio b) {
  return static_cast<Wide>(a.numerator_) * b.denominator_ <=>
         static_cast<Wide>(b.numerator_) * a.denominator_;
}

}  // namespace cleave
