#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace bubblescope::test {

/// Inputs of our own making, part of the source.
inline std::filesystem::path dataDir() {
    return BUBBLESCOPE_TEST_DATA;
}

/// Folder of real traces and job orders; may not exist.
inline std::filesystem::path sharedDir() {
    const char* const set = std::getenv("BUBBLESCOPE_SHARED");
    return set != nullptr ? set : BUBBLESCOPE_SHARED_DEFAULT;
}

} // namespace bubblescope::test

/// Skips the test, saying so, when a file or folder below sharedDir() is not there.
#define BUBBLESCOPE_NEED_SHARED(relative)                                      \
    if (!std::filesystem::exists(bubblescope::test::sharedDir() / (relative))) \
    GTEST_SKIP() << "needs " << (relative) << ", which is not part of the source"
