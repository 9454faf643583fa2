#pragma once

#include "core/trace/trace.h"

#include <QString>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace bubblescope::gui {

/// Converts a string of the trace to a single line.
[[nodiscard]] QString lineText(const Trace& trace, StringId id);

/// A line of a trace without steps: all tracks of a rank, or of a process whose file does not specify a rank.
struct TraceLine {
    std::optional<std::int32_t> rank;
    QString process; ///< process name without its number; may be empty
    std::int64_t pid = 0;
    QString file; ///< file name if the trace consists of several files
    std::vector<TrackId> tracks;
    std::vector<std::pair<std::uint32_t, std::int64_t>> processes; ///< processes whose counters are shown on this line

    /// Name such as "Rank 3", "python (7)" or "train.json: python (7)".
    [[nodiscard]] QString name() const;
};

/// Ranks in order, followed by other processes in the order of their file. Tracks are in file order; an extra track for
/// overlapping slices follows its original track.
[[nodiscard]] std::vector<TraceLine> traceLines(const Trace& trace);

} // namespace bubblescope::gui
