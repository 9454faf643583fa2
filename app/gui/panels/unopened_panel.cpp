#include "app/gui/panels/unopened_panel.h"

#include "app/gui/language/text.h"
#include "app/gui/panels/widgets.h"

#include <QDir>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

namespace bubblescope::gui {

UnopenedPanel::UnopenedPanel(QWidget* parent) : QWidget(parent), why_(new QLabel(this)), paths_(new QLabel(this)) {
    setObjectName(QStringLiteral("unopenedPanel"));
    QFont bold = font();
    bold.setBold(true);
    why_->setFont(bold);
    why_->setObjectName(QStringLiteral("unopenedReason"));
    for (QLabel* const label : {why_, paths_}) {
        label->setTextFormat(Qt::PlainText);
        label->setWordWrap(true);
        label->setAlignment(Qt::AlignCenter);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    }
    auto* const row = new QHBoxLayout;
    row->addStretch(1);
    const auto add = [&](const char* name, const QString& text, void (UnopenedPanel::*wanted)()) {
        auto* const button = new QPushButton(text, this);
        button->setObjectName(QString::fromLatin1(name));
        connect(button, &QPushButton::clicked, this, wanted);
        row->addWidget(button);
    };
    add("locateFiles", tr("Locate files…"), &UnopenedPanel::locateFilesRequested);
    add("locateFolder", tr("Locate folder…"), &UnopenedPanel::locateFolderRequested);
    add("retryTrace", tr("Try again"), &UnopenedPanel::retryRequested);
    row->addStretch(1);
    auto* const column = spaced(new QVBoxLayout(this), {24, 12, 24, 12}, 12);
    column->addStretch(1);
    addAll(*column, {why_, paths_});
    column->addLayout(row);
    column->addStretch(1);
}

void UnopenedPanel::show(const QStringList& paths, const Error& why) {
    constexpr qsizetype kMostPaths = 8;
    QStringList lines;
    for (const QString& path : paths.first(std::min(paths.size(), kMostPaths)))
        lines << QDir::toNativeSeparators(path);
    if (paths.size() > kMostPaths) lines << tr("and %1 more").arg(paths.size() - kMostPaths);
    why_->setText(sentence(errorText(why)));
    paths_->setText(lines.join(QLatin1Char('\n')));
}

} // namespace bubblescope::gui
