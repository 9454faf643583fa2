#pragma once

#include "app/gui/models/session.h"

#include <QString>

#include <optional>
#include <vector>

namespace bubblescope::gui {

/// A line between two rows of the timeline.
struct Arrow {
    enum class Kind : std::uint8_t { Activation, Gradient, Path, Blame };
    /// Start or end of a line: a rank's lane at a time. The lane is Compute if the trace has no span at that end.
    struct End {
        int rank = 0;
        LaneKind lane = LaneKind::Compute;
        TimeNs time{0};
    };
    Kind kind = Kind::Activation;
    End from;
    End to;
    ItemRef producer; ///< the ops that it connects; empty for paths
    ItemRef consumer;
};

/// A part of a row that belongs to a path.
struct Stretch {
    int rank = 0;
    TimeRange range;
    bool idle = false;  ///< no work ran, although it could have
    bool cause = false; ///< true if this op or transfer caused the wait
};

struct Path {
    std::vector<Arrow> arrows;
    std::vector<Stretch> stretches;
    QString caption; ///< a sentence; may be empty
};

/// The connections between the ops of one step. Computed on demand, in time linear in the step's ops. The last results
/// are cached, so that they can be requested in every frame. Not thread-safe.
class StepFlows {
public:
    StepFlows(SessionPtr session, int step);

    [[nodiscard]] const Session& session() const { return *session_; }
    [[nodiscard]] int step() const { return step_; }
    /// All transfers between ranks, see transfersBetweenRanks().
    [[nodiscard]] const std::vector<Arrow>& transfers();
    /// The transfers that deliver an op's inputs and send its output; for a transfer, the transfer itself.
    [[nodiscard]] const std::vector<Arrow>& transfersOf(const ItemRef& item);
    /// The chain that determines the length of the step. Until the step's diagnosis is known, the captions of this and
    /// of causeOf() say so.
    [[nodiscard]] const Path& criticalPath();
    /// The ops and transfers on all ranks for the micro-batch of an op or a transfer.
    [[nodiscard]] const Path& microbatchOf(const ItemRef& item);
    /// The cause of a rank's wait in a bubble, see waitChain().
    [[nodiscard]] const Path& causeOf(const ItemRef& bubble);

private:
    /// The last result and the item that it is for.
    template <class T>
    struct Latest {
        ItemRef of;
        T value;
    };
    [[nodiscard]] std::vector<Arrow> findTransfers(const ItemRef& item) const;
    [[nodiscard]] Path findCriticalPath() const;
    [[nodiscard]] Path findMicrobatch(const ItemRef& item) const;
    [[nodiscard]] Path findCause(const ItemRef& bubble);
    [[nodiscard]] TimeNs begin() const { return session_->window(step_).begin; }
    [[nodiscard]] TimeRange rangeOf(UnitIndex unit) const;

    SessionPtr session_;
    int step_;
    std::optional<std::vector<Arrow>> transfers_;
    std::optional<Path> critical_path_;
    Latest<std::vector<Arrow>> transfers_of_;
    Latest<Path> microbatch_of_;
    Latest<Path> cause_of_;
    std::optional<std::vector<Binding>> bindings_;
    std::optional<StepGraph> graph_;
};

/// The attribution of a bubble; none if no recorded wait explains the bubble, or while the step's diagnosis is unknown.
[[nodiscard]] std::optional<AttributedBubble> attributionOf(const Session& session, const ItemRef& bubble);
/// "B3 of rank 2 took 5 ms longer than is usual there". Requires the step's diagnosis.
[[nodiscard]] QString causeText(const Session& session, int step, const AttributedBubble& blamed);

} // namespace bubblescope::gui
