#include "app/gui/language/text.h"
#include "app/gui/main_menus.h"
#include "app/gui/models/rows.h"
#include "app/gui/models/session.h"
#include "app/gui/models/view_state.h"

#include <QActionGroup>
#include <QMenu>

#include <functional>
#include <optional>

namespace bubblescope::gui {

namespace {

/// A menu entry that changes the choice of rows, and is checked while the change is in effect.
struct RowEntry {
    std::function<bool(const RowChoice&)> is;
    std::function<void(RowChoice&, bool)> set;
};

QAction* addEntry(QMenu& menu, ViewState& state, const QString& name, const QString& text, RowEntry entry) {
    QAction* action = menu.addAction(text);
    action->setObjectName(name);
    action->setCheckable(true);
    QObject::connect(action, &QAction::triggered, &state, [&state, set = std::move(entry.set)](bool on) {
        RowChoice rows = state.rows();
        set(rows, on);
        state.setRows(std::move(rows));
    });
    const auto follow = [&state, action, is = std::move(entry.is)] { action->setChecked(is(state.rows())); };
    QObject::connect(&state, &ViewState::rowsChanged, action, follow);
    follow();
    return action;
}

void addLanes(QMenu& menu, ViewState& state) {
    const auto add = [&](LaneGroup group, const QString& text) {
        const auto at = static_cast<std::size_t>(group);
        addEntry(menu, state, QStringLiteral("lanes-%1").arg(at), text,
                 {[at](const RowChoice& rows) { return !rows.hidden[at]; },
                  [at](RowChoice& rows, bool on) { rows.hidden[at] = !on; }});
    };
    add(LaneGroup::Transfers, tr("&Transfers and waits"));
    add(LaneGroup::Replay, tr("&Checks in bubbles"));
    add(LaneGroup::Kernels, tr("&Kernels of unfolded ranks"));
    add(LaneGroup::Threads, tr("&Host threads of unfolded ranks"));
    addEntry(
        menu, state, QStringLiteral("lanes-counters"), tr("&Memory and other counters"),
        {[](const RowChoice& rows) { return rows.counters; }, [](RowChoice& rows, bool on) { rows.counters = on; }});
}

void addOrders(QMenu& menu, ViewState& state) {
    auto* group = new QActionGroup(&menu);
    const auto add = [&](RowOrder order, const QString& text) {
        group->addAction(addEntry(menu, state, QStringLiteral("order-%1").arg(static_cast<int>(order)), text,
                                  {[order](const RowChoice& rows) { return rows.order == order; },
                                   [order](RowChoice& rows, bool) { rows.order = order; }}));
    };
    add(RowOrder::Rank, tr("By &rank"));
    add(RowOrder::Mesh, tr("By mesh c&oordinates"));
    add(RowOrder::Bubble, tr("Largest &bubble first"));
    add(RowOrder::Hand, tr("M&anual (move rows with Ctrl+Up and Ctrl+Down)"));
}

void addGroups(QMenu& menu, ViewState& state) {
    auto* group = new QActionGroup(&menu);
    const auto choose = [](std::optional<MeshAxis> axis) {
        return RowEntry{[axis](const RowChoice& rows) { return rows.group == axis; },
                        [axis](RowChoice& rows, bool) {
                            rows.group = axis;
                            rows.folded.clear();
                        }};
    };
    group->addAction(addEntry(menu, state, QStringLiteral("group-none"), tr("No &groups"), choose(std::nullopt)));
    QList<QAction*> axes;
    for (std::size_t axis = 0; axis < kMeshAxisNames.size(); ++axis) {
        const QString name =
            QLatin1String(kMeshAxisNames[axis].data(), static_cast<qsizetype>(kMeshAxisNames[axis].size()));
        QAction* action = addEntry(menu, state, QStringLiteral("group-") + name, tr("Group by %1").arg(name),
                                   choose(static_cast<MeshAxis>(axis)));
        group->addAction(action);
        axes << action;
    }
    // Enables the axes along which the run has more than one rank.
    const auto enable = [&state, axes] {
        const MeshNumbers spread =
            state.session() ? rowSpread(rowFacts(*state.session(), -1)) : MeshNumbers{{0, 0, 0, 0, 0}};
        for (qsizetype axis = 0; axis < axes.size(); ++axis)
            axes[axis]->setEnabled(spread.of[static_cast<std::size_t>(axis)] > 1);
    };
    QObject::connect(&state, &ViewState::sessionChanged, group, enable);
    enable();
}

} // namespace

void fillRowsMenu(QMenu& menu, ViewState& state) {
    addLanes(menu, state);
    menu.addSeparator();
    addOrders(menu, state);
    menu.addSeparator();
    addGroups(menu, state);
}

} // namespace bubblescope::gui
