#include "app/gui/timeline/timeline_view.h"

#include "app/gui/language/text.h"
#include "app/gui/models/item_text.h"
#include "app/gui/models/rows.h"
#include "app/gui/timeline/timeline_painter.h"

#include <QAccessible>
#include <QAccessibleWidget>
#include <QLocale>

#include <algorithm>
#include <map>

namespace bubblescope::gui {

namespace {

QString selectionText(const TimelineView& view) {
    const ViewState& state = view.state();
    return state.session() && state.selection() ? oneLine(*state.session(), state.selection()) : QString();
}

/// Texts that a screen reader reads for each row.
enum Cell : int { kNameCell, kBubbleCell, kShareCell, kPiecesCell, kOpsCell, kLongestCell, kCellCount };

QString cellColumnName(int column) {
    switch (column) {
    case kNameCell: return tr("Rank");
    case kBubbleCell: return tr("Bubble");
    case kShareCell: return tr("Share of the step");
    case kPiecesCell: return tr("Bubbles");
    case kOpsCell: return tr("Ops");
    case kLongestCell: return tr("Longest bubble");
    default: return {};
    }
}

/// The longest bubble of a line in the current step; empty if there is none.
ItemRef longestBubbleOf(const Session& session, int current, int line) {
    if (!session.hasSteps()) return {};
    const int step = session.stepOn(line, current);
    const int rank = session.lanes.rankOf(line);
    const auto& ranks = session.analysis(step).bubbles;
    ItemRef longest;
    TimeNs most{0};
    if (static_cast<std::size_t>(rank) >= ranks.size()) return longest;
    const std::vector<Bubble>& bubbles = ranks[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < bubbles.size(); ++i) {
        if (bubbles[i].duration() <= most) continue;
        most = bubbles[i].duration();
        longest = {ItemKind::Bubble, step, rank, static_cast<std::int32_t>(i)};
    }
    return longest;
}

QString cellText(const Session& session, int current, int line, int column) {
    if (!session.hasSteps()) return column == kNameCell ? lineName(session, line) : QString();
    const int step = session.stepOn(line, current);
    const StepAnalysis& analysis = session.analysis(step);
    const auto rank = static_cast<std::size_t>(session.lanes.rankOf(line));
    if (rank >= analysis.ranks.size() || analysis.wall <= TimeNs{0}) return {};
    const TimeNs bubble = analysis.ranks[rank].bubble;
    switch (column) {
    case kNameCell: return lineName(session, line);
    case kBubbleCell: return shortTime(bubble);
    case kShareCell: return percent(fractionOf(bubble, analysis.wall));
    case kPiecesCell:
        return QLocale().toString(qlonglong(rank < analysis.bubbles.size() ? analysis.bubbles[rank].size() : 0));
    case kOpsCell: return QLocale().toString(qlonglong(session.step(step).ranks[rank].size()));
    case kLongestCell: {
        const ItemRef longest = longestBubbleOf(session, current, line);
        if (!longest) return tr("none");
        const TimeRange range = session.range(longest);
        return tr("%1 from %2 on").arg(shortTime(range.length()), shortTime(range.begin - session.window(step).begin));
    }
    default: return {};
    }
}

/// A cell of a row. Lives as long as the accessibility interface of its timeline.
class CellAccess : public QAccessibleInterface, public QAccessibleTableCellInterface {
public:
    CellAccess(TimelineView& view, int row, int column) : view_(view), row_(row), column_(column) {}

    [[nodiscard]] bool isValid() const override { return view_.state().session() && row_ < view_.rows().rowCount(); }
    [[nodiscard]] QObject* object() const override { return nullptr; }
    [[nodiscard]] QAccessibleInterface* parent() const override {
        return QAccessible::queryAccessibleInterface(&view_);
    }
    [[nodiscard]] QAccessibleInterface* childAt(int, int) const override { return nullptr; }
    [[nodiscard]] QAccessibleInterface* child(int) const override { return nullptr; }
    [[nodiscard]] int childCount() const override { return 0; }
    [[nodiscard]] int indexOfChild(const QAccessibleInterface*) const override { return -1; }
    [[nodiscard]] QAccessible::Role role() const override {
        return column_ == kNameCell ? QAccessible::RowHeader : QAccessible::Cell;
    }
    [[nodiscard]] QString text(QAccessible::Text what) const override {
        if (!isValid()) return {};
        switch (what) {
        case QAccessible::Name: return column_ == kNameCell ? name() : value();
        case QAccessible::Description: return cellColumnName(column_);
        default: return {};
        }
    }
    void setText(QAccessible::Text, const QString&) override {}
    /// Rectangle of the name, or of the row's part of the plot. Empty if the row is not visible.
    [[nodiscard]] QRect rect() const override {
        QRect inside = view_.rowRect(row_);
        if (inside.isEmpty()) return {};
        if (column_ == kNameCell) {
            inside.setWidth(std::min(inside.width(), kHeaderWidth));
        } else {
            inside.setLeft(std::min(inside.right(), kHeaderWidth));
        }
        return {view_.viewport()->mapToGlobal(inside.topLeft()), inside.size()};
    }
    [[nodiscard]] QAccessible::State state() const override {
        QAccessible::State state;
        if (!isValid()) return state;
        const PlannedRow& row = view_.rows().row(row_);
        state.selectable = !row.header();
        state.expandable = row.header();
        state.expanded = row.header() && !row.folded;
        state.collapsed = row.header() && row.folded;
        state.selected = isSelected();
        state.offscreen = view_.rowRect(row_).isEmpty();
        return state;
    }
    void* interface_cast(QAccessible::InterfaceType type) override {
        return type == QAccessible::TableCellInterface ? static_cast<QAccessibleTableCellInterface*>(this) : nullptr;
    }

