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

/// A process of a recorded job (one that does not use Bubblescope itself), as described by its streams.
struct RecordedProcess {
    CaptureStatement statement;         ///< statement at the start of its first stream
    std::size_t number = 0;             ///< index in order of first appearance: later processes replace earlier ones
    std::int64_t lost = 0;              ///< number of lost events, as reported by the process
    TimeNs last_received{0};            ///< time when data was last received from the process
    bool ended = false;                 ///< true if its stream contains an end record
    bool gone = false;                  ///< true if the process exited without reporting its end
    std::string reason;                 ///< for lost processes: the known facts about the exit
    std::string stands_in;              ///< range in which the process is stuck, if known, see perfetto::kCaptureStands
    std::optional<TimeNs> stands_since; ///< on the analyzer's clock; empty if the process is not stuck

    [[nodiscard]] bool hasEnded() const { return ended || gone; }
};

/// A job that is recorded but does not use Bubblescope itself: its processes, their ranks in the pipeline, and its
/// recognised steps.
class CapturedJob {
public:
    static constexpr std::size_t kMaxProcesses = std::size_t{1} << 16;

    /// Returns the process to which a stream belongs; the address is stable. Several streams may be parts of one
    /// process's trace. Null if there are too many processes.
    RecordedProcess* processOf(const CaptureStatement& statement);

    /// True if at least one stream belongs to a recorded job.
    [[nodiscard]] bool isCaptured() const { return !processes_.empty(); }
    /// True if all processes have ended or are lost.
    [[nodiscard]] bool allEnded() const;
    /// True if all processes have ended or are lost, and all of their records have been recognised.
    [[nodiscard]] bool isComplete() const { return settled_ && allEnded(); }

    /// Description of the run, derived from its recognised steps.
    [[nodiscard]] static RunInfo infoOf(const Run& run);
    /// Returns the steps that were not returned before, with consecutive numbers; steps are identified by their times.
    /// Omits the last step unless the trace is `settled`, because this step may be incomplete.
    [[nodiscard]] std::vector<ClosedStep> newSteps(const Run& run, bool settled);
    /// Marks all steps as new again.
    void restart();
    [[nodiscard]] int steps() const { return steps_; } ///< number of steps returned since the last call to restart()

    /// The most recent process of each pipeline rank and replica.
    [[nodiscard]] std::map<std::pair<int, int>, const RecordedProcess*> byRank(int pp) const;
    /// A process is late if it sent nothing for `patience` while others were active, or if it has been stuck outside
    /// transfers for `patience` while another process is stuck in one.
    [[nodiscard]] RankState stateOf(const RecordedProcess& process, TimeNs patience) const;
    [[nodiscard]] std::string whyLate(const RecordedProcess& process, TimeNs patience) const;

private:
    /// Time since the process last sent data, if others were active meanwhile.
    [[nodiscard]] TimeNs silence(const RecordedProcess& process) const {
        return lastReceived() - process.last_received;
    }
    [[nodiscard]] bool holdsUp(const RecordedProcess& process, TimeNs patience) const;

    using Key = std::pair<std::string, std::int64_t>; ///< host name and process id

    [[nodiscard]] TimeNs lastReceived() const;

    std::map<Key, RecordedProcess> processes_;
    std::optional<RankPlaces> places_; ///< recognised positions of the launcher's ranks in the job's mesh
    std::optional<TimeNs> until_;      ///< start of the last returned step, on the files' clock
    int steps_ = 0;
    bool settled_ = false;
};

/// Recognises the steps of a recorded job while it runs: rereads its files when they have grown, in the same way as
/// `analyze` reads finished files. Reading is fast because file sizes are limited; it takes at most a fifth of the
/// time. Not thread-safe.
class CapturedRun {
public:
    /// `patience`: the last step counts as complete if the files have not grown for this long.
    CapturedRun(std::vector<std::filesystem::path> folders, TimeNs patience)
        : folders_(std::move(folders)), patience_(patience) {}

    /// Passes new steps to `streams`, which must have received the same files. `now` is on the clock of `streams`.
    void look(RunStreams& streams, TimeNs now);

    /// Reason why the last call to look() recognised no step; empty if it recognised one.
    [[nodiscard]] const std::string& problem() const { return problem_; }
    /// True if all data that existed when the files stopped growing has been read.
    [[nodiscard]] bool isSettled() const { return settled_; }

private:
    std::vector<std::filesystem::path> folders_;
    TimeNs patience_;
    std::int64_t received_ = 0; ///< number of bytes received as of the previous call
    TimeNs grew_{0};
    TimeNs next_{0};
    bool fresh_ = false;   ///< true if files have grown since they were last read
    bool settled_ = false; ///< true if the files were complete when they were last read
    std::string problem_;
};

} // namespace bubblescope::live
