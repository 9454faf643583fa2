#include "app/gui/panels/summary_bar.h"

#include "app/gui/language/text.h"
#include "app/gui/models/anomaly_model.h"
#include "app/gui/models/item_text.h"
#include "app/gui/models/step_text.h"
#include "app/gui/panels/widgets.h"
#include "app/gui/timeline/role_fills.h"
#include "core/families/registry.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QPainter>
#include <QStringList>
#include <QVBoxLayout>

#include <algorithm>
#include <array>
#include <utility>

namespace bubblescope::gui {

namespace {

constexpr int kChip = 14;
constexpr int kShadedChip = 24; ///< width of a chip with shades
constexpr int kMaxBands = 4;
constexpr int kChipGap = 6;
constexpr int kEntryGap = 14;
constexpr std::size_t kMaxInALine = 3;

} // namespace

Legend::Legend(ThemeManager& themes, QWidget* parent) : QWidget(parent), themes_(themes) {
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    setAccessibleName(tr("Colours"));
    connect(&themes_, &ThemeManager::changed, this, qOverload<>(&QWidget::update));
}

void Legend::show(const Session* session) {
    const std::vector<Entry> before = std::exchange(entries_, {});
    const int chunks_before = chunks_;
    chunks_ = session != nullptr ? std::max(1, session->run.schedule.vpp) : 1;
    setToolTip(chunks_ > 1 ? tr("Shades of one colour: chunks 0 to %1.").arg(chunks_ - 1) : QString());
    std::array<bool, 5> used{};
    if (session != nullptr) {
        // All steps run the same kinds of ops.
        for (const auto& ops : session->run.steps.front().ranks) {
            for (const TimelineOp& op : ops)
                used[static_cast<std::size_t>(op.op.kind)] = true;
        }
        for (std::size_t i = 0; i < used.size(); ++i) {
            const auto kind = static_cast<OpKind>(i);
            if (used[i])
                entries_.push_back({roleOf(kind), opKindText(kind), QString(QChar::fromLatin1(opLetter(kind)))});
        }
        if (session->lanes.uses(LaneKind::Bubble)) entries_.push_back({Role::Bubble, tr("bubble"), tr("bubble")});
        if (session->lanes.uses(LaneKind::ReplicaWait))
            entries_.push_back({Role::ReplicaWait, tr("waiting for replicas"), tr("waiting")});
        if (session->lanes.uses(LaneKind::Check)) entries_.push_back({Role::Check, tr("check"), tr("check")});
    }
    if (entries_ == before && chunks_ == chunks_before) return;
    setShort(false);
    updateGeometry();
    update();
}

void Legend::setShort(bool on) {
    if (on == short_) return;
    short_ = on;
    QStringList lines;
    for (const Entry& entry : entries_) {
        if (on && entry.brief != entry.text) lines << QStringLiteral("%1: %2").arg(entry.brief, entry.text);
    }
    if (chunks_ > 1) lines << tr("Shades of one colour: chunks 0 to %1.").arg(chunks_ - 1);
    setToolTip(lines.join(QLatin1Char('\n')));
    updateGeometry();
    update();
}

int Legend::chipWidth(const Entry& entry) const {
    const bool shaded = chunks_ > 1 && entry.role != Role::Bubble && entry.role != Role::Optimizer &&
                        entry.role != Role::Check && entry.role != Role::ReplicaWait;
    return shaded ? kShadedChip : kChip;
}

int Legend::entryWidth(const Entry& entry) const {
    return chipWidth(entry) + kChipGap + fontMetrics().horizontalAdvance(textOf(entry));
}

std::size_t Legend::lines() const {
    return entries_.size() > kMaxInALine ? 2 : 1;
}

int Legend::lineHeight() const {
    return std::max(kChip, fontMetrics().height()) + 2;
}

int Legend::columnWidth(std::size_t column) const {
    int width = 0;
    for (std::size_t i = column * lines(); i < std::min(entries_.size(), (column + 1) * lines()); ++i)
        width = std::max(width, entryWidth(entries_[i]));
    return width;
}

QSize Legend::sizeHint() const {
    int width = 0;
    for (std::size_t column = 0; column * lines() < entries_.size(); ++column)
        width += columnWidth(column) + (column > 0 ? kEntryGap : 0);
    return {width, lineHeight() * static_cast<int>(lines())};
}

void Legend::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    draw(painter);
}

