#include "app/gui/key_sheet.h"

#include "app/gui/panels/widgets.h"

#include <QAction>
#include <QDialogButtonBox>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QPushButton>
#include <QRegularExpression>
#include <QScreen>
#include <QScrollArea>
#include <QVBoxLayout>

#include <algorithm>

namespace bubblescope::gui {

namespace {

constexpr int kColumnLetters = 46; ///< width of a column
constexpr int kMaxColumns = 4;
constexpr double kOfScreen = 0.9;

QString keysText(const QAction& action) {
    QStringList keys;
    for (const QKeySequence& sequence : action.shortcuts())
        keys << sequence.toString(QKeySequence::NativeText);
    return keys.join(QStringLiteral(", "));
}

} // namespace

QString plainMenuText(QString text) {
    static const QRegularExpression in_brackets(QStringLiteral("\\(&\\w\\)"));
    return text.remove(in_brackets)
        .replace(QLatin1String("&&"), QLatin1String("\x01"))
        .remove(QLatin1Char('&'))
        .replace(QLatin1Char('\x01'), QLatin1Char('&'));
}

KeySheet::KeySheet(const QMenuBar& menus, QWidget* parent)
    : QDialog(parent), line_(new QLineEdit(this)), area_(new QScrollArea(this)) {
    setObjectName(QStringLiteral("keySheet"));
    setWindowTitle(tr("Keys and mouse"));
    line_->setObjectName(QStringLiteral("keySheetLine"));
    line_->setPlaceholderText(tr("Type a key or part of a command"));
    line_->setAccessibleName(tr("Search keys"));
    line_->setClearButtonEnabled(true);
    area_->setFrameShape(QFrame::NoFrame);
    area_->setWidgetResizable(true);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
    // Return in the search field must not close the sheet.
    buttons->button(QDialogButtonBox::Close)->setAutoDefault(false);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    auto* column = spaced(new QVBoxLayout(this), {12, 12, 12, 12});
    column->addWidget(line_);
    column->addWidget(area_, 1);
    column->addWidget(buttons);
    for (const QAction* menu : menus.actions()) {
        if (menu->menu() != nullptr) collect(menu->menu()->actions(), plainMenuText(menu->text()));
    }
    addMouse();
    connect(line_, &QLineEdit::textChanged, this, &KeySheet::fill);
    const QSize room = (QSizeF(screen()->availableSize()) * kOfScreen).toSize();
    resize(QSize(3 * kColumnLetters * fontMetrics().averageCharWidth() + 60, 640).boundedTo(room));
}

void KeySheet::collect(const QList<QAction*>& actions, const QString& group) {
    for (const QAction* action : actions) {
        if (action->menu() != nullptr) {
            collect(action->menu()->actions(), group);
        } else if (!action->shortcut().isEmpty()) {
            entries_.push_back({group, keysText(*action), plainMenuText(action->text())});
        }
    }
}

void KeySheet::addMouse() {
    const QString mouse = tr("Mouse");
    const auto add = [&](const QString& keys, const QString& text) { entries_.push_back({mouse, keys, text}); };
    add(tr("Wheel"), tr("Zoom at the pointer, or scroll (choose in Edit > Preferences)"));
    add(tr("Ctrl+Wheel"),
        tr("Zooms if the wheel scrolls, and scrolls if it zooms; over the names, changes the row height"));
    add(tr("Shift+Wheel"), tr("Earlier, later"));
    add(tr("Drag"), tr("Move the view"));
    add(tr("Shift+Drag"), tr("Select a time range that snaps to the edges of ops"));
    add(tr("Drag on the ruler"), tr("Select a time range"));
    add(tr("Click"), tr("Select; on a step number: show that step; on a rank: unfold it"));
    add(tr("Double click"), tr("Zoom to the clicked item"));
    add(tr("Right click"), tr("Actions for an op, bubble, transfer or rank"));
}

int KeySheet::columnsThatFit() const {
    return std::clamp(area_->width() / (kColumnLetters * fontMetrics().averageCharWidth()), 1, kMaxColumns);
}

void KeySheet::resizeEvent(QResizeEvent* event) {
    QDialog::resizeEvent(event);
    if (columnsThatFit() != columns_) fill();
}

/// Distributes the matching entries over the columns. The heading of a group stays with its first entry.
void KeySheet::fill() {
    columns_ = columnsThatFit();
    const QString wanted = line_->text().trimmed();
    std::vector<const Entry*> shown;
    for (const Entry& entry : entries_) {
        const bool fits = entry.text.contains(wanted, Qt::CaseInsensitive) ||
                          entry.keys.contains(wanted, Qt::CaseInsensitive) ||
                          entry.group.contains(wanted, Qt::CaseInsensitive);
        if (fits) shown.push_back(&entry);
    }
    auto* content = new QWidget;
    auto* row = spaced(new QHBoxLayout(content), {0, 0, 0, 0}, 24);
    QFont bold = font();
    bold.setBold(true);
    const std::size_t each =
        (shown.size() + static_cast<std::size_t>(columns_) - 1) / static_cast<std::size_t>(columns_);
    std::size_t at = 0;
    for (int column = 0; column < columns_; ++column) {
        auto* grid = new QGridLayout;
        grid->setHorizontalSpacing(12);
        grid->setVerticalSpacing(4);
        grid->setColumnStretch(1, 1);
        int line = 0;
        QString group;
        for (std::size_t i = 0; i < each && at < shown.size(); ++i, ++at) {
            const Entry& entry = *shown[at];
            if (entry.group != group) {
                group = entry.group;
                auto* heading = new QLabel(group, content);
                heading->setFont(bold);
                grid->addWidget(heading, line++, 0, 1, 2);
            }
            auto* keys = new QLabel(entry.keys, content);
            keys->setFont(bold);
            keys->setTextFormat(Qt::PlainText);
            keys->setWordWrap(true);
            auto* text = new QLabel(entry.text, content);
            text->setTextFormat(Qt::PlainText);
            text->setWordWrap(true);
            text->setBuddy(keys);
            keys->setAlignment(Qt::AlignRight); // aligns names of several lines
            grid->addWidget(keys, line, 0, Qt::AlignRight | Qt::AlignTop);
            grid->addWidget(text, line++, 1, Qt::AlignTop);
        }
        grid->setRowStretch(line, 1);
        row->addLayout(grid, 1);
    }
    area_->setWidget(content);
}

} // namespace bubblescope::gui
