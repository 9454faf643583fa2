#pragma once

#include "app/gui/jobs/background_job.h"
#include "app/gui/models/view_state.h"
#include "app/gui/theme/theme.h"
#include "core/analysis/whatif/straggler_study.h"

#include <QWidget>

class QLabel;

namespace bubblescope::gui {

class FillWhenVisible;
class HeatMap;

/// Shows how much each rank of each replica slows down the job: S, M_W and M_S of the straggler study, and a heat map
/// of the workers. A click on a worker shows its row on the timeline. The study runs when the panel is first visible.
class ReplicaPanel : public QWidget {
    Q_OBJECT

public:
    ReplicaPanel(ViewState& state, ThemeManager& themes, QWidget* parent = nullptr);

    [[nodiscard]] HeatMap& map() { return *map_; }
    [[nodiscard]] QString headline() const;

signals:
    void studied();

private:
    void start();
    /// A study, together with the duration of the typical step that the rest of the window shows.
    struct Studied {
        StragglerStudy study;
        TimeNs step{0};
    };
    void showStudy(const Studied& studied);
    void showHeadline(const Studied& studied, int workers);
    void showWorkers(const StragglerStudy& study);
    void goTo(int rank, int replica);

    ViewState& state_;
    BackgroundJob job_;
    QLabel* headline_;
    HeatMap* map_;
    FillWhenVisible* fill_;
};

} // namespace bubblescope::gui
