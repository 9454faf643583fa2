#pragma once

#include "tests/support/cuda_shim/launch.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace bubblescope::runtime::test {

/// Log of all GPU kernels that were launched on the host in this program.
class KernelLog {
public:
    [[nodiscard]] static KernelLog& get() {
        static KernelLog log;
        return log;
    }

    /// Fails the running test if there were faults.
    void note(const char* kernel, cuda_shim::Shape shape, const std::vector<std::string>& faults, bool equal) {
        for (const std::string& fault : faults)
            ADD_FAILURE() << kernel << ": " << fault;
        EXPECT_TRUE(equal) << kernel << " leaves other bits than its form, with " << shape.blocks << " blocks of "
                           << shape.threads << " threads";
        ++launches_[kernel];
        ++count_;
    }
    [[nodiscard]] std::int64_t launches() const { return count_; }
    [[nodiscard]] std::int64_t launches(const std::string& kernel) const {
        const auto found = launches_.find(kernel);
        return found == launches_.end() ? 0 : found->second;
    }

private:
    std::map<std::string, std::int64_t> launches_;
    std::int64_t count_ = 0;
};

} // namespace bubblescope::runtime::test
