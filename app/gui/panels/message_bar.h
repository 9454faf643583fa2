#pragma once

#include "app/gui/theme/theme.h"
#include "core/base/result.h"

#include <QFrame>

class QLabel;

namespace bubblescope::gui {

/// An error shown in place: what happened, where, and what to do. Stays until closed or replaced; never
/// interrupts.
class MessageBar : public QFrame {
    Q_OBJECT

public:
    explicit MessageBar(QWidget* parent = nullptr);

    void showError(const Error& error);
    [[nodiscard]] QString text() const;
    void setTheme(const Theme& theme);

private:
    QLabel* what_;
    QLabel* details_;
};

} // namespace bubblescope::gui
