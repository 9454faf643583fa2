#include "app/gui/key_sheet.h"
#include "app/gui/language/text.h"
#include "app/gui/main_menus.h"
#include "app/gui/main_window.h"
#include "app/gui/theme/icons.h"

#include <QAction>
#include <QToolBar>
#include <QToolButton>

namespace bubblescope::gui {

namespace {

constexpr int kIconSize = 20;

} // namespace

QToolBar* makeToolBar(MainWindow& window) {
    auto* bar = window.addToolBar(tr("Tool bar"));
    bar->setObjectName(QStringLiteral("toolBar"));
    bar->setMovable(false);
    bar->setFloatable(false);
    bar->setIconSize({kIconSize, kIconSize});
    bar->setContextMenuPolicy(Qt::PreventContextMenu);
    bar->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    const auto add = [&](const QString& name, IconShape shape, const QString& word) {
        auto* action = window.findChild<QAction*>(name);
        action->setIcon(drawnIcon(shape));
        action->setIconVisibleInMenu(false);
        action->setIconText(word);
        const QString keys = action->shortcut().toString(QKeySequence::NativeText);
        const QString text = plainMenuText(action->text());
        action->setToolTip(keys.isEmpty() ? text : QStringLiteral("%1 (%2)").arg(text, keys));
        bar->addAction(action);
        // The keyboard focus remains in the timeline after a click; Tab still moves the focus here.
        auto* button = qobject_cast<QToolButton*>(bar->widgetForAction(action));
        button->setFocusPolicy(Qt::TabFocus);
        button->setAccessibleName(text);
    };
    add(QStringLiteral("openFiles"), IconShape::Open, tr("Open"));
    bar->addSeparator();
    add(commandActionName(Command::FitAll), IconShape::Fit, tr("Fit"));
    add(commandActionName(Command::Undo), IconShape::Back, tr("Undo"));
    add(commandActionName(Command::Redo), IconShape::Forward, tr("Redo"));
    add(commandActionName(Command::Search), IconShape::Search, tr("Search"));
    add(QStringLiteral("measure"), IconShape::Measure, tr("Measure"));
    bar->addSeparator();
    add(QStringLiteral("flow-transfers"), IconShape::Arrows, tr("Transfers"));
    add(QStringLiteral("flow-path"), IconShape::CriticalPath, tr("Critical path"));
    add(QStringLiteral("ideal"), IconShape::Ideal, tr("Ideal"));
    bar->addSeparator();
    add(QStringLiteral("compareWith"), IconShape::Compare, tr("Compare"));
    add(QStringLiteral("openLive"), IconShape::Live, tr("Watch"));
    add(QStringLiteral("runSchedule"), IconShape::Run, tr("Run"));
    return bar;
}

} // namespace bubblescope::gui
