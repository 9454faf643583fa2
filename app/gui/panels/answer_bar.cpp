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
#include <utility>

namespace bubblescope::gui {
namespace {

constexpr std::size_t kMostLines = 3;
constexpr const char* kVerdict = "verdict";

QString gainOf(const Statement& statement) {
    if (!statement.gain) return {};
    return tr("saves %1").arg(shortTime(*statement.gain));
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
    shown_.clear();
    hide();
}

void AnswerBar::show(const Answer& answer, const QString& figures) {
    shown_.clear();
    if (answer.statements.empty()) return hide();
    const auto add = [this](const Statement& statement, const QString& label, const QString& more) {
        const QString text = sentence(translated(statement.what));
        shown_.push_back({statement, label, more.isEmpty() ? text : text + QLatin1Char(' ') + more, gainOf(statement)});
    };
    for (const Statement* const statement : report::headline(answer)) {
        // Without a pipeline, this is the only text about the time of the devices.
        if (!isDoubt(*statement) && answer.step_time == TimeNs{0}) add(verdictOf(answer), tr("Verdict:"), figures);
        add(*statement, translated(report::labelOf(*statement)), {});
    }
    if (shown_.size() > kMostLines) shown_.resize(kMostLines);
    splitAction();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        const bool used = i < shown_.size();
        for (QLabel* const label : {rows_[i].label, rows_[i].text, rows_[i].gain})
            label->setVisible(used);
        if (!used) continue;
        rows_[i].label->setText(shown_[i].label);
        rows_[i].text->setText(shown_[i].text);
        rows_[i].text->setAccessibleName(shown_[i].text);
        rows_[i].text->setToolTip(explanationOf(answer, shown_[i].statement));
        rows_[i].gain->setText(shown_[i].gain);
        rows_[i].gain->setToolTip(rows_[i].text->toolTip());
    }
    applyTheme();
    setVisible(true);
}

bool AnswerBar::hasOwnAction(const std::vector<Shown>& shown) {
    const Statement& last = shown.back().statement;
    return shown.size() < kMostLines && last.concern != Concern::Fine && !last.action.empty();
}

/// Actions are on the same line as their statement. The last action has a separate line if there is space and the
/// action is required.
void AnswerBar::splitAction() {
    const auto action = [](const Shown& shown) { return sentence(translated(shown.statement.action)); };
    for (Shown& shown : shown_) {
        const bool separate = &shown == &shown_.back() && hasOwnAction(shown_);
        if (!separate && !shown.statement.action.empty()) shown.text += QLatin1Char(' ') + action(shown);
    }
    if (!hasOwnAction(shown_)) return;
    Shown own = shown_.back();
    own.label = tr("Action:");
    own.text = action(own);
    own.is_action = true;
    shown_.back().gain.clear(); // it is part of the action
    shown_.push_back(std::move(own));
}

QStringList AnswerBar::lines() const {
    QStringList all;
    for (const Shown& shown : shown_)
        all << shown.label + QLatin1Char(' ') + shown.text;
    return all;
}

bool AnswerBar::eventFilter(QObject* watched, QEvent* event) {
    const auto at = std::ranges::find(rows_, watched, &Line::text);
    const auto index = static_cast<std::size_t>(at - rows_.begin());
    if (index < shown_.size()) {
        const bool clicked = event->type() == QEvent::MouseButtonRelease;
        const bool entered =
            event->type() == QEvent::KeyPress && (static_cast<QKeyEvent*>(event)->key() == Qt::Key_Return ||
                                                  static_cast<QKeyEvent*>(event)->key() == Qt::Key_Enter);
        if (clicked || entered) {
            emit chosen(shown_[index].statement);
            return true;
        }
    }
    return QFrame::eventFilter(watched, event);
}

void AnswerBar::applyTheme() {
    const Theme& theme = themes_.theme();
    setPalette(theme.palette);
    for (std::size_t i = 0; i < shown_.size(); ++i) {
        const Statement& statement = shown_[i].statement;
        const bool is_bad = statement.severity != Severity::Notice && !shown_[i].is_action;
        rows_[i].label->setPalette(theme.withText(statement.concern == Concern::Fine ? theme.good
                                                  : is_bad                           ? theme.bad
                                                                                     : theme.text_dim));
        rows_[i].gain->setPalette(theme.withText(theme.text_dim));
        rows_[i].text->setPalette(theme.palette);
    }
}

} // namespace bubblescope::gui
