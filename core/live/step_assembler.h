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

/// True if both descriptions can belong to the same run.
[[nodiscard]] bool sameSizes(const RunInfo& a, const RunInfo& b);

/// A step that is complete or closed.
struct ClosedStep {
    int index = 0;
    /// One timeline per replica that completed the step, on the ranks' own clocks.
    std::vector<StepTimeline> timelines;
    std::vector<std::size_t> missing; ///< places whose records of the step are incomplete
    /// Reason why a replica is missing from `timelines`; empty if none is missing.
    std::optional<Diagnostic> fault;
    std::int64_t duplicates = 0;        ///< records received twice
    std::vector<CheckRecord> checks{};  ///< checks of the step that have arrived so far
    std::map<int, StepValues> values{}; ///< per replica; only for recorded jobs whose framework reports them

    // Set by RunStreams, which also converts the timelines and checks to a common clock.
    std::shared_ptr<const RunClocks> clocks{};
    CheckCounts check_counts{};
    std::vector<std::pair<std::string, std::string>> mismatches{}; ///< pairs as in LiveStep::mismatches
};

/// Assembles the steps of a run from records that arrive rank by rank, in any order and with any delay, and determines
/// when a step is complete. A place is a rank of a replica: replica * pp + rank.
///
/// A rank has finished a step if it has as many ops as in its last complete step, has started a later step, or has
/// ended. A step is closed if all ranks have finished it and `settle` has passed, because transfers may be recorded
/// after their ops; if some ranks have finished it and the others have sent nothing for `patience`; or if more than
/// `open_steps` are open. Steps are closed in order. Records of a closed step are late.
class StepAssembler {
public:
    struct Limits {
        TimeNs settle{std::chrono::milliseconds(100)};
        TimeNs patience{std::chrono::seconds(10)}; ///< or twice the duration of the last step, whichever is longer
        /// Maximum number of open steps. When a sender catches up, this many steps of some ranks may arrive before
        /// those of others. The limit is lower, but at least 64, if steps are large.
        std::size_t open_steps = 1024;
    };
    enum class AddResult : std::uint8_t {
        Yes,
        OutOfOrder, ///< accepted, although records of a later step of the rank came first
        Late,       ///< the step of the record is already closed
        Bad,        ///< the numbers are impossible, or more steps would be open than allowed
    };

    /// `info` must contain valid sizes, see sizesCanBe().
    StepAssembler(const RunInfo& info, Limits limits);

    [[nodiscard]] static bool sizesCanBe(const RunInfo& info);

    /// `now` is a time on a monotonic clock, the same one in all calls.
    AddResult add(const FoundOp& op, TimeNs now);
    AddResult add(const FoundComm& comm, TimeNs now);
    /// Sets whether the rank has ended, after which no more records are expected from it.
    void setEnded(std::size_t place, bool ended);

    /// Returns the next step that is due at this time; empty if none is due.
    [[nodiscard]] std::optional<ClosedStep> close(TimeNs now);

    [[nodiscard]] std::size_t places() const { return latest_.size(); }
    [[nodiscard]] std::size_t placeOf(std::int64_t rank, std::int64_t replica) const {
        return static_cast<std::size_t>(replica * info_.pp + rank);
    }
    /// Latest step that contains an op of the rank; -1 if there is none.
    [[nodiscard]] int latest(std::size_t place) const { return latest_[place]; }
    [[nodiscard]] int lastClosed() const { return last_closed_; }
    [[nodiscard]] std::size_t open() const { return steps_.size(); }
    /// Time when the first rank finished the oldest open step; empty if no rank has.
    [[nodiscard]] std::optional<TimeNs> waitingSince() const;
    /// True if the rank has finished the oldest open step, or no step is open.
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
    [[nodiscard]] bool beyondFew() const; ///< true if so many steps are open that stricter limits apply
    [[nodiscard]] bool tooManyPlaces() const;
    [[nodiscard]] bool isDone(const OpenStep& step, int index, std::size_t place) const;
    void look(OpenStep& step, int index, TimeNs now);
    ClosedStep finish(int index, OpenStep step);

    RunInfo info_;
    Limits limits_;
    std::map<int, OpenStep> steps_;
    std::pair<int, OpenStep*> recent_{
        -1, nullptr};         ///< last used entry of steps_, since consecutive records usually share a step
    std::vector<int> latest_; ///< by place
    std::vector<bool> ended_;
    std::vector<std::size_t> usual_ops_; ///< number of ops in the last complete step; 0 if there is none
    bool looks_at_all_ =
        false; ///< true if the next op that starts a step must check all ranks, as some may have finished
    std::int64_t most_slices_ = 1; ///< maximum number of slices per sequence seen so far
    std::size_t open_records_ = 0; ///< number of records in steps_
    int last_closed_ = -1;
    TimeNs last_wall_{0};
};

/// Collects aadiff checks by step until their steps are closed. Memory is bounded.
class OpenChecks {
public:
    using Mismatch = std::pair<std::string, std::string>; ///< rank and check, with the verdict
    struct OfStep {
        CheckCounts counts;
        std::vector<Mismatch> mismatches;
        std::vector<CheckRecord> records;
    };

    /// Counts a check. Returns false if the step is already closed, or if too many steps are open.
    bool count(int step, const CheckCounts& seen, int last_closed);
    /// Must be called only after count() returned true for the step.
    void addMismatch(int step, Mismatch mismatch);
    void keep(CheckRecord record, int last_closed);

    /// Removes and returns the checks of a step that is about to be closed.
    [[nodiscard]] OfStep take(int step);
    /// Late checks since the last call: their steps were already closed, because verdicts may be late.
    [[nodiscard]] std::vector<CheckRecord> takeLate() { return std::exchange(late_, {}); }

private:
    struct Counted {
        CheckCounts counts;
        std::vector<Mismatch> mismatches;
    };
    std::map<int, Counted> counted_;
    std::map<int, std::vector<CheckRecord>> records_;
    std::size_t kept_ = 0; ///< number of checks in records_
    std::vector<CheckRecord> late_;
};

/// Counts that result from a single check.
[[nodiscard]] CheckCounts countsOf(const SeenCheck& check);

} // namespace bubblescope::live
