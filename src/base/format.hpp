#pragma once
// Text formatting with fmt, because g++ 12 has no std::format. Other rooms include this and not
// <fmt/...>.

#include <fmt/format.h>
#include <fmt/ranges.h>
