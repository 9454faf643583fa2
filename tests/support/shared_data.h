#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace bubblescope::test {

/// Folder with our inputs in the source tree.
inline std::filesystem::path dataDir() {
    return BUBBLESCOPE_TEST_DATA;
}

/// Folder with traces from other people; may not exist.
inline std::filesystem::path sharedDir() {
    const char* const set = std::getenv("BUBBLESCOPE_SHARED");
    return set != nullptr ? set : BUBBLESCOPE_SHARED_DEFAULT;
}

/// A trace of a real job by name, such as "torch-pp-cpu-gloo/1f1b_pp4_mb8". Our recordings are in the source tree;
/// traces from other people are below sharedDir() and may not exist.
inline std::filesystem::path realTrace(const std::filesystem::path& name) {
    const std::filesystem::path own = dataDir() / "recordings" / name;
    return std::filesystem::exists(own) ? own : sharedDir() / "traces" / name;
}

inline bool isTestOfWhatIsOutside() {
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    return (std::string(test.test_suite_name()) + "." + test.name()).find("Outside") != std::string::npos;
}

} // namespace bubblescope::test

/// Skips a test of traces from other people with a message if their collection, such as "megatronapp-pp4", is missing.
/// The test's full name must contain "Outside": bubblescope_test(… OUTSIDE) creates one CTest case for all such tests.
#define BUBBLESCOPE_NEED_TRACES(collection)                                                  \
    ASSERT_TRUE(bubblescope::test::isTestOfWhatIsOutside()) << "its name lacks \"Outside\""; \
    if (!std::filesystem::exists(bubblescope::test::sharedDir() / "traces" / (collection)))  \
    GTEST_SKIP() << "needs traces/" << (collection)
