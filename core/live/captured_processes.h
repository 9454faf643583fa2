#pragma once

#include "core/live/record_stream.h"
#include "core/recognise/mesh.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace bubblescope::profiler {

/// A process of a job that knows nothing of us, as its streams tell.
struct RecordedProcess {
    CaptureStatement told; ///< at its first stream's beginning
    std::size_t number =
        0; ///< of those that were heard of, this one was the so many-th: later ones replace earlier ones
    std::int64_t lost = 0; ///< events, as it says
    TimeNs heard{0};       ///< when it was last
    bool ended = false;    ///< it says so
    bool gone = false;     ///< it is no more, and did not
    std::string why;       ///< of gone: what is known of it

    [[nodiscard]] bool isOver() const { return ended || gone; }
};

/// The processes of such a job, and which of them is which rank of its pipeline.
class RecordedProcesses {
public:
    static constexpr std::size_t kMost = std::size_t{1} << 16;

    /// The process that a stream tells of, which stays where it is. A part of its trace follows the other: the streams
    /// of one process are one. Null where there are too many.
    RecordedProcess* of(const CaptureStatement& statement);

    [[nodiscard]] bool allOver() const;
    /// When the last of them was heard.
    [[nodiscard]] TimeNs lastHeard() const;

    /// By pipeline rank and replica. `places`: of the launcher's ranks in the job's mesh, where the trace tells; else
    /// the launcher's ranks are taken for the pipeline's where there are as many, and a process alone for a pipeline of
    /// one.
    [[nodiscard]] std::map<std::pair<int, int>, const RecordedProcess*> byRank(const std::optional<RankPlaces>& places,
                                                                               int pp) const;

private:
    using Key = std::pair<std::string, std::int64_t>; ///< host and number
    std::map<Key, RecordedProcess> processes_;
};

} // namespace bubblescope::profiler
