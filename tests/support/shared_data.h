#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace bubblescope::test {

/// Inputs of our own making, part of the source.
inline std::filesystem::path dataDir() {
    return BUBBLESCOPE_TEST_DATA;
}

/// Folder of other people's traces; may not exist.
inline std::filesystem::path sharedDir() {
    const char* const set = std::getenv("BUBBLESCOPE_SHARED");
    return set != nullptr ? set : BUBBLESCOPE_SHARED_DEFAULT;
}

/// A trace of a real job by its name, such as "torch-pp-cpu-gloo/1f1b_pp4_mb8". Our own recordings are part of the
/// source; other people's traces lie below sharedDir(), and may not exist.
inline std::filesystem::path realTrace(const std::filesystem::path& name) {
    const std::filesystem::path own = dataDir() / "recordings" / name;
    return std::filesystem::exists(own) ? own : sharedDir() / "traces" / name;
}

} // namespace bubblescope::test

/// Skips the test, saying so, when a file or folder below sharedDir() is not there.
#define BUBBLESCOPE_NEED_SHARED(relative)                                      \
    if (!std::filesystem::exists(bubblescope::test::sharedDir() / (relative))) \
    GTEST_SKIP() << "needs " << (relative) << ", which is not part of the source"

/// Skips the test, saying so, when realTrace(name) is not there.
#define BUBBLESCOPE_NEED_TRACE(name)                                  \
    if (!std::filesystem::exists(bubblescope::test::realTrace(name))) \
    GTEST_SKIP() << "needs the trace " << (name) << ", which is not part of the source"
