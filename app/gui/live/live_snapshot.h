#pragma once

#include "app/gui/models/session.h"
#include "core/live/live_view.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope::gui {

/// Something that happened in a run that is watched, worth a look.
struct LiveAlert {
    enum class Kind : std::uint8_t {
        Anomaly,  ///< `anomaly`
        Mismatch, ///< of a check: `text` says which
        RankLate, ///< `rank`
        RankGone, ///< `rank`
    };
    Kind kind = Kind::Anomaly;
    std::int64_t number = 0; ///< counts all alerts of the watch, from 0
    int step = 0;            ///< after which it was told
    std::optional<Anomaly> anomaly;
    live::LiveRank rank;
    std::string text;
};

/// How soon ops were heard after their end; zero where that cannot be told.
struct HeardAfter {
    TimeNs half{0};
    TimeNs most{0}; ///< of 99 %
};

/// A look at a run that goes on. Plain values of bounded size, made on a worker thread, immutable afterwards.
struct LiveSnapshot {
    std::optional<RunInfo> info;       ///< none before the first record
    std::vector<live::LiveStep> steps; ///< closed ones, the latest last, at most LiveFeed::kMaxSteps
    std::vector<live::LiveRank> ranks; ///< by replica, then rank
    std::vector<LiveAlert> alerts;     ///< the latest last, at most LiveFeed::kMaxAlerts
    live::LiveCounts counts;
    live::CheckCounts checks;
    HeardAfter heard;
    bool ended = false;                ///< all ranks have ended or are gone
    bool captured = false;             ///< it is a recorded job that knows nothing of us
    std::string address;               ///< that is listened at; empty = none
    std::size_t senders = 0;           ///< connected to it
    std::vector<std::string> problems; ///< files that cannot be read, and the like
    /// The last steps in full. Null before the first whole one, and where only sums of steps come.
    SessionPtr session;
    bool more = false; ///< there is more to read at once
};

using LiveSnapshotPtr = std::shared_ptr<const LiveSnapshot>;

} // namespace bubblescope::gui
