#pragma once

#include "app/gui/live/live_snapshot.h"

#include <QString>

namespace bubblescope::gui {

/// What a watch is at, from what its last picture says.
enum class LiveState : std::uint8_t {
    Waiting,   ///< for the first record
    Recording, ///< the run goes on
    Ended,     ///< all ranks have ended
    Failed,    ///< likewise, and some of them are gone
    Stopped,   ///< nobody watches any more
};

/// `picture` may be null.
[[nodiscard]] LiveState liveState(const LiveSnapshot* picture, bool active);
[[nodiscard]] QString liveStateText(LiveState state);
[[nodiscard]] QString rankStateText(live::RankState state);
/// "rank 2", or "replica 1, rank 2" where the run has several.
[[nodiscard]] QString liveRankText(const live::LiveRank& rank, const LiveSnapshot& picture);
/// "3 running, 1 gone".
[[nodiscard]] QString ranksText(const LiveSnapshot& picture);

/// Records that were written, or should have been, and that no step has.
[[nodiscard]] std::int64_t lostRecords(const live::LiveCounts& counts);
/// "12,345 records, none lost".
[[nodiscard]] QString recordsText(const LiveSnapshot& picture);
/// A line for each thing that was counted.
[[nodiscard]] QString recordsDetails(const LiveSnapshot& picture);

[[nodiscard]] Severity severityOf(const LiveAlert& alert);
[[nodiscard]] QString alertText(const LiveAlert& alert, const LiveSnapshot& picture);
/// A few words: "straggler, rank 2".
[[nodiscard]] QString shortAlertText(const LiveAlert& alert, const LiveSnapshot& picture);
/// The step at which what it tells of began, as far as that is known; it may be told some steps later.
[[nodiscard]] int beganAt(const LiveAlert& alert);

} // namespace bubblescope::gui
