#include "app/gui/panels/answer_bar.h"

#include "app/gui/language/text.h"
#include "app/gui/panels/widgets.h"
#include "core/report/results/answer.h"

#include <QEvent>
#include <QGridLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QMouseEvent>
#include <QStringList>

#include <algorithm>

namespace bubblescope::gui {
namespace {

constexpr std::size_t kMostLines = 3;
constexpr const char* kVerdict = "verdict";

QString gainOf(const Statement& statement) {
    if (!statement.gain) return {};
    return AnswerBar::tr("saves %1").arg(shortTime(*statement.gain));
}

Statement verdictOf(const Answer& answer) {
    Statement verdict;
    verdict.kind = kVerdict;
    verdict.what = answer.state;
    return verdict;
}

/// The full text of a statement, in paragraphs.
QString explanationOf(const Answer& answer, const Statement& statement) {
    QString html;
    const auto add = [&html](const Sentence& text) {
        if (!text.empty()) html += QStringLiteral("<p>%1</p>").arg(sentence(translated(text)).toHtmlEscaped());
    };
    add(statement.what);
    add(report::gainText(answer, statement));
    add(statement.action);
    add(statement.certainty);
    return html;
}

} // namespace

AnswerBar::AnswerBar(ThemeManager& themes, QWidget* parent)
    : QFrame(parent), themes_(themes), grid_(new QGridLayout(this)) {
    setObjectName(QStringLiteral("answerBar"));
    setAutoFillBackground(true);
    grid_->setContentsMargins(12, 4, 12, 4);
    grid_->setHorizontalSpacing(8);
    grid_->setVerticalSpacing(1);
    grid_->setColumnStretch(1, 1);
    for (std::size_t i = 0; i < kMostLines; ++i) {
        const Line line{new QLabel(this), new ElidedLabel(this), new QLabel(this)};
        line.text->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
        line.text->setCursor(Qt::PointingHandCursor);
        line.text->setFocusPolicy(Qt::TabFocus);
        line.text->setObjectName(QStringLiteral("answer%1").arg(i));
        line.text->installEventFilter(this);
        const int row = static_cast<int>(i);
        grid_->addWidget(line.label, row, 0);
        grid_->addWidget(line.text, row, 1);
        grid_->addWidget(line.gain, row, 2);
        rows_.push_back(line);
    }
    connect(&themes_, &ThemeManager::changed, this, &AnswerBar::applyTheme);
    clear();
}

void AnswerBar::clear() {
    statements_.clear();
    hide();
}

void AnswerBar::show(const Answer& answer) {
    statements_.clear();
    if (answer.statements.empty()) return hide();
    for (const Statement* const statement : report::headline(answer)) {
        // Without a pipeline, this is the only text about the devices' time.
        if (!isDoubt(*statement) && answer.step_time == TimeNs{0}) statements_.push_back(verdictOf(answer));
        statements_.push_back(*statement);
    }
    if (statements_.size() > kMostLines) statements_.resize(kMostLines);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        const bool used = i < statements_.size();
        for (QLabel* const label : {rows_[i].label, rows_[i].text, rows_[i].gain})
            label->setVisible(used);
        if (!used) continue;
        const Statement& statement = statements_[i];
        QString text = sentence(translated(statement.what));
        if (!statement.action.empty()) text += QLatin1Char(' ') + sentence(translated(statement.action));
        rows_[i].label->setText(statement.kind == kVerdict ? tr("Verdict:") : translated(report::labelOf(statement)));
        rows_[i].text->setText(text);
        rows_[i].text->setAccessibleName(text);
        rows_[i].text->setToolTip(explanationOf(answer, statement));
        rows_[i].gain->setText(gainOf(statement));
        rows_[i].gain->setToolTip(rows_[i].text->toolTip());
    }
    applyTheme();
    setVisible(true);
}

QStringList AnswerBar::lines() const {
    QStringList all;
    for (std::size_t i = 0; i < statements_.size(); ++i)
        all << rows_[i].label->text() + QLatin1Char(' ') + rows_[i].text->text();
    return all;
}

bool AnswerBar::eventFilter(QObject* watched, QEvent* event) {
    const auto at = std::ranges::find(rows_, watched, &Line::text);
    const auto index = static_cast<std::size_t>(at - rows_.begin());
    if (index < statements_.size()) {
        const bool clicked = event->type() == QEvent::MouseButtonRelease;
        const bool entered =
            event->type() == QEvent::KeyPress && (static_cast<QKeyEvent*>(event)->key() == Qt::Key_Return ||
                                                  static_cast<QKeyEvent*>(event)->key() == Qt::Key_Enter);
        if (clicked || entered) {
            emit chosen(statements_[index]);
            return true;
        }
    }
    return QFrame::eventFilter(watched, event);
}

void AnswerBar::applyTheme() {
    const Theme& theme = themes_.theme();
    setPalette(theme.palette);
    for (std::size_t i = 0; i < statements_.size(); ++i) {
        const Statement& statement = statements_[i];
        QPalette palette = theme.palette;
        const bool is_bad = statement.severity != Severity::Notice;
        palette.setColor(QPalette::WindowText, statement.concern == Concern::Fine ? theme.good
                                               : is_bad                           ? theme.bad
                                                                                  : theme.text_dim);
        rows_[i].label->setPalette(palette);
        QPalette dim = theme.palette;
        dim.setColor(QPalette::WindowText, theme.text_dim);
        rows_[i].gain->setPalette(dim);
        rows_[i].text->setPalette(theme.palette);
    }
}

} // namespace bubblescope::gui
