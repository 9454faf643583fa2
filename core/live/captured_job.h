#pragma once

#include "core/live/live_view.h"
#include "core/live/step_assembler.h"
#include "core/recognise/mesh.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope {
struct Run;
}

namespace bubblescope::live {

class RunStreams;

/// A process of a recorded job (one that does not use Bubblescope itself), as described in its streams.
struct RecordedProcess {
    CaptureStatement statement; ///< from the beginning of its first stream
    std::size_t number = 0;     ///< in the order in which processes first appeared: later ones replace earlier ones
    std::int64_t lost = 0;      ///< number of lost events, as reported by the process
    TimeNs last_received{0};    ///< when anything was last received from it
    bool ended = false;         ///< its stream reports the end
    bool gone = false;          ///< it exited without reporting its end
    std::string reason;         ///< for lost processes: what is known about the exit
    std::string stands_in;      ///< the range in which it is stuck, possibly empty, see perfetto::kCaptureStands
    std::optional<TimeNs> stands_since; ///< on the analyzer's clock; empty if it is not stuck

    [[nodiscard]] bool hasEnded() const { return ended || gone; }
};

/// A job that does not use Bubblescope itself and is only recorded: its processes, their ranks in its pipeline, and
/// which of its recognised steps are new.
class CapturedJob {
public:
    static constexpr std::size_t kMaxProcesses = std::size_t{1} << 16;

    /// The process that a stream belongs to; the address is stable. The parts of one process's trace share one process.
    /// Null if there are too many processes.
    RecordedProcess* processOf(const CaptureStatement& statement);

    /// True if any stream belongs to such a job.
    [[nodiscard]] bool isCaptured() const { return !processes_.empty(); }
    /// True if all processes have ended or are lost.
    [[nodiscard]] bool allEnded() const;
    /// True if allEnded() and everything the processes recorded has been recognised.
    [[nodiscard]] bool isComplete() const { return settled_ && allEnded(); }

    /// The description of the run, derived from its recognised steps.
    [[nodiscard]] static RunInfo infoOf(const Run& run);
    /// The steps that were not returned before, identified by their times, numbered consecutively. Leaves out the last
    /// one unless the trace is `settled`, because it may be incomplete.
    [[nodiscard]] std::vector<ClosedStep> newSteps(const Run& run, bool settled);
    /// Makes all steps new again.
    void restart();
    [[nodiscard]] int steps() const { return steps_; } ///< number of steps returned since the last restart()

    /// The latest process of each pipeline rank and replica.
    [[nodiscard]] std::map<std::pair<int, int>, const RecordedProcess*> byRank(int pp) const;
    /// `patience`: a process is late if it sent nothing for that long while others were active, or if it has been stuck
    /// for that long without waiting for another, while another one waits.
    [[nodiscard]] RankState stateOf(const RecordedProcess& process, TimeNs patience) const;
    [[nodiscard]] std::string whyLate(const RecordedProcess& process, TimeNs patience) const;

private:
    /// The time since it last sent anything, while others were active.
    [[nodiscard]] TimeNs silence(const RecordedProcess& process) const {
        return lastReceived() - process.last_received;
    }
    [[nodiscard]] bool holdsUp(const RecordedProcess& process, TimeNs patience) const;

    using Key = std::pair<std::string, std::int64_t>; ///< host and process id

    [[nodiscard]] TimeNs lastReceived() const;

    std::map<Key, RecordedProcess> processes_;
    std::optional<RankPlaces> places_; ///< places of the launcher's ranks in the job's mesh, as recognised
    std::optional<TimeNs> until_;      ///< in the files' time: start of the last step that was returned
    int steps_ = 0;
    bool settled_ = false;
};

/// Recognises the steps of a recorded job while it runs: reads its files again when they have grown, as `analyze` reads
/// finished ones. File sizes are limited, so this takes little time; it takes at most a fifth of the total. Not
/// thread-safe.
class CapturedRun {
public:
    /// `patience`: after this time without growth, the last step of the files counts as complete.
    CapturedRun(std::vector<std::filesystem::path> folders, TimeNs patience)
        : folders_(std::move(folders)), patience_(patience) {}

    /// Passes new steps to `streams`, which must have been fed with the same files. `now` is on its clock.
    void look(RunStreams& streams, TimeNs now);

    /// The reason why the last look() recognised no step; empty if it recognised one.
    [[nodiscard]] const std::string& problem() const { return problem_; }
    /// True if everything was read that had been written when the files stopped growing.
    [[nodiscard]] bool isSettled() const { return settled_; }

private:
    std::vector<std::filesystem::path> folders_;
    TimeNs patience_;
    std::int64_t received_ = 0; ///< bytes received, at the last call
    TimeNs grew_{0};
    TimeNs next_{0};
    bool fresh_ = false;   ///< files grew since they were read
    bool settled_ = false; ///< the files were complete when last read
    std::string problem_;
};

} // namespace bubblescope::live