void Legend::draw(QPainter& painter) const {
    const Theme& theme = themes_.theme();
    int x = 0;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        const Entry& entry = entries_[i];
        const int top = lineHeight() * static_cast<int>(i % lines());
        const QRect chip(x, top + (lineHeight() - kChip) / 2, chipWidth(entry), kChip);
        if (entry.role == Role::Bubble) {
            fillHatched(painter, chip, theme, devicePixelRatioF());
        } else {
            // One band per chunk, as on the timeline, as long as there are few enough to distinguish.
            const bool chunked = chipWidth(entry) == kShadedChip;
            const int bands = chunked ? std::min(chunks_, kMaxBands) : 1;
            for (int band = 0; band < bands; ++band) {
                const int left = chip.width() * band / bands;
                const QRect part(chip.left() + left, chip.top(), chip.width() * (band + 1) / bands - left,
                                 chip.height());
                painter.fillRect(part, theme.fill(entry.role, band, bands));
            }
        }
        painter.setPen(theme.text_dim);
        painter.drawText(QRect(chip.right() + 1 + kChipGap, top, sizeHint().width(), lineHeight()),
                         Qt::AlignLeft | Qt::AlignVCenter, textOf(entry));
        if (i % lines() + 1 == lines()) x += columnWidth(i / lines()) + kEntryGap;
    }
}

namespace {

/// Indices of the figures, from left to right.
enum FigureIndex : std::size_t {
    ScheduleFigure,
    ShapeFigure,
    StepsFigure,
    WallFigure,
    RateFigure,
    TimesFigure,
    UseFigure,
    PacedFigure,
    FindingFigure,
    FigureCount
};

constexpr int kMinFindingWidth = 90; ///< pixels
constexpr int kMinBarWidth = 320;
/// The order in which items are hidden if there is not enough space.
constexpr std::array kLeast{PacedFigure, TimesFigure, StepsFigure, ShapeFigure, UseFigure, ScheduleFigure};

/// The title without long alternative names in brackets, and without short ones such as GPipe if more text follows.
QString familyTitle(const std::string& name, bool more = true) {
    constexpr qsizetype kShort = 24;
    const ScheduleFamily* family = findScheduleFamily(name);
    const QString title = fromUtf8(family == nullptr ? name : std::string(family->title));
    return !more && title.size() <= kShort ? title : title.section(QLatin1String(" ("), 0, 0);
}

} // namespace

SummaryBar::SummaryBar(ViewState& state, ThemeManager& themes, QWidget* parent)
    : QWidget(parent), state_(state), themes_(themes), legend_(new Legend(themes, this)) {
    setObjectName(QStringLiteral("summaryBar"));
    auto* row = spaced(new QHBoxLayout(this), {12, 7, 12, 7}, 24);
    for (std::size_t i = 0; i < FigureCount; ++i)
        figures_.push_back(addFigure(*row));
    figures_[FindingFigure].box->setObjectName(QStringLiteral("findingFigure"));
    figures_[FindingFigure].box->setCursor(Qt::PointingHandCursor);
    figures_[FindingFigure].box->installEventFilter(this);
    QFont link = figures_[FindingFigure].value->font();
    link.setUnderline(true);
    figures_[FindingFigure].value->setFont(link);
    // The only text of variable length. It uses the remaining space and never widens the window.
    figures_[FindingFigure].box->layout()->setAlignment(figures_[FindingFigure].value, {});
    figures_[FindingFigure].value->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    figures_[FindingFigure].value->setMinimumWidth(kMinFindingWidth);
    row->setStretchFactor(figures_[FindingFigure].box, 1);
    row->addStretch(0);
    row->addWidget(legend_, 0, Qt::AlignVCenter);

    connect(&state_, &ViewState::sessionChanged, this, [this] {
        legend_->show(state_.pipeline().get());
        refresh();
    });
    connect(&state_, &ViewState::stepChanged, this, [this] {
        if (shown_.lock() != state_.pipeline() || shown_step_ != state_.step()) refresh();
    });
    connect(&state_, &ViewState::modelChanged, this, &SummaryBar::refresh);
    connect(&themes_, &ThemeManager::changed, this, &SummaryBar::applyTheme);
    applyTheme();
    refresh();
}

/// Smaller than the content, because a long schedule name must not widen the window.
QSize SummaryBar::minimumSizeHint() const {
    return {kMinBarWidth, QWidget::minimumSizeHint().height()};
}

void SummaryBar::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fit();
}

