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

    /// A search, after the step that was closed last.
    struct Searched {
        int step = -1;
        int steps = 0; ///< that it was the first to cover
        AnomalyLog::Changes changes;
    };
    /// Searches the kept steps. `wall` is that of the last step, unless it is the last one of `history`.
    [[nodiscard]] Searched search(const StepWindow& window, const std::deque<LiveStep>& history,
                                  std::optional<TimeNs> wall, TimeNs now);
    /// Takes what other collectors found after a step.
    [[nodiscard]] AnomalyLog::Changes takeFound(std::vector<AnomalyLog::Finding> found, int step,
                                                const std::deque<LiveStep>& history);

    [[nodiscard]] const AnomalyLog& anomalies() const { return anomalies_; }

private:
    [[nodiscard]] AnomalyLog::Changes update(std::vector<AnomalyLog::Finding> found, int step,
                                             std::optional<TimeNs> wall, const std::deque<LiveStep>& history);

    AnomalyLog anomalies_;
    StepWindow::Limits kept_;
    int unsearched_ = 0;   ///< steps since the last search
    int last_closed_ = -1; ///< the step that was closed last
    TimeNs searched_at_{0};
};

} // namespace bubblescope::live
