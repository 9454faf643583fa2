#include "app/gui/panels/welcome_panel.h"

#include "app/gui/recent_files.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLayoutItem>
#include <QPushButton>
#include <QVBoxLayout>

namespace bubblescope::gui {

WelcomePanel::WelcomePanel(QWidget* parent)
    : QWidget(parent), recent_title_(new QLabel(tr("Opened lately"), this)), recent_(new QVBoxLayout) {
    setObjectName(QStringLiteral("welcomePanel"));
    auto* title = new QLabel(tr("Drop a trace here"), this);
    QFont large = font();
    large.setPointSizeF(large.pointSizeF() * 1.8);
    title->setFont(large);
    auto* hint = new QLabel(
        tr("Bubblescope's own traces, Megatron, PyTorch and Chrome JSON files, or a directory of them."), this);
    auto* files = new QPushButton(tr("Open files…"), this);
    files->setDefault(true);
    auto* directory = new QPushButton(tr("Open directory…"), this);
    auto* watch = new QPushButton(tr("Watch a run…"), this);
    auto* run = new QPushButton(tr("Run a schedule…"), this);
    for (QPushButton* button : {files, directory, watch, run})
        button->setMinimumSize(130, 30);
    connect(files, &QPushButton::clicked, this, &WelcomePanel::openFilesRequested);
    connect(directory, &QPushButton::clicked, this, &WelcomePanel::openDirectoryRequested);
    connect(watch, &QPushButton::clicked, this, &WelcomePanel::watchRequested);
    connect(run, &QPushButton::clicked, this, &WelcomePanel::runRequested);

    auto* buttons = new QHBoxLayout;
    buttons->addStretch(1);
    buttons->addWidget(files);
    buttons->addWidget(directory);
    buttons->addWidget(watch);
    buttons->addWidget(run);
    buttons->addStretch(1);
    recent_->setSpacing(2);

    auto* column = new QVBoxLayout(this);
    column->setSpacing(12);
    column->addStretch(2);
    column->addWidget(title, 0, Qt::AlignHCenter);
    column->addWidget(hint, 0, Qt::AlignHCenter);
    column->addSpacing(4);
    column->addLayout(buttons);
    column->addSpacing(16);
    column->addWidget(recent_title_, 0, Qt::AlignHCenter);
    column->addLayout(recent_);
    column->addStretch(3);
    setRecent({});
}

void WelcomePanel::setRecent(const QList<QStringList>& recent) {
    while (QLayoutItem* item = recent_->takeAt(0)) {
        // A click on the button itself may have led here.
        item->widget()->deleteLater();
        delete item;
    }
    recent_title_->setVisible(!recent.isEmpty());
    for (const QStringList& paths : recent) {
        auto* button = new QPushButton(recentText(paths), this);
        button->setFlat(true);
        button->setToolTip(paths.join(QLatin1Char('\n')));
        connect(button, &QPushButton::clicked, this, [this, paths] { emit recentChosen(paths); });
        recent_->addWidget(button, 0, Qt::AlignHCenter);
    }
}

} // namespace bubblescope::gui
