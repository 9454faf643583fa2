#pragma once

#include "core/timeline/check_record.h"

#include <cstdint>
#include <functional>
#include <optional>

namespace bubblescope::runtime {

/// How a run checks itself in its bubbles.
struct AadiffOptions {
    double margin = 0.1;                ///< share of its cost by which a check may take longer and still delay nobody
    std::optional<std::int64_t> memory; ///< bytes a rank may keep for checks; none = as much as they take
    bool digests = true;                ///< record one of every layer's results, so that runs can be compared
    bool elsewhere = true; ///< layers are also run again by other ranks, where they are threads of one process
    int every = 1;         ///< only steps whose number is a multiple of this are checked
    bool stop = false;     ///< a mismatch ends the run
    /// Called by any rank's thread when the verdict on a mismatch is known.
    std::function<void(const CheckRecord&)> on_mismatch{};
    std::int64_t bytes_on_disk = std::int64_t{64} << 20U; ///< of the tensors of mismatches, in the run's folder
};

} // namespace bubblescope::runtime
