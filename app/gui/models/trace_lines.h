#pragma once

#include "core/trace/trace.h"

#include <QString>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace bubblescope::gui {

/// A text of a trace as one line.
[[nodiscard]] QString lineText(const Trace& trace, StringId id);

/// A line of a trace without steps: all tracks of a rank, or of a process whose file does not specify a rank.
struct TraceLine {
    std::optional<std::int32_t> rank;
    QString process; ///< its name without the number; may be empty
    std::int64_t pid = 0;
    QString file; ///< its file's name, if the trace consists of several files
    std::vector<TrackId> tracks;
    std::vector<std::pair<std::uint32_t, std::int64_t>> processes; ///< of processes whose counters are shown here

    /// "Rank 3", "python (7)", "train.json: python (7)".
    [[nodiscard]] QString name() const;
};

/// Ranks in order, then other processes in the order given by their file. Tracks are in file order; a track that was
/// split off follows the one that it came from.
[[nodiscard]] std::vector<TraceLine> traceLines(const Trace& trace);

} // namespace bubblescope::gui