    [[nodiscard]] bool isSelected() const override { return isSelectedRow(view_, row_); }
    [[nodiscard]] QList<QAccessibleInterface*> columnHeaderCells() const override { return {}; }
    [[nodiscard]] QList<QAccessibleInterface*> rowHeaderCells() const override {
        QAccessibleInterface* timeline = parent();
        return timeline == nullptr ? QList<QAccessibleInterface*>() : QList{timeline->child(row_ * kCellCount)};
    }
    [[nodiscard]] int columnIndex() const override { return column_; }
    [[nodiscard]] int rowIndex() const override { return row_; }
    [[nodiscard]] int columnExtent() const override { return 1; }
    [[nodiscard]] int rowExtent() const override { return 1; }
    [[nodiscard]] QAccessibleInterface* table() const override { return parent(); }

    [[nodiscard]] static bool isSelectedRow(const TimelineView& view, int row) {
        const ItemRef& selection = view.state().selection();
        const SessionPtr& session = view.state().session();
        return session && selection && row < view.rows().rowCount() && !view.rows().isHeader(row) &&
               session->lanes.lineOf(selection) == view.rows().lineAt(row);
    }

private:
    [[nodiscard]] QString name() const {
        const PlannedRow& row = view_.rows().row(row_);
        if (row.header()) return groupName(row, view_.state().rows().group.value_or(MeshAxis::Pipeline));
        const QString rank = lineName(*view_.state().session(), row.line);
        return row.pinned ? tr("%1, pinned").arg(rank) : rank;
    }
    [[nodiscard]] QString value() const {
        const PlannedRow& row = view_.rows().row(row_);
        if (row.header()) return row.folded ? tr("folded") : tr("unfolded");
        return cellText(*view_.state().session(), view_.state().step(), row.line, column_);
    }

    TimelineView& view_;
    int row_;
    int column_;
};

/// The timeline as a table: one table row per timeline row, with the figures for the current step.
class TimelineAccess : public QAccessibleWidget, public QAccessibleTableInterface {
public:
    explicit TimelineAccess(TimelineView& view) : QAccessibleWidget(&view, QAccessible::Table), view_(view) {}
    ~TimelineAccess() override {
        for (const auto& [place, id] : cells_)
            QAccessible::deleteAccessibleInterface(id);
    }

    [[nodiscard]] int childCount() const override { return rowCount() * kCellCount; }
    [[nodiscard]] QAccessibleInterface* child(int index) const override {
        if (index < 0 || index >= childCount()) return nullptr;
        const auto known = cells_.find(index);
        if (known != cells_.end()) return QAccessible::accessibleInterface(known->second);
        auto* made = new CellAccess(view_, index / kCellCount, index % kCellCount);
        cells_.emplace(index, QAccessible::registerAccessibleInterface(made));
        return made;
    }
    [[nodiscard]] int indexOfChild(const QAccessibleInterface* wanted) const override {
        const auto* cell = dynamic_cast<const CellAccess*>(wanted);
        return cell == nullptr ? -1 : cell->rowIndex() * kCellCount + cell->columnIndex();
    }
    [[nodiscard]] QAccessibleInterface* childAt(int x, int y) const override {
        for (const int row : view_.rowsInSight()) {
            for (const int column : {kNameCell, kBubbleCell}) {
                QAccessibleInterface* cell = cellAt(row, column);
                if (cell->rect().contains(x, y)) return cell;
            }
        }
        return nullptr;
    }
    [[nodiscard]] QString text(QAccessible::Text what) const override {
        if (what == QAccessible::Value) return selectionText(view_);
        if (what == QAccessible::Description && view_.state().session()) return summaryText();
        return QAccessibleWidget::text(what);
    }
    void* interface_cast(QAccessible::InterfaceType type) override {
        return type == QAccessible::TableInterface ? static_cast<QAccessibleTableInterface*>(this)
                                                   : QAccessibleWidget::interface_cast(type);
    }

