#pragma once

#include "app/gui/theme/theme_manager.h"
#include "core/analysis/account_pieces.h"

#include <QWidget>

#include <vector>

namespace bubblescope::gui {

/// The colours of an accounting's pieces, in as many lines as the width needs.
class PieceLegend : public QWidget {
    Q_OBJECT

public:
    explicit PieceLegend(ThemeManager& themes, QWidget* parent = nullptr);

    void setPieces(const std::vector<AccountPiece>& pieces);
    [[nodiscard]] bool hasHeightForWidth() const override { return true; }
    [[nodiscard]] int heightForWidth(int width) const override;
    [[nodiscard]] QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    /// Top left corners of the entries; the last one is that of the end.
    [[nodiscard]] std::vector<QPoint> places(int width) const;

    ThemeManager& themes_;
    std::vector<AccountPiece> pieces_;
};

} // namespace bubblescope::gui
