#pragma once

#include "app/gui/models/view_state.h"

#include <QWidget>

class QLabel;
class QSlider;

namespace bubblescope::gui {

/// A slider between the observed step and the other timeline that is drawn below it, with what the way is worth. Hidden
/// while there is no such timeline.
class ReferenceBar : public QWidget {
    Q_OBJECT

public:
    /// `state` must outlive the bar.
    explicit ReferenceBar(ViewState& state, QWidget* parent = nullptr);

private:
    void showReference();
    void showShare();

    ViewState& state_;
    QSlider* slider_;
    QLabel* name_;
    QLabel* result_;
};

} // namespace bubblescope::gui
