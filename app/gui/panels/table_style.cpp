#include "app/gui/panels/table_style.h"

#include "app/gui/panels/table_export.h"

#include <QHeaderView>
#include <QProxyStyle>
#include <QStyleFactory>
#include <QTableView>

namespace bubblescope::gui {

namespace {

constexpr int kCellMargin = 6;
constexpr int kRowExtra = 8; ///< over the font's height
/// Whose texts make a column's width. Of Qt's thousand, measured anew whenever a table is filled or moved, a live view
/// would do little else.
constexpr int kMeasuredRows = 32;

/// Fusion with wider margins beside the cells' and headers' texts.
class RoomyStyle : public QProxyStyle {
public:
    RoomyStyle() : QProxyStyle(QStyleFactory::create(QStringLiteral("Fusion"))) {}

    int pixelMetric(PixelMetric metric, const QStyleOption* option, const QWidget* widget) const override {
        if (metric == PM_FocusFrameHMargin || metric == PM_HeaderMargin) return kCellMargin;
        return QProxyStyle::pixelMetric(metric, option, widget);
    }
};

} // namespace

void styleTable(QTableView& table) {
    auto* style = new RoomyStyle;
    style->setParent(&table);
    table.setStyle(style);
    table.horizontalHeader()->setStyle(style);
    table.setFrameShape(QFrame::NoFrame);
    table.setShowGrid(false);
    table.setSelectionBehavior(QAbstractItemView::SelectRows);
    table.setSelectionMode(QAbstractItemView::SingleSelection);
    table.setWordWrap(false);
    table.setTabKeyNavigation(false);
    table.verticalHeader()->hide();
    table.verticalHeader()->setDefaultSectionSize(table.fontMetrics().height() + kRowExtra);
    table.horizontalHeader()->setHighlightSections(false);
    table.horizontalHeader()->setResizeContentsPrecision(kMeasuredRows);
    addTableExport(table);
    // The style takes its header margin above and below the text, too.
    table.horizontalHeader()->setFixedHeight(table.fontMetrics().height() + 2 * kCellMargin);
}

} // namespace bubblescope::gui
