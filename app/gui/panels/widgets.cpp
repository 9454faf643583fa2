#include "app/gui/panels/widgets.h"

#include "app/gui/language/text.h"
#include "app/gui/panels/table_text.h"

#include <QDockWidget>
#include <QDoubleSpinBox>
#include <QEvent>
#include <QFormLayout>
#include <QHeaderView>
#include <QProxyStyle>
#include <QSpinBox>
#include <QStyleFactory>
#include <QTableView>
#include <QTimer>
#include <QVBoxLayout>
#include <QWidget>

#include <algorithm>
#include <utility>
#include <vector>

namespace bubblescope::gui {

namespace {

constexpr double kMaxMs = 1e6;

template <class Box>
Box* addBox(const FormFields& fields, const char* name, const QString& label) {
    auto* box = named(new Box(fields.form.parentWidget()), name);
    box->setAccessibleName(label);
    fields.form.addRow(label, box);
    return box;
}

} // namespace

QSpinBox* FormFields::count(const char* name, const QString& label, int low, int high, int value) const {
    auto* box = addBox<QSpinBox>(*this, name, label);
    box->setRange(low, high);
    box->setValue(value);
    QObject::connect(box, &QSpinBox::valueChanged, box, changed);
    return box;
}

QDoubleSpinBox* FormFields::time(const char* name, const QString& label, double ms) const {
    auto* box = addBox<QDoubleSpinBox>(*this, name, label);
    box->setDecimals(3);
    box->setRange(0, kMaxMs);
    box->setSuffix(tr(" ms"));
    box->setValue(ms);
    QObject::connect(box, &QDoubleSpinBox::valueChanged, box, changed);
    return box;
}

FillWhenVisible::FillWhenVisible(QWidget& panel, std::function<void()> fill)
    : QObject(&panel), panel_(panel), fill_(std::move(fill)) {
    panel_.installEventFilter(this);
}

/// Docks behind another tab are visible for Qt, but outside the window.
bool FillWhenVisible::isVisible() const {
    return panel_.isVisible() && !panel_.visibleRegion().isEmpty();
}

void FillWhenVisible::markStale() {
    stale_ = true;
    if (isVisible()) return fillNow();
    watchDock();
}

void FillWhenVisible::fillNow() {
    if (!stale_) return;
    stale_ = false;
    fill_();
}

/// Waits until docks have their final positions, because panels may be visible for a moment during the layout.
void FillWhenVisible::fillIfVisible() {
    QTimer::singleShot(0, this, [this] {
        if (isVisible()) fillNow();
    });
}

/// Selecting a tab notifies the dock, but not its content.
void FillWhenVisible::watchDock() {
    QDockWidget* found = nullptr;
    for (QWidget* widget = &panel_; widget != nullptr && found == nullptr; widget = widget->parentWidget())
        found = qobject_cast<QDockWidget*>(widget);
    if (found == dock_) return;
    if (dock_) disconnect(dock_, nullptr, this, nullptr);
    dock_ = found;
    if (dock_ == nullptr) return;
    connect(dock_, &QDockWidget::visibilityChanged, this, [this](bool visible) {
        if (visible && panel_.isVisible()) fillNow();
    });
}

bool FillWhenVisible::eventFilter(QObject* watched, QEvent* event) {
    if (watched != &panel_ || !stale_) return false;
    if (event->type() == QEvent::Show) {
        if (dock_ == nullptr) {
            fillNow();
        } else { // after the layout of docks: those behind other tabs are shown, then moved out of the window
            fillIfVisible();
        }
    }
    // Handles all other ways of becoming visible. Queued, because filling changes widgets that are being painted.
    if (event->type() == QEvent::Paint) fillIfVisible();
    return false;
}

namespace {

constexpr int kCellMargin = 6;
constexpr int kRowExtra = 8; ///< added to the height of the font
/// Number of rows that are measured for the width of a column. By default, Qt measures 1000 rows whenever a table is
/// filled or moved, which would use most of the time of a live view.
constexpr int kMeasuredRows = 32;

/// The Fusion style with wider margins in cells and headers.
class RoomyStyle : public QProxyStyle {
public:
    RoomyStyle() : QProxyStyle(QStyleFactory::create(QStringLiteral("Fusion"))) {}

    int pixelMetric(PixelMetric metric, const QStyleOption* option, const QWidget* widget) const override {
        if (metric == PM_FocusFrameHMargin || metric == PM_HeaderMargin) return kCellMargin;
        return QProxyStyle::pixelMetric(metric, option, widget);
    }
};

} // namespace

QVBoxLayout* tightColumn(QWidget& widget) {
    auto* column = new QVBoxLayout(&widget);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    return column;
}

QString colourKey(const std::vector<std::pair<QColor, QString>>& entries) {
    QStringList texts;
    for (const auto& [colour, name] : entries)
        texts << QStringLiteral("<span style='color:%1'>■</span>&nbsp;%2")
                     .arg(colour.name(), name.toHtmlEscaped().replace(QLatin1Char(' '), QLatin1String("&nbsp;")));
    return texts.join(QStringLiteral(" &nbsp; "));
}

namespace {

class FillingColumn : public QObject {
public:
    FillingColumn(QTableView& table, int column, int least)
        : QObject(&table), table_(table), column_(column), least_(least) {
        table.viewport()->installEventFilter(this);
        connect(table.horizontalHeader(), &QHeaderView::sectionResized, this, [this](int section) {
            if (section != column_) fit();
        });
    }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override {
        if (event->type() == QEvent::Resize) fit();
        return QObject::eventFilter(watched, event);
    }

private:
    void fit() {
        const int others = table_.horizontalHeader()->length() - table_.columnWidth(column_);
        table_.setColumnWidth(column_, std::max(least_, table_.viewport()->width() - others));
    }

    QTableView& table_;
    int column_;
    int least_;
};

} // namespace

void fillWithColumn(QTableView& table, int column, int least) {
    new FillingColumn(table, column, least);
}

void styleTable(QTableView& table) {
    auto* style = new RoomyStyle;
    style->setParent(&table);
    table.setStyle(style);
    table.horizontalHeader()->setStyle(style);
    table.setFrameShape(QFrame::NoFrame);
    table.setShowGrid(false);
    table.setSelectionBehavior(QAbstractItemView::SelectRows);
    table.setSelectionMode(QAbstractItemView::ExtendedSelection); // for copying; views follow the current row
    table.setWordWrap(false);
    table.setTabKeyNavigation(false);
    table.verticalHeader()->hide();
    table.verticalHeader()->setDefaultSectionSize(table.fontMetrics().height() + kRowExtra);
    table.horizontalHeader()->setHighlightSections(false);
    table.horizontalHeader()->setResizeContentsPrecision(kMeasuredRows);
    addTableExport(table);
    // The style also applies its header margin vertically.
    table.horizontalHeader()->setFixedHeight(table.fontMetrics().height() + 2 * kCellMargin);
}

} // namespace bubblescope::gui
