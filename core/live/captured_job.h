#pragma once

#include "core/live/live_view.h"
#include "core/live/step_assembler.h"
#include "core/recognise/mesh.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope {
struct Run;
}

namespace bubblescope::live {

/// A process of a job that does not know Bubblescope, as its streams state.
struct RecordedProcess {
    CaptureStatement statement; ///< at its first stream's beginning
    std::size_t number = 0; ///< in the order in which processes were first heard of: later ones replace earlier ones
    std::int64_t lost = 0;  ///< events, as it states
    TimeNs heard{0};        ///< when it was last heard of
    bool ended = false;     ///< it stated so
    bool gone = false;      ///< it ended without stating so
    std::string why;        ///< of gone: what is known of it

    [[nodiscard]] bool isOver() const { return ended || gone; }
};

/// A job that does not know Bubblescope: its processes, which of them is which rank of its pipeline, and which of its
/// recognised steps are new.
class CapturedJob {
public:
    static constexpr std::size_t kMaxProcesses = std::size_t{1} << 16;

    /// The process that a stream states, at an address that stays. The parts of one process's trace share it. Null
    /// where there are too many.
    RecordedProcess* processOf(const CaptureStatement& statement);

    /// Whether any stream is of such a job.
    [[nodiscard]] bool isCaptured() const { return !processes_.empty(); }
    /// Whether all processes have ended or are gone.
    [[nodiscard]] bool allOver() const;
    /// Whether, besides, all of what they recorded was recognised.
    [[nodiscard]] bool isComplete() const { return settled_ && allOver(); }

    /// The run, as its recognised steps show it.
    [[nodiscard]] static RunInfo infoOf(const Run& run);
    /// The steps that were not handed in before, which their times show, numbered on. The last one is left out unless
    /// the trace is `settled`: it may go on.
    [[nodiscard]] std::vector<ClosedStep> newSteps(const Run& run, bool settled);
    /// All steps are new again.
    void restart();
    [[nodiscard]] int steps() const { return steps_; } ///< handed out since

    /// The latest process of each pipeline rank and replica.
    [[nodiscard]] std::map<std::pair<int, int>, const RecordedProcess*> byRank(int pp) const;
    /// `patience`: a process is late that was not heard of for so long while others were.
    [[nodiscard]] RankState stateOf(const RecordedProcess& process, TimeNs patience) const;
    /// Since when nothing was heard of it while others went on.
    [[nodiscard]] TimeNs silence(const RecordedProcess& process) const { return lastHeard() - process.heard; }

private:
    using Key = std::pair<std::string, std::int64_t>; ///< host and process id

    [[nodiscard]] TimeNs lastHeard() const;

    std::map<Key, RecordedProcess> processes_;
    std::optional<RankPlaces> places_; ///< of the launcher's ranks in the job's mesh, as it was recognised
    std::optional<TimeNs> until_;      ///< in the files' time: when the last step that was handed out began
    int steps_ = 0;
    bool settled_ = false;
};

} // namespace bubblescope::live
