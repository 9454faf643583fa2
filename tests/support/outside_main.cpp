// The entry of test programs that need things from outside the source: ends with 77, which CTest reads as skipped, if
// nothing failed and something was skipped, and states in one line what was missing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <set>
#include <string>

namespace {

constexpr int kSkipped = 77;

std::set<std::string> reasonsOfSkips(const testing::UnitTest& run) {
    std::set<std::string> reasons;
    for (int s = 0; s < run.total_test_suite_count(); ++s) {
        const testing::TestSuite& suite = *run.GetTestSuite(s);
        for (int t = 0; t < suite.total_test_count(); ++t) {
            const testing::TestResult& result = *suite.GetTestInfo(t)->result();
            for (int part = 0; part < result.total_part_count(); ++part) {
                if (result.GetTestPartResult(part).skipped()) reasons.insert(result.GetTestPartResult(part).message());
            }
        }
    }
    return reasons;
}

} // namespace

int main(int argc, char** argv) {
    testing::InitGoogleMock(&argc, argv);
    const int result = RUN_ALL_TESTS();
    const testing::UnitTest& run = *testing::UnitTest::GetInstance();
    if (result != 0 || run.skipped_test_count() == 0) return result;
    std::cout << "skipped: ";
    const char* separator = "";
    for (const std::string& reason : reasonsOfSkips(run)) {
        std::cout << separator << reason;
        separator = ", ";
    }
    std::cout << std::endl;
    return kSkipped;
}
