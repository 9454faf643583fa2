#include "app/gui/panels/summary_bar.h"

#include "app/gui/language/format.h"
#include "app/gui/language/sentence_text.h"
#include "app/gui/models/anomaly_model.h"
#include "app/gui/models/item_text.h"
#include "app/gui/panels/legend.h"
#include "app/gui/panels/steady_text.h"
#include "core/schedule/families/registry.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QStringList>
#include <QVBoxLayout>

namespace bubblescope::gui {

namespace {

/// Order of the figures from left to right.
enum FigureIndex : std::size_t {
    ScheduleFigure,
    ShapeFigure,
    StepsFigure,
    WallFigure,
    RateFigure,
    TimesFigure,
    PacedFigure,
    FindingFigure,
    FigureCount
};

constexpr int kLeastFinding = 90; ///< pixels

/// The title without its other names in brackets.
QString familyTitle(const std::string& name) {
    const ScheduleFamily* family = findScheduleFamily(name);
    return family == nullptr ? fromUtf8(name) : fromUtf8(std::string(family->title)).section(QLatin1String(" ("), 0, 0);
}

} // namespace

SummaryBar::SummaryBar(ViewState& state, ThemeManager& themes, QWidget* parent)
    : QWidget(parent), state_(state), themes_(themes), legend_(new Legend(themes, this)) {
    setObjectName(QStringLiteral("summaryBar"));
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(12, 7, 12, 7);
    row->setSpacing(24);
    for (std::size_t i = 0; i < FigureCount; ++i)
        figures_.push_back(addFigure(*row));
    figures_[FindingFigure].box->setObjectName(QStringLiteral("findingFigure"));
    figures_[FindingFigure].box->setCursor(Qt::PointingHandCursor);
    figures_[FindingFigure].box->installEventFilter(this);
    // The one text of any length: it takes what room there is, and widens no window.
    figures_[FindingFigure].box->layout()->setAlignment(figures_[FindingFigure].value, {});
    figures_[FindingFigure].value->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    figures_[FindingFigure].value->setMinimumWidth(kLeastFinding);
    row->setStretchFactor(figures_[FindingFigure].box, 1);
    row->addStretch(0);
    row->addWidget(legend_, 0, Qt::AlignVCenter);

    connect(&state_, &ViewState::sessionChanged, this, [this] {
        legend_->show(state_.session().get());
        refresh();
    });
    connect(&state_, &ViewState::stepChanged, this, [this] {
        if (shown_.lock() != state_.session() || shown_step_ != state_.step()) refresh();
    });
    connect(&themes_, &ThemeManager::changed, this, &SummaryBar::applyTheme);
    applyTheme();
    refresh();
}

SummaryBar::Figure SummaryBar::addFigure(QHBoxLayout& row) {
    Figure figure{new QLabel(this), new QLabel(this), new QWidget(this)};
    QFont small = font();
    small.setPointSizeF(small.pointSizeF() * 0.85);
    figure.name->setFont(small);
    QFont bold = font();
    bold.setBold(true);
    figure.value->setFont(bold);
    auto* column = new QVBoxLayout(figure.box);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(1);
    column->addWidget(figure.name, 0, Qt::AlignLeft);
    column->addWidget(figure.value, 0, Qt::AlignLeft);
    row.addWidget(figure.box);
    return figure;
}

bool SummaryBar::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::MouseButtonRelease) emit findingChosen();
    if (event->type() == QEvent::Resize) elideFinding();
    return QWidget::eventFilter(watched, event);
}

void SummaryBar::elideFinding() {
    const Figure& figure = figures_[FindingFigure];
    figure.value->setText(figure.value->fontMetrics().elidedText(finding_, Qt::ElideRight, figure.box->width()));
}

void SummaryBar::set(const Figure& figure, const QString& name, const QString& value, const QString& explanation) {
    setSteadyText(*figure.name, name);
    if (&figure == &figures_[FindingFigure]) {
        figure.value->setText(value);
    } else {
        setSteadyText(*figure.value, value);
    }
    figure.box->setToolTip(explanation);
    figure.box->setVisible(!value.isEmpty());
}

void SummaryBar::refresh() {
    setVisible(state_.session() != nullptr);
    shown_ = state_.session();
    shown_step_ = state_.step();
    if (!state_.session()) return;
    refreshSchedule(*state_.session());
    refreshStep(*state_.session());
}

