#pragma once

// Whether this program checks itself with a sanitizer: GCC says so with macros, Clang when it is asked.
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

inline constexpr bool kSanitized =
    BUBBLESCOPE_SANITIZED; ///< memory is used in another way, and everything takes longer

} // namespace bubblescope::test
