#include "app/gui/timeline/timeline_view.h"

#include "app/gui/language/text.h"
#include "app/gui/models/item_text.h"
#include "app/gui/models/rows.h"

#include <QAccessible>
#include <QAccessibleWidget>
#include <QCoreApplication>

#include <algorithm>
#include <map>

namespace bubblescope::gui {

namespace {

struct AccessText {
    Q_DECLARE_TR_FUNCTIONS(TimelineAccess)
};

QString selectionText(const TimelineView& view) {
    const ViewState& state = view.state();
    return state.session() && state.selection() ? oneLine(*state.session(), state.selection()) : QString();
}

QString lineText(const Session& session, int current, int line) {
    const int step = session.stepOn(line, current);
    const StepAnalysis& analysis = session.analysis(step);
    const auto at = static_cast<std::size_t>(session.lanes.rankOf(line));
    if (at >= analysis.ranks.size() || analysis.wall <= TimeNs{0}) return {};
    const RankAccount& account = analysis.ranks[at];
    const double bubble = static_cast<double>(account.bubble.count()) / static_cast<double>(analysis.wall.count());
    const std::size_t bubbles = at < analysis.bubbles.size() ? analysis.bubbles[at].size() : 0;
    return AccessText::tr("step %1: bubble %2, %3 of the step, in %4 pieces")
        .arg(session.step(step).index)
        .arg(shortTime(account.bubble), percent(bubble))
        .arg(bubbles);
}

/// A visible row. Lives as long as its timeline's interface.
class RowAccess : public QAccessibleInterface {
public:
    RowAccess(TimelineView& view, int row) : view_(view), row_(row) {}

    [[nodiscard]] bool isValid() const override { return view_.state().session() && row_ < view_.rows().rowCount(); }
    [[nodiscard]] QObject* object() const override { return nullptr; }
    [[nodiscard]] QAccessibleInterface* parent() const override {
        return QAccessible::queryAccessibleInterface(&view_);
    }
    [[nodiscard]] QAccessibleInterface* childAt(int, int) const override { return nullptr; }
    [[nodiscard]] QAccessibleInterface* child(int) const override { return nullptr; }
    [[nodiscard]] int childCount() const override { return 0; }
    [[nodiscard]] int indexOfChild(const QAccessibleInterface*) const override { return -1; }
    [[nodiscard]] QAccessible::Role role() const override { return QAccessible::ListItem; }
    [[nodiscard]] QString text(QAccessible::Text what) const override {
        if (!isValid()) return {};
        switch (what) {
        case QAccessible::Name: return name();
        case QAccessible::Value:
        case QAccessible::Description:
            return view_.rows().isHeader(row_)
                       ? (view_.rows().row(row_).folded ? AccessText::tr("folded") : AccessText::tr("unfolded"))
                       : lineText(*view_.state().session(), view_.state().step(), view_.rows().lineAt(row_));
        default: return {};
        }
    }
    void setText(QAccessible::Text, const QString&) override {}
    [[nodiscard]] QRect rect() const override {
        const QRect inside = view_.rowRect(row_);
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
        const ItemRef& selection = view_.state().selection();
        state.selected = selection && view_.state().session()->lanes.lineOf(selection) == row.line && !row.header();
        return state;
    }

private:
    [[nodiscard]] QString name() const {
        const PlannedRow& row = view_.rows().row(row_);
        if (row.header()) return groupName(row, view_.state().rows().group.value_or(MeshAxis::Pipeline));
        const QString rank = lineName(*view_.state().session(), row.line);
        return row.pinned ? AccessText::tr("%1, pinned").arg(rank) : rank;
    }

    TimelineView& view_;
    int row_;
};

class TimelineAccess : public QAccessibleWidget {
public:
    explicit TimelineAccess(TimelineView& view) : QAccessibleWidget(&view, QAccessible::List), view_(view) {}
    ~TimelineAccess() override {
        for (const auto& [row, id] : rows_)
            QAccessible::deleteAccessibleInterface(id);
    }

    [[nodiscard]] int childCount() const override { return static_cast<int>(view_.rowsInSight().size()); }
    [[nodiscard]] QAccessibleInterface* child(int index) const override {
        const std::vector<int> rows = view_.rowsInSight();
        if (index < 0 || index >= static_cast<int>(rows.size())) return nullptr;
        const int row = rows[static_cast<std::size_t>(index)];
        const auto known = rows_.find(row);
        if (known != rows_.end()) return QAccessible::accessibleInterface(known->second);
        auto* made = new RowAccess(view_, row);
        rows_.emplace(row, QAccessible::registerAccessibleInterface(made));
        return made;
    }
    [[nodiscard]] int indexOfChild(const QAccessibleInterface* wanted) const override {
        for (int index = 0; index < childCount(); ++index) {
            if (child(index) == wanted) return index;
        }
        return -1;
    }
    [[nodiscard]] QAccessibleInterface* childAt(int x, int y) const override {
        for (int index = 0; index < childCount(); ++index) {
            QAccessibleInterface* row = child(index);
            if (row->rect().contains(x, y)) return row;
        }
        return nullptr;
    }
    [[nodiscard]] QString text(QAccessible::Text what) const override {
        if (what == QAccessible::Value) return selectionText(view_);
        if (what == QAccessible::Description && view_.state().session())
            return AccessText::tr("%1 ranks, step %2 of %3")
                .arg(std::ranges::count_if(view_.rows().plan(), [](const PlannedRow& row) { return !row.header(); }))
                .arg(view_.state().step() + 1)
                .arg(view_.state().session()->stepCount());
        return QAccessibleWidget::text(what);
    }

private:
    TimelineView& view_;
    mutable std::map<int, QAccessible::Id> rows_; ///< those that were requested
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
    // With a screen reader running, the constructors of the base classes may have created an interface of their own
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
    // An interface of another type does not know the ids of our rows.
    if (dynamic_cast<TimelineAccess*>(QAccessible::queryAccessibleInterface(&view)) == nullptr) return;
    QAccessibleValueChangeEvent value(&view, selectionText(view));
    QAccessible::updateAccessibility(&value);
    const ItemRef& selection = view.state().selection();
    if (!selection || !view.state().session()) return;
    const std::vector<int> rows = view.rowsInSight();
    const auto row = std::ranges::find(rows, view.rows().rowOf(view.state().session()->lanes.lineOf(selection)));
    if (row == rows.end()) return;
    QAccessibleEvent selected(&view, QAccessible::Selection);
    selected.setChild(static_cast<int>(row - rows.begin()));
    QAccessible::updateAccessibility(&selected);
}

} // namespace bubblescope::gui
