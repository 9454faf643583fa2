#pragma once

#include "app/gui/models/session.h"

#include <QString>

#include <optional>
#include <vector>

namespace bubblescope::gui {

/// A line from one row of the timeline to another.
struct Arrow {
    enum class Kind : std::uint8_t { Activation, Gradient, Path, Blame };
    /// Where it begins or ends: a rank's lane at a time. Compute where the trace holds no span of that side.
    struct End {
        int rank = 0;
        LaneKind lane = LaneKind::Compute;
        TimeNs time{0};
    };
    Kind kind = Kind::Activation;
    End from;
    End to;
    ItemRef producer; ///< the ops that it connects; empty on paths
    ItemRef consumer;
};

/// A part of a row that lies on a path.
struct Stretch {
    int rank = 0;
    TimeRange range;
    bool idle = false;  ///< nothing ran, though it could have
    bool cause = false; ///< what is blamed
};

struct Path {
    std::vector<Arrow> arrows;
    std::vector<Stretch> stretches;
    QString caption; ///< a sentence; may be empty
};

/// What connects the ops of one step. Made when it is first asked for, in time that grows with the step's ops; what was
/// asked for last is kept, so that it can be asked for in every frame. Lives on one thread.
class StepFlows {
public:
    StepFlows(SessionPtr session, int step);

    [[nodiscard]] const Session& session() const { return *session_; }
    [[nodiscard]] int step() const { return step_; }
    /// All transfers between ranks: from the send's begin to the receive's end where the trace has them, else from the
    /// op that made the payload to the one that uses it.
    [[nodiscard]] const std::vector<Arrow>& transfers();
    /// Those that bring an op's inputs and take its outputs away; of a transfer itself.
    [[nodiscard]] const std::vector<Arrow>& transfersOf(const ItemRef& item);
    /// What made the step as long as it was.
    [[nodiscard]] const Path& criticalPath();
    /// The ops of the micro-batch of an op or a transfer on all ranks, and what connects them.
    [[nodiscard]] const Path& microbatchOf(const ItemRef& item);
    /// What the rank waited for in a bubble: the chain of ops and transfers that came last, back to where the rank
    /// itself came from.
    [[nodiscard]] const Path& blameOf(const ItemRef& bubble);

private:
    /// The last answer and what it was about.
    template <class T>
    struct Latest {
        ItemRef of;
        T value;
    };
    [[nodiscard]] std::vector<Arrow> findTransfers(const ItemRef& item) const;
    [[nodiscard]] Path findCriticalPath() const;
    [[nodiscard]] Path findMicrobatch(const ItemRef& item) const;
    [[nodiscard]] Path findBlame(const ItemRef& bubble);
    [[nodiscard]] TimeNs begin() const { return session_->window(step_).begin; }
    [[nodiscard]] TimeRange rangeOf(UnitIndex unit) const;

    SessionPtr session_;
    int step_;
    std::optional<std::vector<Arrow>> transfers_;
    std::optional<Path> critical_path_;
    Latest<std::vector<Arrow>> transfers_of_;
    Latest<Path> microbatch_of_;
    Latest<Path> blame_of_;
    std::optional<std::vector<Binding>> bindings_;
    std::optional<StepGraph> graph_;
};

/// The core's word on a bubble; null where it waited for nothing that was recorded.
[[nodiscard]] const AttributedBubble* blamedBubble(const Session& session, const ItemRef& bubble);
/// "B3 of rank 2 took 5 ms longer than is usual there".
[[nodiscard]] QString blameText(const Session& session, int step, const AttributedBubble& blamed);

} // namespace bubblescope::gui
