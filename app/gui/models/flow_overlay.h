#pragma once

#include "app/gui/models/session.h"

#include <QString>

#include <optional>
#include <vector>

namespace bubblescope::gui {

/// A line between two rows of the timeline.
struct Arrow {
    enum class Kind : std::uint8_t { Activation, Gradient, Path, Blame };
    /// An end of the line: a time in a lane of a rank. The lane is Compute if the trace has no transfer span there.
    struct End {
        int rank = 0;
        LaneKind lane = LaneKind::Compute;
        TimeNs time{0};
    };
    Kind kind = Kind::Activation;
    End from;
    End to;
    ItemRef producer; ///< ops that the arrow connects; empty for paths
    ItemRef consumer;
};

/// A section of a row that belongs to a path.
struct Stretch {
    int rank = 0;
    TimeRange range;
    bool idle = false;  ///< true if no work ran although the inputs were available
    bool cause = false; ///< true if this op or transfer caused the wait
};

struct Path {
    std::vector<Arrow> arrows;
    std::vector<Stretch> stretches;
    QString caption; ///< one sentence; may be empty
};

/// Connections between the ops of one step. Computed on demand, linear in the number of ops. The last results are
/// cached, so that views can request them for every frame. Not thread-safe.
class StepFlows {
public:
    StepFlows(SessionPtr session, int step);

    [[nodiscard]] const Session& session() const { return *session_; }
    [[nodiscard]] int step() const { return step_; }
    /// All transfers between ranks; see transfersBetweenRanks().
    [[nodiscard]] const std::vector<Arrow>& transfers();
    /// Transfers of an op's inputs and outputs; for a transfer, only the transfer itself.
    [[nodiscard]] const std::vector<Arrow>& transfersOf(const ItemRef& item);
    /// The critical path of the step. Until the diagnosis of the step is available, the captions here and in causeOf()
    /// state that the diagnosis is pending.
    [[nodiscard]] const Path& criticalPath();
    /// Ops and transfers on all ranks that belong to the micro-batch of the given op or transfer.
    [[nodiscard]] const Path& microbatchOf(const ItemRef& item);
    /// Cause of a rank's wait in a bubble; see waitChain().
    [[nodiscard]] const Path& causeOf(const ItemRef& bubble);

private:
    /// The last result, and the item for which it was computed.
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

/// Attribution of a bubble; none if no recorded wait explains the bubble or if the diagnosis is not yet available.
[[nodiscard]] std::optional<AttributedBubble> attributionOf(const Session& session, const ItemRef& bubble);
/// Text such as "B3 of rank 2 took 5 ms longer than usual for its stage". Requires the diagnosis of the step.
[[nodiscard]] QString causeText(const Session& session, int step, const AttributedBubble& blamed);

} // namespace bubblescope::gui