    [[nodiscard]] QAccessibleInterface* caption() const override { return nullptr; }
    [[nodiscard]] QAccessibleInterface* summary() const override { return nullptr; }
    [[nodiscard]] QAccessibleInterface* cellAt(int row, int column) const override {
        const bool inside = row >= 0 && row < rowCount() && column >= 0 && column < kCellCount;
        return inside ? child(row * kCellCount + column) : nullptr;
    }
    [[nodiscard]] int rowCount() const override { return view_.state().session() ? view_.rows().rowCount() : 0; }
    [[nodiscard]] int columnCount() const override { return kCellCount; }
    [[nodiscard]] QString columnDescription(int column) const override { return cellColumnName(column); }
    [[nodiscard]] QString rowDescription(int row) const override {
        QAccessibleInterface* name = cellAt(row, kNameCell);
        return name == nullptr ? QString() : name->text(QAccessible::Name);
    }
    [[nodiscard]] QList<int> selectedRows() const override {
        QList<int> out;
        for (int row = 0; row < rowCount(); ++row) {
            if (isRowSelected(row)) out << row;
        }
        return out;
    }
    [[nodiscard]] int selectedRowCount() const override { return static_cast<int>(selectedRows().size()); }
    [[nodiscard]] bool isRowSelected(int row) const override { return CellAccess::isSelectedRow(view_, row); }
    [[nodiscard]] QList<QAccessibleInterface*> selectedCells() const override {
        QList<QAccessibleInterface*> out;
        for (const int row : selectedRows()) {
            for (int column = 0; column < kCellCount; ++column)
                out << cellAt(row, column);
        }
        return out;
    }
    [[nodiscard]] int selectedCellCount() const override { return selectedRowCount() * kCellCount; }
    [[nodiscard]] QList<int> selectedColumns() const override { return {}; }
    [[nodiscard]] int selectedColumnCount() const override { return 0; }
    [[nodiscard]] bool isColumnSelected(int) const override { return false; }
    /// Selects the row's longest bubble.
    bool selectRow(int row) override {
        if (row < 0 || row >= rowCount() || view_.rows().isHeader(row)) return false;
        ViewState& state = view_.state();
        const ItemRef longest = longestBubbleOf(*state.session(), state.step(), view_.rows().lineAt(row));
        if (longest) state.select(longest);
        return static_cast<bool>(longest);
    }
    bool unselectRow(int row) override {
        if (!isRowSelected(row)) return false;
        view_.state().select({});
        return true;
    }
    bool selectColumn(int) override { return false; }
    bool unselectColumn(int) override { return false; }
    void modelChange(QAccessibleTableModelChangeEvent*) override {}

private:
    [[nodiscard]] QString summaryText() const {
        const auto ranks =
            std::ranges::count_if(view_.rows().plan(), [](const PlannedRow& row) { return !row.header(); });
        if (!view_.state().pipeline()) return tr("%Ln rank(s) or process(es)", nullptr, static_cast<int>(ranks));
        return tr("%Ln rank(s), step %1 of %2", nullptr, static_cast<int>(ranks))
            .arg(view_.state().step() + 1)
            .arg(view_.state().session()->stepCount());
    }

    TimelineView& view_;
    mutable std::map<int, QAccessible::Id> cells_; ///< cells that were requested, by row and column
};

QAccessibleInterface* makeAccess(const QString& type, QObject* object) {
    if (type != QLatin1String(TimelineView::staticMetaObject.className())) return nullptr;
    auto* view = qobject_cast<TimelineView*>(object);
    return view != nullptr ? new TimelineAccess(*view) : nullptr;
}

} // namespace

void installTimelineAccess(TimelineView& view) {
    static const bool installed = [] {
        QAccessible::installFactory(makeAccess);
        return true;
    }();
    static_cast<void>(installed);
    // If a screen reader is running, the constructors of the base classes may have created an interface of a different
    // type.
    QAccessibleInterface* made = QAccessible::queryAccessibleInterface(&view);
    if (made != nullptr && dynamic_cast<TimelineAccess*>(made) == nullptr)
        QAccessible::deleteAccessibleInterface(QAccessible::uniqueId(made));
}

void announceRows(TimelineView& view) {
    if (dynamic_cast<TimelineAccess*>(QAccessible::queryAccessibleInterface(&view)) == nullptr) return;
    QAccessibleEvent reordered(&view, QAccessible::ObjectReorder);
    QAccessible::updateAccessibility(&reordered);
}

void announceSelection(TimelineView& view) {
    // An interface of a different type does not know the ids of our rows.
    if (dynamic_cast<TimelineAccess*>(QAccessible::queryAccessibleInterface(&view)) == nullptr) return;
    QAccessibleValueChangeEvent value(&view, selectionText(view));
    QAccessible::updateAccessibility(&value);
    const ItemRef& selection = view.state().selection();
    if (!selection || !view.state().session()) return;
    const int row = view.rows().rowOf(view.state().session()->lanes.lineOf(selection));
    if (row < 0) return;
    QAccessibleEvent selected(&view, QAccessible::Selection);
    selected.setChild(row * kCellCount);
    QAccessible::updateAccessibility(&selected);
}

} // namespace bubblescope::gui
