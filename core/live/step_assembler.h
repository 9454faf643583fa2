#pragma once

#include "core/analysis/clocks/run_clocks.h"
#include "core/live/live_view.h"
#include "core/live/record_stream.h"
#include "core/recognise/found_ops.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::live {

/// True if both can describe the same run.
[[nodiscard]] bool sameSizes(const RunInfo& a, const RunInfo& b);

/// A step that is complete or closed.
struct ClosedStep {
    int index = 0;
    /// One per replica that ran it completely, on the ranks' own clocks.
    std::vector<StepTimeline> timelines;
    std::vector<std::size_t> missing; ///< places with incomplete records of the step
    /// Why a replica is not among `timelines`; nothing if all are.
    std::optional<Diagnostic> fault;
    std::int64_t duplicates = 0;        ///< records received twice
    std::vector<CheckRecord> checks{};  ///< checks of the step that have arrived so far
    std::map<int, StepValues> values{}; ///< per replica, if a recorded job's framework reports them

    // Set by RunStreams, which also puts the timelines and checks on one clock.
    std::shared_ptr<const RunClocks> clocks{};
    CheckCounts check_counts{};
    std::vector<std::pair<std::string, std::string>> mismatches{}; ///< in the form of LiveStep
};

/// Assembles the steps of a run from records that arrive rank by rank, in any order and with any delay, and decides
/// when a step is complete. A place is a rank of a replica: replica * pp + rank.
///
/// A rank is done with a step when it has as many ops as in its last complete step, when it has begun a later one, or
/// when it has ended. A step is closed when all ranks are done and `settle` has passed, because transfers may be
/// recorded after their ops; when some are done and the rest has sent nothing for `patience`; or when more than
/// `open_steps` are open. Steps close in order. Records of a closed step are late.
class StepAssembler {
public:
    struct Limits {
        TimeNs settle{std::chrono::milliseconds(100)};
        TimeNs patience{std::chrono::seconds(10)}; ///< or twice the last step, whichever is longer
        /// When a sender catches up, this many steps of some ranks arrive before those of others. Fewer, but at least
        /// 64, if steps are large.
        std::size_t open_steps = 1024;
    };
    enum class AddResult : std::uint8_t {
        Yes,
        OutOfOrder, ///< accepted, although records of a later step of its rank came before
        Late,       ///< its step is closed
        Bad,        ///< has impossible numbers, or belongs to more open steps than can be held
    };

    /// `info` must have valid sizes, see sizesCanBe().
    StepAssembler(const RunInfo& info, Limits limits);

    [[nodiscard]] static bool sizesCanBe(const RunInfo& info);

    /// `now` is on any monotonic clock, the same in all calls.
    AddResult add(const FoundOp& op, TimeNs now);
    AddResult add(const FoundComm& comm, TimeNs now);
    /// Sets whether the rank has ended, so that nothing more is expected from it.
    void setEnded(std::size_t place, bool ended);

    /// The next step that is due at this time; nothing if there is none.
    [[nodiscard]] std::optional<ClosedStep> close(TimeNs now);

    [[nodiscard]] std::size_t places() const { return latest_.size(); }
    [[nodiscard]] std::size_t placeOf(std::int64_t rank, std::int64_t replica) const {
        return static_cast<std::size_t>(replica * info_.pp + rank);
    }
    /// The last step with an op of the rank; -1 for none.
    [[nodiscard]] int latest(std::size_t place) const { return latest_[place]; }
    [[nodiscard]] int lastClosed() const { return last_closed_; }
    [[nodiscard]] std::size_t open() const { return steps_.size(); }
    /// The time when the first rank finished the oldest open step; nothing if none has.
    [[nodiscard]] std::optional<TimeNs> waitingSince() const;
    /// True if the rank is done with the oldest open step, or no step is open.
    [[nodiscard]] bool doneWithOldest(std::size_t place) const;

private:
    struct RankRecords {
        FoundOpList ops;
        std::vector<FoundComm> comm;
    };
    struct OpenStep {
        std::vector<RankRecords> ranks; ///< by place
        std::optional<TimeNs> first_done;
        std::optional<TimeNs> all_done;
    };

    template <class Record, class List>
    AddResult take(const Record& record, List RankRecords::*list);
    OpenStep* openStep(int index);
    [[nodiscard]] bool beyondFew() const; ///< open steps
    [[nodiscard]] bool tooManyPlaces() const;
    [[nodiscard]] bool isDone(const OpenStep& step, int index, std::size_t place) const;
    void look(OpenStep& step, int index, TimeNs now);
    ClosedStep finish(int index, OpenStep step);

    RunInfo info_;
    Limits limits_;
    std::map<int, OpenStep> steps_;
    std::pair<int, OpenStep*> recent_{
        -1, nullptr};         ///< entry of steps_, because consecutive records usually belong to one step
    std::vector<int> latest_; ///< by place
    std::vector<bool> ended_;
    std::vector<std::size_t> usual_ops_; ///< in the last complete step; 0 before there is one
    bool looks_at_all_ =
        false; ///< the next op that begins a step must check all ranks, because some may be done since the last one
    std::int64_t most_slices_ = 1; ///< maximum number of slices per sequence
    std::size_t open_records_ = 0; ///< in steps_
    int last_closed_ = -1;
    TimeNs last_wall_{0};
};

/// Collects checks of aadiff by step until their steps close. Memory is bounded.
class OpenChecks {
public:
    using Mismatch = std::pair<std::string, std::string>; ///< rank, and the check with its verdict
    struct OfStep {
        CheckCounts counts;
        std::vector<Mismatch> mismatches;
        std::vector<CheckRecord> records;
    };

    /// Counts one check. False if its step has closed, or too many are open.
    bool count(int step, const CheckCounts& seen, int last_closed);
    /// Call only after count() returned true for the step.
    void addMismatch(int step, Mismatch mismatch);
    void keep(CheckRecord record, int last_closed);

    /// Removes and returns the checks of a step that is being closed.
    [[nodiscard]] OfStep take(int step);
    /// Records that arrived since the last call for steps that had already closed, because verdicts may arrive late.
    [[nodiscard]] std::vector<CheckRecord> takeLate() { return std::exchange(late_, {}); }

private:
    struct Counted {
        CheckCounts counts;
        std::vector<Mismatch> mismatches;
    };
    std::map<int, Counted> counted_;
    std::map<int, std::vector<CheckRecord>> records_;
    std::size_t kept_ = 0; ///< in records_
    std::vector<CheckRecord> late_;
};

/// One check, as counts.
[[nodiscard]] CheckCounts countsOf(const SeenCheck& check);

} // namespace bubblescope::live
