#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

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

inline bool isTestOfWhatIsOutside() {
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    return (std::string(test.test_suite_name()) + "." + test.name()).find("Outside") != std::string::npos;
}

} // namespace bubblescope::test

/// Skips a test of other people's traces, saying so, where its collection, such as "megatronapp-pp4", is not there. Its
/// full name must hold "Outside": bubblescope_test(… OUTSIDE) makes one CTest case of all such tests of a program.
#define BUBBLESCOPE_NEED_TRACES(collection)                                                  \
    ASSERT_TRUE(bubblescope::test::isTestOfWhatIsOutside()) << "its name lacks \"Outside\""; \
    if (!std::filesystem::exists(bubblescope::test::sharedDir() / "traces" / (collection)))  \
    GTEST_SKIP() << "needs traces/" << (collection)
