#pragma once

#include "app/gui/models/view_state.h"

#include <QTableView>

namespace bubblescope::gui {

/// Lists the problems of a trace: corrupt data, lost data, and guessed values.
class ProblemsPanel : public QTableView {
    Q_OBJECT

public:
    explicit ProblemsPanel(ViewState& state, QWidget* parent = nullptr);
};

} // namespace bubblescope::gui
