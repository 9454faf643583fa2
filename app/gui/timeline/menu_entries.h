#pragma once

#include "app/gui/timeline/commands.h"

#include <QApplication>
#include <QClipboard>
#include <QMenu>

#include <utility>

namespace bubblescope::gui {

/// Adds entries to the menu of the item under the pointer. Actions have no effect after `context`, which receives their
/// signals, is deleted. The menu deletes itself when it closes. While the menu is open, the item cannot change.
class MenuEntries {
public:
    MenuEntries(const char* name, QObject& context, QWidget* parent) : menu_(new QMenu(parent)), context_(context) {
        menu_->setObjectName(QString::fromLatin1(name));
        menu_->setAttribute(Qt::WA_DeleteOnClose);
    }
    [[nodiscard]] QMenu* menu() const { return menu_; }

    template <class Then>
    QAction* add(const char* name, const QString& text, Then then) {
        QAction* action = menu_->addAction(text);
        action->setObjectName(QString::fromLatin1(name));
        QObject::connect(action, &QAction::triggered, &context_, std::move(then));
        return action;
    }
    /// Adds an entry for a command and shows its key. `view` runs the command.
    template <class View>
    QAction* addCommand(const char* name, const QString& text, View& view, Command command) {
        QAction* action = add(name, text, [&view, command] { view.run(command); });
        action->setShortcut(commandKeys(commandInfo(command)).value(0)); // the window or the view handles the key
        action->setShortcutContext(Qt::WidgetShortcut);
        return action;
    }
    void addCopy(const char* name, const QString& text, const QString& content) {
        add(name, text, [content] { QApplication::clipboard()->setText(content); });
    }
    void addSeparator() { menu_->addSeparator(); }

private:
    QMenu* menu_;
    QObject& context_;
};

} // namespace bubblescope::gui
