#include "app/gui/panels/message_bar.h"

#include "app/gui/language/format.h"
#include "app/gui/language/sentence_text.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QStringList>
#include <QStyle>
#include <QToolButton>

namespace bubblescope::gui {

namespace {

/// Core's messages start in lower case, since on the command line something precedes them.
QString asSentence(const std::string& message) {
    return sentence(translatedText(message));
}

} // namespace

MessageBar::MessageBar(QWidget* parent) : QFrame(parent), what_(new QLabel(this)), details_(new QLabel(this)) {
    setObjectName(QStringLiteral("messageBar"));
    setFrameShape(QFrame::NoFrame);
    setAutoFillBackground(true);
    setVisible(false);

    auto* icon = new QLabel(this);
    icon->setPixmap(style()->standardIcon(QStyle::SP_MessageBoxWarning).pixmap(22, 22));
    auto* close = new QToolButton(this);
    close->setText(tr("Close"));
    close->setAutoRaise(true);
    connect(close, &QToolButton::clicked, this, &QWidget::hide);

    QFont bold = font();
    bold.setBold(true);
    what_->setFont(bold);
    for (QLabel* label : {what_, details_}) {
        // File names and messages come from outside and are never markup.
        label->setTextFormat(Qt::PlainText);
        label->setWordWrap(true);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    }

    auto* texts = new QVBoxLayout;
    texts->setSpacing(2);
    texts->addWidget(what_);
    texts->addWidget(details_);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(12, 8, 8, 8);
    row->setSpacing(12);
    row->addWidget(icon, 0, Qt::AlignTop);
    row->addLayout(texts, 1);
    row->addWidget(close, 0, Qt::AlignTop);
}

void MessageBar::showError(const Error& error) {
    what_->setText(asSentence(error.message));
    QStringList details;
    if (!error.where.empty()) details << fromUtf8(error.where);
    if (!error.hint.empty()) details << asSentence(error.hint);
    details_->setText(details.join(QLatin1Char('\n')));
    details_->setVisible(!details.isEmpty());
    show();
}

QString MessageBar::text() const {
    return what_->text() + QLatin1Char('\n') + details_->text();
}

void MessageBar::setTheme(const Theme& theme) {
    QPalette colours = theme.palette;
    colours.setColor(QPalette::Window, theme.message);
    setPalette(colours);
}

} // namespace bubblescope::gui
