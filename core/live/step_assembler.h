#pragma once

#include "core/recognise/found_ops.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope::live {

/// A range of replicas, by default all.
struct ReplicaRange {
    int first = 0;
    int last = std::numeric_limits<int>::max();

    [[nodiscard]] bool has(std::int64_t replica) const { return replica >= first && replica <= last; }
};

/// Whether they can be the same run's.
[[nodiscard]] bool sameSizes(const RunInfo& a, const RunInfo& b);

/// A step of which nothing more is waited for.
struct ClosedStep {
    int index = 0;
    /// One per replica that ran it whole, on the ranks' own clocks.
    std::vector<StepTimeline> timelines;
    std::vector<std::size_t> missing; ///< places whose records of the step did not all come
    std::string fault;                ///< why a replica is not among `timelines`; empty if all are
    std::int64_t duplicates = 0;      ///< records that came twice
};

/// Puts together the steps of a run from records that come rank by rank, in any order and with any delay, and
/// decides when a step is complete. A place is a rank of a replica: replica * pp + rank.
///
/// A rank is done with a step when it has as many ops as the rank had in its last whole step, when it has begun a later
/// one, or when it has ended. A step is closed when all ranks are done and `settle` has passed, in which transfers come
/// that are recorded after their ops; when some are done and the rest have not come for `patience`; or when more than
/// `open_steps` are open. Steps close in order. What comes for a closed step is late.
class StepAssembler {
public:
    struct Limits {
        TimeNs settle{std::chrono::milliseconds(100)};
        TimeNs patience{std::chrono::seconds(10)}; ///< or twice the last step, where that is longer
        std::size_t open_steps = 64;
    };
    enum class Taken : std::uint8_t {
        Yes,
        OutOfOrder, ///< taken, after records of a later step of its rank
        Late,       ///< its step is closed
        Bad,        ///< its numbers cannot be
    };

    /// `info` must have valid sizes, see sizesCanBe().
    /// Nothing is waited for of replicas that are not among `own`, and nothing taken.
    StepAssembler(const RunInfo& info, Limits limits, ReplicaRange own = {});

    [[nodiscard]] static bool sizesCanBe(const RunInfo& info);

    /// `now` counts on any clock that does not go back, the same in all calls.
    Taken add(const FoundOp& op, TimeNs now);
    Taken add(const FoundComm& comm, TimeNs now);
    /// Nothing more will come of this rank, or after all something may.
    void setEnded(std::size_t place, bool ended);

    /// The next step that is to be closed at this time; nothing if there is none.
    [[nodiscard]] std::optional<ClosedStep> close(TimeNs now);

    [[nodiscard]] std::size_t places() const { return latest_.size(); }
    [[nodiscard]] std::size_t placeOf(std::int64_t rank, std::int64_t replica) const {
        return static_cast<std::size_t>(replica * info_.pp + rank);
    }
    /// The last step of which the rank sent an op, -1 for none.
    [[nodiscard]] int latest(std::size_t place) const { return latest_[place]; }
    [[nodiscard]] int lastClosed() const { return last_closed_; }
    [[nodiscard]] std::size_t open() const { return steps_.size(); }
    /// When the ranks that are done with the oldest open step were; nothing where none is.
    [[nodiscard]] std::optional<TimeNs> waitingSince() const;
    /// Whether the rank is done with the oldest open step, or none is open.
    [[nodiscard]] bool doneWithOldest(std::size_t place) const;

private:
    struct Share {
        std::vector<FoundOp> ops;
        std::vector<FoundComm> comm;
    };
    struct OpenStep {
        std::vector<Share> shares; ///< by place
        std::optional<TimeNs> first_done;
        std::optional<TimeNs> all_done;
    };

    template <class Record>
    Taken take(const Record& record, std::vector<Record> Share::*list);
    [[nodiscard]] bool isDone(const OpenStep& step, int index, std::size_t place) const;
    void look(OpenStep& step, int index, TimeNs now);
    ClosedStep finish(int index, OpenStep step);

    RunInfo info_;
    Limits limits_;
    ReplicaRange own_;
    std::map<int, OpenStep> steps_;
    std::vector<int> latest_; ///< by place
    std::vector<bool> ended_;
    std::vector<std::size_t> usual_ops_; ///< of the last whole step; 0 before there is one
    std::int64_t most_slices_ = 1;       ///< of a sequence
    int last_closed_ = -1;
    TimeNs last_wall_{0};
};

} // namespace bubblescope::live
