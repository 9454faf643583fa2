#include "app/gui/panels/piece_legend.h"

#include "app/gui/panels/accounting_panel.h"
#include "app/gui/theme/chart_colours.h"

#include <QPainter>

namespace bubblescope::gui {

namespace {

constexpr int kPieceMargin = 12;
constexpr int kPieceChip = 12;
constexpr int kPieceGap = 6;
constexpr int kPieceEntryGap = 16;
constexpr int kLineGap = 4;

} // namespace

PieceLegend::PieceLegend(ThemeManager& themes, QWidget* parent) : QWidget(parent), themes_(themes) {
    QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
    connect(&themes_, &ThemeManager::changed, this, qOverload<>(&QWidget::update));
}

void PieceLegend::setPieces(const std::vector<AccountPiece>& pieces) {
    pieces_ = pieces;
    updateGeometry();
    update();
}

std::vector<QPoint> PieceLegend::places(int width) const {
    std::vector<QPoint> out;
    const int line = fontMetrics().height() + kLineGap;
    QPoint at(kPieceMargin, kLineGap);
    for (const AccountPiece& piece : pieces_) {
        const int entry = kPieceChip + kPieceGap + fontMetrics().horizontalAdvance(pieceText(piece));
        if (at.x() > kPieceMargin && at.x() + entry > width - kPieceMargin) at = {kPieceMargin, at.y() + line};
        out.push_back(at);
        at.rx() += entry + kPieceEntryGap;
    }
    out.push_back({0, at.y() + line});
    return out;
}

int PieceLegend::heightForWidth(int width) const {
    return pieces_.empty() ? 0 : places(width).back().y() + kLineGap;
}

QSize PieceLegend::sizeHint() const {
    return {300, heightForWidth(std::max(300, width()))};
}

void PieceLegend::paintEvent(QPaintEvent*) {
    const Theme& theme = themes_.theme();
    QPainter painter(this);
    const std::vector<QPoint> at = places(width());
    const int height = fontMetrics().height();
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
        painter.fillRect(QRect(at[i].x(), at[i].y() + (height - kPieceChip) / 2, kPieceChip, kPieceChip),
                         pieceColour(theme, pieces_[i]));
        painter.setPen(theme.text);
        painter.drawText(QPoint(at[i].x() + kPieceChip + kPieceGap, at[i].y() + fontMetrics().ascent()),
                         pieceText(pieces_[i]));
    }
}

} // namespace bubblescope::gui