void SummaryBar::refreshSchedule(const Session& session) {
    const Run& run = session.run;
    const Schedule& schedule = run.schedule;
    QString name = familyTitle(schedule.name);
    QString explanation = tr("The schedule whose order the trace follows, rank by rank.");
    if (schedule.name == "custom" && !run.closest.empty()) {
        name = tr("like %1").arg(familyTitle(run.closest));
        explanation = tr("No known schedule has exactly this order; %1 is the closest.").arg(fromUtf8(run.closest));
        if (run.departure)
            explanation += QLatin1Char('\n') + tr("First difference on rank %1: %2 where %3 was expected.")
                                                   .arg(run.departure->rank.value)
                                                   .arg(fromUtf8(opName(run.departure->observed)),
                                                        fromUtf8(opName(run.departure->expected)));
    } else if (!schedule.flavor.empty()) {
        name = QStringLiteral("%1 (%2)").arg(name, fromUtf8(schedule.flavor));
    }
    set(figures_[ScheduleFigure], tr("Schedule"), name, explanation);
    set(figures_[ShapeFigure], tr("p · m · v"),
        QStringLiteral("%1 · %2 · %3").arg(schedule.pp).arg(schedule.microbatches).arg(schedule.vpp),
        tr("Pipeline ranks, micro-batches in a step, chunks per rank."));
    set(figures_[StepsFigure], tr("Steps"), QString::number(session.stepCount()));
    QString paced;
    if (run.info && run.info->source == "run") paced = run.info->paced ? tr("yes") : tr("no");
    set(figures_[PacedFigure], tr("Paced"), paced,
        tr("Whether ops were held to nominal times on an emulated device clock."));
    refreshFindings(session.report.anomalies);
}

/// The first finding in a few words; the tooltip tells all of them in full.
void SummaryBar::refreshFindings(const std::vector<Anomaly>& anomalies) {
    QString shown;
    QStringList messages;
    for (const Anomaly& anomaly : anomalies) {
        messages << translated(say("{} {}", anomaly.message, anomaly.suggestion));
        if (!shown.isEmpty()) continue;
        shown = anomalyKindText(anomaly.kind);
        if (anomaly.rank) shown = tr("%1 on rank %2").arg(shown).arg(anomaly.rank->value);
    }
    if (anomalies.size() > 1) shown = tr("%1 and %2 more").arg(shown).arg(anomalies.size() - 1);
    finding_ = shown;
    set(figures_[FindingFigure], tr("Finding"), shown, messages.join(QStringLiteral("\n\n")));
    elideFinding();
}

void SummaryBar::refreshStep(const Session& session) {
    const StepAnalysis& analysis = session.analysis(state_.step());
    const int number = session.step(state_.step()).index;
    set(figures_[WallFigure], tr("Step %1 takes").arg(number), shortTime(analysis.wall),
        tr("From the first op's start to the last one's end on any rank: %1").arg(exactTime(analysis.wall)));

    QString rate = percent(analysis.rates.over_makespan);
    QString explanation = tr("Idle time over all ranks' time in step %1.").arg(number);
    if (analysis.form) {
        rate = tr("%1 (form %2)").arg(rate, percent(analysis.form->bubble_rate));
        explanation +=
            QLatin1Char('\n') +
            tr("In brackets: the closed form, bubble per rank %1.").arg(fromUtf8(analysis.form->bubble_expression));
    } else if (!analysis.form_note.empty()) {
        explanation += QLatin1Char('\n') + tr("No closed form: %1.").arg(translatedText(analysis.form_note));
        if (analysis.at_least)
            explanation += QLatin1Char('\n') +
                           tr("At these op times the step takes at least %1.").arg(exactTime(*analysis.at_least));
    }
    set(figures_[RateFigure], tr("Bubble rate"), rate, explanation);

    QStringList names;
    QStringList values;
    const auto add = [&](const char* name, TimeNs time) {
        if (time <= TimeNs{0}) return;
        names << QString::fromUtf8(name);
        values << shortTime(time);
    };
    add("t_f", analysis.typical.forward);
    add("t_b", analysis.typical.backward);
    // Where backwards are split, both halves are shown; a whole backward would only repeat their sum.
    if (values.size() < 2 || analysis.typical.backward <= TimeNs{0}) {
        add("t_i", analysis.typical.input_grad);
        add("t_w", analysis.typical.weight_grad);
    }
    set(figures_[TimesFigure], names.join(QStringLiteral(" · ")), values.join(QStringLiteral(" · ")),
        tr("Typical (median) time of one op in step %1.").arg(number));
}

QString SummaryBar::text() const {
    QStringList parts;
    for (std::size_t i = 0; i < figures_.size(); ++i)
        parts << figures_[i].name->text() + QLatin1Char(' ') +
                     (i == FindingFigure ? finding_ : figures_[i].value->text());
    return parts.join(QStringLiteral(" | "));
}

void SummaryBar::applyTheme() {
    QPalette dim = themes_.theme().palette;
    dim.setColor(QPalette::WindowText, themes_.theme().text_dim);
    for (const Figure& figure : figures_)
        figure.name->setPalette(dim);
    QPalette bad = themes_.theme().palette;
    bad.setColor(QPalette::WindowText, themes_.theme().bad);
    figures_[FindingFigure].value->setPalette(bad);
}

} // namespace bubblescope::gui
