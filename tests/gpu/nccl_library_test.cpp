// The parts of NCCL that can be tested without a GPU: the library exists with all functions that we call, and its
// errors are reported.

#include "runtime/backend/cuda/nccl_peers.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace bubblescope::runtime::test {
namespace {

TEST(NcclLibrary, IsFoundAndTellsItsVersion) {
    try {
        EXPECT_EQ(makeNcclPeers()->name().rfind("NCCL 2.", 0), 0U) << makeNcclPeers()->name();
    } catch (const std::runtime_error& e) {
        // Built with its header alone: the library is only needed where ranks are joined.
        EXPECT_NE(std::string(e.what()).find("BUBBLESCOPE_NCCL"), std::string::npos) << e.what();
        GTEST_SKIP() << e.what();
    }
}

TEST(NcclLibrary, RefusesAnIdentityOfSomethingElse) {
    EXPECT_THROW((void)makeNcclPeers()->join("id1000", 0, 1, false), std::logic_error);
}

} // namespace
} // namespace bubblescope::runtime::test
