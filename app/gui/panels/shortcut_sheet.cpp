#include "app/gui/panels/shortcut_sheet.h"

#include "app/gui/timeline/commands.h"

#include <QDialogButtonBox>
#include <QGridLayout>
#include <QLabel>
#include <QVBoxLayout>

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

} // namespace bubblescope::gui
