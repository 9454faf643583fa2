#include "app/gui/panels/widgets.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QCoreApplication>
#include <QDockWidget>
#include <QDoubleSpinBox>
#include <QEvent>
#include <QFileDialog>
#include <QFormLayout>
#include <QHeaderView>
#include <QMessageBox>
#include <QProxyStyle>
#include <QSaveFile>
#include <QSpinBox>
#include <QStyleFactory>
#include <QTableView>
#include <QTimer>
#include <QVBoxLayout>
#include <QWidget>

#include <utility>
#include <vector>

namespace bubblescope::gui {

namespace {

struct FieldText {
    Q_DECLARE_TR_FUNCTIONS(FormFields)
};

constexpr double kMaxMs = 1e6;

template <class Box>
Box* addBox(const FormFields& fields, const char* name, const QString& label) {
    auto* box = new Box(fields.form.parentWidget());
    box->setObjectName(QString::fromLatin1(name));
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
    box->setSuffix(FieldText::tr(" ms"));
    box->setValue(ms);
    QObject::connect(box, &QDoubleSpinBox::valueChanged, box, changed);
    return box;
}

FillWhenVisible::FillWhenVisible(QWidget& panel, std::function<void()> fill)
    : QObject(&panel), panel_(panel), fill_(std::move(fill)) {
    panel_.installEventFilter(this);
}

/// A dock behind another tab counts as visible, but lies outside the window.
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

/// Once docks have their places: while they are arranged, a panel may be in sight for a moment.
void FillWhenVisible::fillIfVisible() {
    QTimer::singleShot(0, this, [this] {
        if (isVisible()) fillNow();
    });
}

/// Choosing a tab notifies the dock, not its content.
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
        } else { // once docks have their places: those behind other tabs are shown too, and then moved out of the
                 // window
            fillIfVisible();
        }
    }
    // For all other ways to become visible. Queued, since filling changes widgets that are being painted.
    if (event->type() == QEvent::Paint) fillIfVisible();
    return false;
}

namespace {

constexpr int kCellMargin = 6;
constexpr int kRowExtra = 8; ///< added to the height of the font
/// Rows that are measured for a column's width. Qt measures a thousand rows whenever a table is filled or moved, which
/// would take most of the time of a live view.
constexpr int kMeasuredRows = 32;

/// Fusion with wider margins in cells and headers.
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
    // The style applies its header margin vertically, too.
    table.horizontalHeader()->setFixedHeight(table.fontMetrics().height() + 2 * kCellMargin);
}

namespace {

struct ExportText {
    Q_DECLARE_TR_FUNCTIONS(TableExport)
};

QString quoted(QString text, QChar separator) {
    if (separator == QLatin1Char('\t'))
        return text.replace(QLatin1Char('\t'), QLatin1Char(' ')).replace(QLatin1Char('\n'), QLatin1Char(' '));
    const bool needs = text.contains(separator) || text.contains(QLatin1Char('"')) || text.contains(QLatin1Char('\n'));
    return needs ? QLatin1Char('"') + text.replace(QLatin1Char('"'), QStringLiteral("\"\"")) + QLatin1Char('"') : text;
}

QString textOf(const QAbstractItemModel& model, const std::vector<int>& rows, QChar separator) {
    QString out;
    const auto line = [&](const auto& cell) {
        QStringList cells;
        for (int column = 0; column < model.columnCount(); ++column)
            cells << quoted(cell(column), separator);
        out += cells.join(separator) + (separator == QLatin1Char('\t') ? QStringLiteral("\n") : QStringLiteral("\r\n"));
    };
    line([&](int column) { return model.headerData(column, Qt::Horizontal).toString(); });
    for (const int row : rows)
        line([&](int column) { return model.index(row, column).data().toString(); });
    return out;
}

std::vector<int> allRows(const QAbstractItemModel& model) {
    std::vector<int> rows;
    for (int row = 0; row < model.rowCount(); ++row)
        rows.push_back(row);
    return rows;
}

void copySelected(const QTableView& table) {
    std::vector<int> rows;
    for (const QModelIndex& index : table.selectionModel()->selectedRows())
        rows.push_back(index.row());
    if (rows.empty()) rows = allRows(*table.model());
    QApplication::clipboard()->setText(textOf(*table.model(), rows, QLatin1Char('\t')));
}

void save(QTableView& table, const QString& name) {
    QSaveFile file(name);
    const QByteArray text = tableText(*table.model(), QLatin1Char(',')).toUtf8();
    if (file.open(QIODevice::WriteOnly) && file.write(text) == text.size() && file.commit()) return;
    QMessageBox::warning(&table, ExportText::tr("Save as CSV"),
                         ExportText::tr("Cannot write %1: %2. Choose another place.").arg(name, file.errorString()));
}

void chooseFile(QTableView& table) {
    auto* dialog = new QFileDialog(&table, ExportText::tr("Save as CSV"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(QStringLiteral("csv"));
    dialog->setNameFilters({ExportText::tr("Tables (*.csv)")});
    QObject::connect(dialog, &QFileDialog::fileSelected, &table, [&table](const QString& name) { save(table, name); });
    dialog->open();
}

} // namespace

QString tableText(const QAbstractItemModel& model, QChar separator) {
    return textOf(model, allRows(model), separator);
}

void addTableExport(QTableView& table) {
    table.setContextMenuPolicy(Qt::ActionsContextMenu);
    const auto add = [&table](const char* name, const QString& text, const auto& then) {
        auto* action = new QAction(text, &table);
        action->setObjectName(QString::fromLatin1(name));
        QObject::connect(action, &QAction::triggered, &table, then);
        table.addAction(action);
        return action;
    };
    QAction* copy = add("copyRows", ExportText::tr("&Copy selected rows"), [&table] { copySelected(table); });
    copy->setShortcut(QKeySequence::Copy);
    copy->setShortcutContext(Qt::WidgetShortcut);
    add("copyTable", ExportText::tr("Copy the &whole table"),
        [&table] { QApplication::clipboard()->setText(tableText(*table.model(), QLatin1Char('\t'))); });
    add("saveTable", ExportText::tr("&Save as CSV…"), [&table] { chooseFile(table); });
}

} // namespace bubblescope::gui
