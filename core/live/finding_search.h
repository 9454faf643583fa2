#pragma once

#include "core/live/anomaly_log.h"
#include "core/live/live_view.h"
#include "core/live/step_window.h"

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

namespace bubblescope::live {

/// What follows a step that is closed.
struct FollowingSteps {
    bool closes_next = false; ///< whether the next one is closed at once
    std::size_t behind = 0;   ///< steps behind this one that are known: due or open

    /// Whether it is the last step that is known, or the last but one of those that are closed at once. After these
    /// nothing may come for long, or ever.
    [[nodiscard]] bool isAmongLastTwo() const { return behind == 0 || (behind == 1 && closes_next); }
};

/// Decides when the kept steps of a run are searched for findings, and concludes from what is found which findings are
/// reported, see AnomalyLog.
///
/// They are searched after each step that comes alone. Where several are due at once, or come faster than a search is
/// worth (a tenth of a core), one search serves several: at most eight, and an eighth of the run's steps; the last two
/// of a run are searched one by one. Every step is kept until it was searched. One thread at a time.
class FindingSearch {
public:
    FindingSearch(AnomalyLog::Limits limits, StepWindow::Limits kept) : anomalies_(limits), kept_(kept) {}

    /// Forgets the run before.
    void beginRun();
    /// A step was closed; `to_be_searched`: the kept steps have something of it.
    void addStep(int step, bool to_be_searched);
    /// Whether there is a step that was not searched.
    [[nodiscard]] bool hasUnsearched() const { return unsearched_ > 0; }
    /// Whether the steps are to be searched now. `history`: how many steps of the run are closed, as far as they are
    /// kept in reduced form.
    [[nodiscard]] bool isDue(const FollowingSteps& following, const StepWindow& window, std::size_t history,
                             TimeNs now) const;

    /// Searches the kept steps, after the one that was closed last. `wall` is that of this step, unless it is the last
    /// one of `history`.
    [[nodiscard]] AnomalyLog::Changes search(const StepWindow& window, const std::deque<LiveStep>& history,
                                             std::optional<TimeNs> wall, TimeNs now);

    [[nodiscard]] int lastClosed() const { return last_closed_; }
    [[nodiscard]] const AnomalyLog& anomalies() const { return anomalies_; }

private:
    AnomalyLog anomalies_;
    StepWindow::Limits kept_;
    int unsearched_ = 0;   ///< steps since the last search
    int last_closed_ = -1; ///< the step that was closed last
    TimeNs searched_at_{0};
};

} // namespace bubblescope::live
