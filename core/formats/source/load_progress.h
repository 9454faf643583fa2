#pragma once

#include "core/base/job.h"

#include <cstddef>
#include <cstdint>

namespace bubblescope {

/// Progress of loading one file, reported to the job in bytes of the file on disk. A file passes through stages
/// (decompression, reading), each of which counts for a fraction of the file's bytes. Files may be loaded in parallel,
/// each with a separate progress.
class LoadProgress {
public:
    LoadProgress(JobControl& control, std::uint64_t file_bytes) : control_(control), file_bytes_(file_bytes) {}

    /// Starts a stage that ends when `fraction` (0 to 1) of the file's bytes have been processed.
    void beginStage(double fraction) {
        stage_begin_ = told_;
        stage_bytes_ = static_cast<std::uint64_t>(fraction * static_cast<double>(file_bytes_)) - stage_begin_;
        next_ = 0;
    }

    /// Readers call this function for every event. Reports progress and checks for a stop request every megabyte.
    /// Returns false if the reader should stop.
    [[nodiscard]] bool reached(std::size_t offset, std::size_t content_bytes) {
        if (offset < next_) return true;
        next_ = offset + kStep;
        const double fraction =
            content_bytes == 0 ? 1.0 : static_cast<double>(offset) / static_cast<double>(content_bytes);
        tell(stage_begin_ + static_cast<std::uint64_t>(fraction * static_cast<double>(stage_bytes_)));
        return !control_.stopRequested();
    }
    [[nodiscard]] bool stopRequested() const { return control_.stopRequested(); }
    [[nodiscard]] const JobControl& control() const { return control_; }
    void finished() { tell(file_bytes_); }

private:
    static constexpr std::size_t kStep = std::size_t{1} << 20;

    void tell(std::uint64_t bytes) {
        if (bytes <= told_) return;
        control_.done += bytes - told_;
        told_ = bytes;
    }

    JobControl& control_;
    std::uint64_t file_bytes_;
    std::uint64_t told_ = 0;
    std::uint64_t stage_begin_ = 0;
    std::uint64_t stage_bytes_ = file_bytes_;
    std::size_t next_ = 0;
};

} // namespace bubblescope
