#include "app/gui/command_palette.h"

#include "app/gui/timeline/commands.h"

#include <QAction>
#include <QDialogButtonBox>
#include <QGridLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QMenuBar>
#include <QRegularExpression>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>

namespace bubblescope::gui {

ShortcutSheet::ShortcutSheet(QWidget* parent) : QDialog(parent) {
    setObjectName(QStringLiteral("shortcutSheet"));
    setWindowTitle(tr("Keys and mouse"));
    auto* grid = new QGridLayout;
    grid->setHorizontalSpacing(20);
    grid->setVerticalSpacing(5);
    int row = 0;
    const auto add = [&](const QString& keys, const QString& text) {
        auto* key = new QLabel(keys, this);
        QFont bold = font();
        bold.setBold(true);
        key->setFont(bold);
        grid->addWidget(key, row, 0, Qt::AlignRight);
        grid->addWidget(new QLabel(text, this), row++, 1);
    };
    add(tr("Wheel"), tr("Zoom at the pointer"));
    add(tr("Shift+Wheel"), tr("Earlier, later"));
    add(tr("Ctrl+Wheel"), tr("Over the names: higher and lower rows"));
    add(tr("Drag"), tr("Move the view"));
    add(tr("Click"), tr("Select; on a step number: show that step"));
    add(tr("Double click"), tr("Zoom to what was clicked"));
    for (const CommandInfo& info : commandTable())
        add(commandKeys(info), commandText(info));
    add(QKeySequence(QKeySequence::Open).toString(QKeySequence::NativeText), tr("Open files"));
    add(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_L).toString(QKeySequence::NativeText), tr("Watch a run"));
    add(QKeySequence(Qt::CTRL | Qt::Key_R).toString(QKeySequence::NativeText), tr("Run a schedule"));
    add(QKeySequence(Qt::CTRL | Qt::Key_E).toString(QKeySequence::NativeText), tr("Follow the newest step"));
    add(QKeySequence(QKeySequence::HelpContents).toString(QKeySequence::NativeText), tr("Manual"));
    add(QStringLiteral("?"), tr("This sheet"));

    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(20, 16, 20, 16);
    column->setSpacing(16);
    column->addLayout(grid);
    column->addWidget(buttons);
}

namespace {

constexpr int kEntryRole = Qt::UserRole;

/// Without mnemonics: "&Open", "打开(&O)".
QString plain(QString text) {
    static const QRegularExpression in_brackets(QStringLiteral("\\(&\\w\\)"));
    return text.remove(in_brackets)
        .replace(QLatin1String("&&"), QLatin1String("\x01"))
        .remove(QLatin1Char('&'))
        .replace(QLatin1Char('\x01'), QLatin1Char('&'));
}

} // namespace

CommandPalette::CommandPalette(const QMenuBar& menus, QWidget* parent)
    : QDialog(parent), line_(new QLineEdit(this)), list_(new QListWidget(this)) {
    setObjectName(QStringLiteral("commandPalette"));
    setWindowTitle(tr("Commands"));
    line_->setObjectName(QStringLiteral("paletteLine"));
    line_->setPlaceholderText(tr("Type some letters of what you want to do"));
    line_->setAccessibleName(tr("Command"));
    line_->installEventFilter(this);
    list_->setObjectName(QStringLiteral("paletteList"));
    list_->setAccessibleName(tr("Commands"));
    list_->setUniformItemSizes(true);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 8, 8, 8);
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
        // Keys that the timeline handles itself follow a tab character.
        const QStringList parts = action->text().split(QLatin1Char('\t'));
        const QString text = path + plain(parts.front());
        if (action->menu() != nullptr) {
            emit action->menu()->aboutToShow(); // some menus are filled when they open
            collect(action->menu()->actions(), text + QStringLiteral(" › "));
            continue;
        }
        const QString keys = parts.size() > 1 ? parts.back() : action->shortcut().toString(QKeySequence::NativeText);
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
    // Triggered after the palette has closed, so that the action finds the window as it was.
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
