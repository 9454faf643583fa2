#pragma once

#include "core/base/job.h"

#include <cstddef>
#include <cstdint>

namespace bubblescope {

/// A reader's share of a load: how far it is in its content, told to the job in bytes of the file on disk
/// (a packed file has fewer of them than its content).
class LoadProgress {
public:
    LoadProgress(JobControl& control, std::uint64_t file_bytes)
        : control_(control), base_(control.done.load()), file_bytes_(file_bytes) {}

    /// Readers call this for every event; the job is asked and told every few megabytes. False: stop.
    [[nodiscard]] bool reached(std::size_t offset, std::size_t content_bytes) {
        if (offset < next_) return true;
        next_ = offset + kStep;
        const double share =
            content_bytes == 0 ? 1.0 : static_cast<double>(offset) / static_cast<double>(content_bytes);
        control_.done = base_ + static_cast<std::uint64_t>(share * static_cast<double>(file_bytes_));
        return !control_.stopRequested();
    }
    void finished() { control_.done = base_ + file_bytes_; }

private:
    static constexpr std::size_t kStep = std::size_t{1} << 20;

    JobControl& control_;
    std::uint64_t base_;
    std::uint64_t file_bytes_;
    std::size_t next_ = 0;
};

} // namespace bubblescope
