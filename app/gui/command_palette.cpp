#include "app/gui/command_palette.h"

#include "app/gui/key_sheet.h"
#include "app/gui/panels/widgets.h"

#include <QAction>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QMenuBar>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>

namespace bubblescope::gui {

namespace {

constexpr int kEntryRole = Qt::UserRole;

} // namespace

CommandPalette::CommandPalette(const QMenuBar& menus, QWidget* parent)
    : QDialog(parent), line_(new QLineEdit(this)), list_(new QListWidget(this)) {
    setObjectName(QStringLiteral("commandPalette"));
    setWindowTitle(tr("Commands"));
    line_->setObjectName(QStringLiteral("paletteLine"));
    line_->setPlaceholderText(tr("Type part of a command"));
    line_->setAccessibleName(tr("Command"));
    line_->installEventFilter(this);
    list_->setObjectName(QStringLiteral("paletteList"));
    list_->setAccessibleName(tr("Commands"));
    list_->setUniformItemSizes(true);
    auto* column = spaced(new QVBoxLayout(this), {8, 8, 8, 8});
    column->addWidget(line_);
    column->addWidget(list_, 1);
    resize(560, 380);
    collect(menus.actions(), {});
    connect(line_, &QLineEdit::textChanged, this, &CommandPalette::filter);
    connect(line_, &QLineEdit::returnPressed, this, &CommandPalette::run);
    connect(list_, &QListWidget::itemClicked, this, &CommandPalette::run);
    filter();
}

void CommandPalette::collect(const QList<QAction*>& actions, const QString& path) {
    for (QAction* action : actions) {
        if (action->isSeparator() || action->text().isEmpty()) continue;
        const QString text = path + plainMenuText(action->text());
        if (action->menu() != nullptr) {
            emit action->menu()->aboutToShow(); // some menus are filled when they open
            collect(action->menu()->actions(), text + QStringLiteral(" › "));
            continue;
        }
        const QString keys = action->shortcut().toString(QKeySequence::NativeText);
        if (action->isEnabled()) entries_.push_back({action, text, keys});
    }
}

void CommandPalette::filter() {
    list_->clear();
    const QStringList words = line_->text().split(QLatin1Char(' '), Qt::SkipEmptyParts);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        const Entry& entry = entries_[i];
        const bool fits = std::ranges::all_of(
            words, [&](const QString& word) { return entry.path.contains(word, Qt::CaseInsensitive); });
        if (!fits) continue;
        const QString text =
            entry.keys.isEmpty() ? entry.path : QStringLiteral("%1   [%2]").arg(entry.path, entry.keys);
        auto* item = new QListWidgetItem(text, list_);
        item->setData(kEntryRole, static_cast<qulonglong>(i));
    }
    list_->setCurrentRow(0);
}

void CommandPalette::run() {
    const QListWidgetItem* item = list_->currentItem();
    if (item == nullptr) return;
    QPointer<QAction> action = entries_[static_cast<std::size_t>(item->data(kEntryRole).toULongLong())].action;
    accept();
    // Triggered after the palette has closed, so that the window has its previous state.
    QTimer::singleShot(0, parent(), [action] {
        if (action) action->trigger();
    });
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event) {
    if (watched == line_ && event->type() == QEvent::KeyPress) {
        const int key = static_cast<QKeyEvent*>(event)->key();
        const int step = key == Qt::Key_Down ? 1 : key == Qt::Key_Up ? -1 : 0;
        if (step != 0) {
            list_->setCurrentRow(std::clamp(list_->currentRow() + step, 0, std::max(0, list_->count() - 1)));
            return true;
        }
    }
    return QDialog::eventFilter(watched, event);
}

} // namespace bubblescope::gui