void SummaryBar::fit() {
    for (std::size_t i = 0; i < FigureCount; ++i)
        figures_[i].box->setVisible(!(i == FindingFigure ? finding_ : figures_[i].value->text()).isEmpty());
    legend_->setShort(false);
    const auto wide = [this] {
        layout()->activate();
        return layout()->minimumSize().width() > width();
    };
    QStringList hidden;
    if (wide()) legend_->setShort(true);
    for (const FigureIndex index : kLeast) {
        const Figure& figure = figures_[index];
        if (figure.value->text().isEmpty() || !wide()) continue;
        hidden << QStringLiteral("%1: %2").arg(figure.name->text(), figure.value->text());
        figure.box->hide();
    }
    const QString more = (QStringList(schedule_) + hidden).join(QLatin1Char('\n'));
    figures_[ScheduleFigure].box->setToolTip(more);
    figures_[WallFigure].box->setToolTip(figures_[ScheduleFigure].box->isHidden() ? more : wall_);
    elideFinding();
}

SummaryBar::Figure SummaryBar::addFigure(QHBoxLayout& row) {
    Figure figure{new QLabel(this), new QLabel(this), new QWidget(this)};
    QFont small = font();
    small.setPointSizeF(small.pointSizeF() * 0.85);
    figure.name->setFont(small);
    QFont bold = font();
    bold.setBold(true);
    figure.value->setFont(bold);
    auto* column = spaced(new QVBoxLayout(figure.box), {0, 0, 0, 0}, 1);
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
    setVisible(state_.pipeline() != nullptr);
    shown_ = state_.pipeline();
    shown_step_ = state_.step();
    if (!state_.pipeline()) return;
    refreshSchedule(*state_.pipeline());
    refreshStep(*state_.pipeline());
    fit();
}

