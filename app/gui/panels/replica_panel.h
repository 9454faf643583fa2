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

/// Shows how much each rank of each replica slows the job down: the what-if study's S, M_W and M_S, and a heat map of
/// its workers. A click on a worker shows its row. The study runs in the background once the panel is visible.
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
    /// A study, with the typical step that the rest of the window shows.
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
