#pragma once
// Whether tests run under a sanitizer, where the same work takes ten to forty times as long. There
// tests use fewer seeds and smaller fleets, which exercise the same code; release builds run all.

namespace cleave {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

}  // namespace cleave
