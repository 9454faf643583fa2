#pragma once

#include "core/trace/trace.h"

#include <cstdint>
#include <tuple>
#include <vector>

namespace bubblescope {

/// Numbers for a trace's processes and threads that are different where the rows are: the files' own where they tell
/// apart, others where two files, or a number and a text, share one. A row that was split off has its thread's.
class RowNumbers {
public:
    explicit RowNumbers(const Trace& trace);

    struct Row {
        std::int64_t pid = 0;
        std::int64_t tid = 0;
    };
    [[nodiscard]] const Row& of(TrackId track) const { return rows_[track]; }
    /// The number of a file's process, for counters.
    [[nodiscard]] std::int64_t process(std::uint32_t file, std::int64_t pid) const;

private:
    std::vector<Row> rows_;
    std::vector<std::tuple<std::uint32_t, std::int64_t, std::int64_t>> processes_; ///< file, pid, number; sorted
};

} // namespace bubblescope