void SummaryBar::refreshSchedule(const Session& session) {
    const Run& run = session.run;
    const Schedule& schedule = run.schedule;
    QString name = familyTitle(schedule.name, !schedule.flavor.empty());
    QString explanation = tr("The schedule whose order the trace follows on each rank.");
    if (schedule.name == "custom" && !run.closest.empty()) {
        name = tr("similar to %1").arg(familyTitle(run.closest));
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
    schedule_ = explanation;
    const StepSelection& selection = session.report.selection;
    QString shape = QStringLiteral("%1 · %2 · %3").arg(schedule.pp).arg(schedule.microbatches).arg(schedule.vpp);
    // Data and tensor parallelism are shown if used.
    const auto replicas = static_cast<int>(std::max<std::size_t>(1, selection.replicas()));
    const int dp =
        std::max({replicas, run.info ? run.info->dp : 1, run.places ? run.places->sizes.at(MeshAxis::Data) : 1});
    const int tp = std::max(run.info ? run.info->tp : 1, run.places ? run.places->sizes.at(MeshAxis::Tensor) : 1);
    const bool wide = dp > 1 || tp > 1;
    if (wide) shape += QStringLiteral(" · %1 · %2").arg(dp).arg(tp);
    set(figures_[ShapeFigure], wide ? tr("p · m · v · dp · tp") : tr("p · m · v"), shape,
        wide ? tr("Pipeline ranks, micro-batches per step, chunks per rank, replicas of the pipeline (data "
                  "parallelism), ranks that share a layer (tensor parallelism).")
             : tr("Pipeline ranks, micro-batches per step, chunks per rank."));
    QString steps = QString::number(selection.steps().size());
    if (selection.replicas() > 1) steps = tr("%1 × %2 replicas").arg(steps).arg(selection.replicas());
    set(figures_[StepsFigure], tr("Step count"), steps, translated(selection.summary()));
    QString paced;
    if (run.info && run.info->source == "run") paced = run.info->paced ? tr("yes") : tr("no");
    set(figures_[PacedFigure], tr("Paced"), paced,
        tr("In a paced run, ops take their nominal times on an emulated device clock."));
    refreshFindings(session.report.anomalies);
}

/// Shows the first finding in a few words. The tooltip lists all findings.
void SummaryBar::refreshFindings(const std::vector<Anomaly>& anomalies) {
    QString shown;
    QStringList messages;
    for (const Anomaly& anomaly : anomalies) {
        messages << translated(say("{} {}", anomaly.message, anomaly.suggestion));
        if (!shown.isEmpty()) continue;
        shown = anomalyKindText(anomaly.kind);
        if (anomaly.rank) shown = tr("%1 on rank %2").arg(shown).arg(anomaly.rank->value);
        if (anomaly.replica && state_.pipeline()->lanes.replicas().size() > 1)
            shown = tr("%1, replica %2").arg(shown).arg(*anomaly.replica);
    }
    if (!anomalies.empty() && anomalies.front().cost > TimeNs{0})
        shown = tr("%1: %2").arg(shortTime(anomalies.front().cost), shown); // the end of the text is elided
    if (anomalies.size() > 1) shown = tr("%1; %2 more").arg(shown).arg(anomalies.size() - 1);
    finding_ = shown;
    set(figures_[FindingFigure], tr("Finding"), shown, messages.join(QStringLiteral("\n\n")));
    elideFinding();
}

void SummaryBar::refreshStep(const Session& session) {
    const StepAnalysis& analysis = session.analysis(state_.step());
    const int number = session.step(state_.step()).index;
    // Replicas run a step in parallel, so the slowest one determines its duration.
    TimeNs takes = analysis.wall;
    QString how = tr("Time from the start of the first op to the end of the last op on any rank: %1")
                      .arg(exactTime(analysis.wall));
    QStringList stated;
    for (const SelectedStep& step : session.report.selection.steps()) {
        if (step.index != number) continue;
        const StepValues values = session.valuesOf(step);
        if (values.loss) stated << tr("Loss: %1").arg(QLocale().toString(*values.loss, 'g', 5));
        if (values.tokens) stated << tr("Tokens: %1").arg(QLocale().toString(qlonglong{*values.tokens}));
        if (values.samples) stated << tr("Samples: %1").arg(QLocale().toString(qlonglong{*values.samples}));
        if (values.sequence_length)
            stated << tr("Longest sequence: %1").arg(QLocale().toString(qlonglong{*values.sequence_length}));
        if (step.timelines.size() < 2) continue;
        takes = step.time;
        how = tr("The slowest replica, %1, takes %2; the selected replica %3 takes %4.")
                  .arg(session.run.steps[step.longest].replica)
                  .arg(exactTime(step.time))
                  .arg(session.step(state_.step()).replica)
                  .arg(exactTime(analysis.wall));
    }
    wall_ = (QStringList(how) + stated).join(QLatin1Char('\n'));
    set(figures_[WallFigure], tr("Step %1 takes").arg(number), shortTime(takes), wall_);

    QString rate = percent(analysis.rates.over_makespan);
    QString explanation = tr("Share of all ranks' time spent idle in step %1.").arg(number);
    if (analysis.form) {
        rate = tr("%1 (closed form %2)").arg(rate, percent(analysis.form->bubble_rate));
        explanation += QLatin1Char('\n') + tr("In brackets: the closed form, bubble per rank %1.")
                                               .arg(translatedText(analysis.form->bubble_expression));
    } else if (!analysis.form_note.empty()) {
        explanation += QLatin1Char('\n') + tr("No closed form: %1.").arg(translatedText(analysis.form_note));
        if (analysis.at_least)
            explanation += QLatin1Char('\n') +
                           tr("With these op times, a step takes at least %1.").arg(exactTime(*analysis.at_least));
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
    // If backwards are split, both halves are shown instead of their sum.
    if (values.size() < 2 || analysis.typical.backward <= TimeNs{0}) {
        add("t_i", analysis.typical.input_grad);
        add("t_w", analysis.typical.weight_grad);
    }
    set(figures_[TimesFigure], names.join(QStringLiteral(" · ")), values.join(QStringLiteral(" · ")),
        tr("Typical (median) time of one op in step %1.").arg(number));
    const std::optional<ModelUse>& use = state_.modelUse();
    set(figures_[UseFigure], tr("MFU"), use ? percent(use->of(takes)) : QString(),
        use ? modelUseText(*use, takes) : QString());
}

QString SummaryBar::text() const {
    QStringList parts;
    for (std::size_t i = 0; i < figures_.size(); ++i) {
        const QString value = i == FindingFigure ? finding_ : figures_[i].value->text();
        if (!value.isEmpty()) parts << figures_[i].name->text() + QLatin1Char(' ') + value;
    }
    return parts.join(QStringLiteral(" | "));
}

void SummaryBar::applyTheme() {
    const Theme& theme = themes_.theme();
    for (const Figure& figure : figures_)
        figure.name->setPalette(theme.withText(theme.text_dim));
    figures_[FindingFigure].value->setPalette(theme.withText(theme.bad));
}

} // namespace bubblescope::gui
