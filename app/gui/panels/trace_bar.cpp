#include "app/gui/panels/trace_bar.h"

#include "app/gui/language/text.h"
#include "app/gui/panels/widgets.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QToolButton>

namespace bubblescope::gui {

TraceBar::TraceBar(ViewState& state, QWidget* parent)
    : QFrame(parent), state_(state), reason_(new ElidedLabel(this)), names_(new QToolButton(this)),
      schedule_(new QToolButton(this)) {
    setObjectName(QStringLiteral("traceBar"));
    setAutoFillBackground(true);
    reason_->setObjectName(QStringLiteral("traceReason"));
    reason_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    reason_->setFocusPolicy(Qt::TabFocus);
    reason_->installEventFilter(this);
    auto* row = spaced(new QHBoxLayout(this), {12, 3, 12, 3});
    row->addWidget(reason_, 1);
    const auto add = [&](QToolButton* button, const char* name, const QString& text, bool by_schedule) {
        button->setObjectName(QString::fromLatin1(name));
        button->setText(text);
        button->setAutoRaise(true);
        button->setFocusPolicy(Qt::TabFocus);
        QSizePolicy stays = button->sizePolicy(); // keeps the layout in place when the rest of a trace is loaded
        stays.setRetainSizeWhenHidden(true);
        button->setSizePolicy(stays);
        connect(button, &QToolButton::clicked, this, [this, by_schedule] { emit teachRequested(by_schedule); });
        row->addWidget(button);
    };
    add(names_, "teachNames", tr("Name ops…"), false);
    add(schedule_, "teachSchedule", tr("Specify the schedule…"), true);
    connect(&state_, &ViewState::sessionChanged, this, &TraceBar::refresh);
    refresh();
}

void TraceBar::refresh() {
    const SessionPtr& session = state_.session();
    setVisible(session && !session->hasSteps());
    if (!session || session->hasSteps()) return;
    const bool is_beginning = session->isBeginning();
    names_->setVisible(!is_beginning);
    schedule_->setVisible(!is_beginning);
    reason_->setCursor(is_beginning ? Qt::ArrowCursor : Qt::PointingHandCursor);
    QString text = tr("This is the beginning of the trace, as recorded. The rest is loading.");
    QString tip;
    if (!is_beginning) {
        const QString why = sentence(translatedText(session->no_pipeline->message));
        const auto problems = static_cast<int>(session->run.problems.size());
        const bool says_so = session->no_pipeline->message.starts_with("no pipeline");
        text = says_so ? why + QLatin1Char('.') : tr("No pipeline: %1").arg(why);
        if (problems > 0) text += QLatin1Char(' ') + tr("%Ln problem(s) while loading.", nullptr, problems);
        tip = QStringLiteral("<p>%1</p>").arg(sentence(errorText(*session->no_pipeline)).toHtmlEscaped());
    }
    reason_->setText(text);
    reason_->setAccessibleName(text);
    reason_->setToolTip(tip);
}

bool TraceBar::eventFilter(QObject* watched, QEvent* event) {
    const bool entered =
        event->type() == QEvent::KeyPress && (static_cast<QKeyEvent*>(event)->key() == Qt::Key_Return ||
                                              static_cast<QKeyEvent*>(event)->key() == Qt::Key_Enter);
    if (event->type() == QEvent::MouseButtonRelease || entered) {
        emit problemsRequested();
        return true;
    }
    return QFrame::eventFilter(watched, event);
}

} // namespace bubblescope::gui
