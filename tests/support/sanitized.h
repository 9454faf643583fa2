#pragma once

// Defined if this program is instrumented by a sanitizer, which GCC indicates with macros and Clang with __has_feature.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BUBBLESCOPE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define BUBBLESCOPE_SANITIZED 1
#endif
#endif
#ifndef BUBBLESCOPE_SANITIZED
#define BUBBLESCOPE_SANITIZED 0
#endif

namespace bubblescope::test {

inline constexpr bool kSanitized = BUBBLESCOPE_SANITIZED; ///< memory is used differently, and everything is slower

} // namespace bubblescope::test
