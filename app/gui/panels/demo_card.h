#pragma once

#include "app/gui/models/demo_files.h"

#include <QAbstractButton>

namespace bubblescope::gui {

/// A demo to click: its title, and below it the sentence that says what there is to see.
class DemoCard : public QAbstractButton {
    Q_OBJECT

public:
    explicit DemoCard(const DemoTrace& demo, QWidget* parent = nullptr);

    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }
    [[nodiscard]] const QString& says() const { return says_; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    [[nodiscard]] QFont titleFont() const;
    /// Where the sentence stands in a card of that size.
    [[nodiscard]] QRect saysIn(const QRect& card) const;

    QString says_;
};

} // namespace bubblescope::gui
