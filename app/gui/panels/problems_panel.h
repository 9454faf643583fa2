#pragma once

#include "app/gui/models/view_state.h"

#include <QTableView>

namespace bubblescope::gui {

/// What was damaged, lost or guessed while loading.
class ProblemsPanel : public QTableView {
    Q_OBJECT

public:
    explicit ProblemsPanel(ViewState& state, QWidget* parent = nullptr);
};

} // namespace bubblescope::gui
