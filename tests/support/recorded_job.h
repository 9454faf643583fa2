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

/// A job of two processes that is recorded without modifications, at chosen times.
class RecordedJob {
public:
    static constexpr int kRanks = 2;
    static constexpr int kStep = 10;                                ///< time units per step
    static constexpr TimeNs kUnit = std::chrono::microseconds(100); ///< time unit for ops

    /// `size` is the size in bytes of each part of a process's trace; 0 = a single part.
    explicit RecordedJob(std::filesystem::path dir, std::int64_t size = 0);
    ~RecordedJob();

    /// Writes 1F1B with two micro-batches, with forwards of one time unit and backwards of two.
    void write(int rank, int step);
    void flush(int rank, int step);
    void end(int rank, int step);
    profiler::CaptureWriter& writer(int rank);
    /// Current content of the rank's file.
    [[nodiscard]] std::string bytes(int rank) const;

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

} // namespace bubblescope::test
