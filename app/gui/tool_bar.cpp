#include "app/gui/key_sheet.h"
#include "app/gui/main_menus.h"
#include "app/gui/main_window.h"
#include "app/gui/theme/icons.h"

#include <QAction>
#include <QCoreApplication>
#include <QMenuBar>
#include <QToolBar>
#include <QToolButton>

namespace bubblescope::gui {

namespace {

struct ToolBarText {
    Q_DECLARE_TR_FUNCTIONS(ToolBar)
};

constexpr int kIconSize = 20;

} // namespace

QToolBar* makeToolBar(MainWindow& window) {
    auto* bar = window.addToolBar(ToolBarText::tr("Tool bar"));
    bar->setObjectName(QStringLiteral("toolBar"));
    bar->setMovable(false);
    bar->setFloatable(false);
    bar->setIconSize({kIconSize, kIconSize});
    bar->setContextMenuPolicy(Qt::PreventContextMenu);
    const auto add = [&](const QString& name, IconShape shape) {
        auto* action = window.findChild<QAction*>(name);
        action->setIcon(drawnIcon(shape));
        action->setIconVisibleInMenu(false);
        const QString keys = action->shortcut().toString(QKeySequence::NativeText);
        const QString text = plainMenuText(action->text());
        action->setToolTip(keys.isEmpty() ? text : QStringLiteral("%1 (%2)").arg(text, keys));
        bar->addAction(action);
        // Keys stay with the timeline after a click; Tab still leads here.
        auto* button = qobject_cast<QToolButton*>(bar->widgetForAction(action));
        button->setFocusPolicy(Qt::TabFocus);
        button->setAccessibleName(text);
    };
    add(QStringLiteral("openFiles"), IconShape::Open);
    bar->addSeparator();
    add(commandActionName(Command::FitAll), IconShape::Fit);
    add(commandActionName(Command::Undo), IconShape::Back);
    add(commandActionName(Command::Redo), IconShape::Forward);
    add(commandActionName(Command::Search), IconShape::Search);
    add(QStringLiteral("measure"), IconShape::Measure);
    bar->addSeparator();
    add(QStringLiteral("flow-transfers"), IconShape::Arrows);
    add(QStringLiteral("flow-path"), IconShape::CriticalPath);
    add(QStringLiteral("ideal"), IconShape::Ideal);
    bar->addSeparator();
    add(QStringLiteral("compareWith"), IconShape::Compare);
    add(QStringLiteral("openLive"), IconShape::Live);
    add(QStringLiteral("runSchedule"), IconShape::Run);
    return bar;
}

} // namespace bubblescope::gui
