#pragma once

#include "core/base/time.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace bubblescope::profiler {
class CaptureWriter;
}

namespace bubblescope::test {

/// A job of two processes that is recorded without a change to it, at times of our choice.
class RecordedJob {
public:
    static constexpr int kRanks = 2;
    static constexpr int kStep = 10;                                ///< units from one step to the next
    static constexpr TimeNs kUnit = std::chrono::microseconds(100); ///< of an op's times

    /// `size`: of a part of a process's trace in bytes; 0 = all in one.
    explicit RecordedJob(std::filesystem::path dir, std::int64_t size = 0);
    ~RecordedJob();

    /// 1F1B of two micro-batches, a forward of one unit and a backward of two.
    void write(int rank, int step);
    void flush(int rank, int step);
    void end(int rank, int step);
    profiler::CaptureWriter& writer(int rank);
    /// The current content of the rank's file.
    [[nodiscard]] std::string bytes(int rank) const;

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

} // namespace bubblescope::test
