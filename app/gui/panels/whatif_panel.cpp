#include "app/gui/panels/whatif_panel.h"

#include "app/gui/charts/bar_chart.h"
#include "app/gui/language/text.h"
#include "app/gui/panels/advice_table.h"
#include "app/gui/panels/widgets.h"
#include "core/families/no_flush.h"
#include "core/families/registry.h"

#include <QCheckBox>
#include <QComboBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QSlider>
#include <QSpinBox>
#include <QSplitter>
#include <QStackedWidget>
#include <QVBoxLayout>

#include <algorithm>

namespace bubblescope::gui {

namespace {

constexpr int kChangeRole = Qt::UserRole; ///< role of a list item: the change in the syntax of `whatif --if`

enum Value : int { Usual, Steady, Faster, Slower };
enum BarPiece : int { Remains, Saved, Added };

QColor pieceOf(const Theme& theme, int piece) {
    return piece == Remains ? theme.fill(Role::Bubble) : piece == Saved ? theme.good : theme.bad;
}

/// Returns `known`, or creates a model if `known` belongs to another session.
Result<WhatIfModelPtr> modelOf(const SessionPtr& session, const WhatIfModelPtr& known) {
    if (known) return known;
    BUBBLESCOPE_ASSIGN(RunModel made,
                       runModel(session->run, session->report.selection, session->report.clocks.bound()));
    return WhatIfModelPtr(new WhatIfModel{session, std::move(made)});
}

} // namespace

WhatIfPanel::WhatIfPanel(ViewState& state, ThemeManager& themes, QWidget* parent)
    : QWidget(parent), state_(state), themes_(themes), fill_(new FillWhenVisible(*this, [this] { showSession(); })) {
    setObjectName(QStringLiteral("whatIfPanel"));
    auto* choices = new QWidget(this);
    auto* column = spaced(new QVBoxLayout(choices), {12, 8, 12, 8});
    buildChanges(*column);
    buildPipeline(*column);
    column->addStretch(1);
    auto* scroll = new QScrollArea(this);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setWidgetResizable(true);
    scroll->setWidget(choices);
    // The vertical scroll bar must not cause a horizontal one.
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setMinimumWidth(choices->minimumSizeHint().width() + scroll->verticalScrollBar()->sizeHint().width());
    auto* splitter = new QSplitter(Qt::Horizontal, this);
    addAll(*splitter, {scroll, buildResult()});
    splitter->setStretchFactor(1, 1);
    splitter->setChildrenCollapsible(false);
    auto* row = spaced(new QVBoxLayout(this), {0, 0, 0, 0});
    row->addWidget(splitter);

    connect(&state_, &ViewState::sessionChanged, this, [this] {
        job_.cancel();
        advice_job_.cancel();
        model_ = nullptr;
        answer_.reset(); // the answer belongs to another run, even if the hidden panel still shows it
        fill_->markStale();
    });
    connect(&state_, &ViewState::stepChanged, this, [this] {
        if (answer_ && !fill_->stale()) ask(); // the prediction is for the current step
    });
    connect(&state_, &ViewState::referenceChanged, this, [this] {
        if (!state_.reference() || state_.reference()->name != tr("what if")) reference_->setChecked(false);
    });
    showSession();
}

void WhatIfPanel::buildChanges(QVBoxLayout& column) {
    target_ = named(new QComboBox(this), "whatIfTarget", tr("What changes"));
    value_ = named(new QComboBox(this), "whatIfValue", tr("Type of change"));
    value_->addItems(
        {tr("takes as long as its peers"), tr("has constant times, without jitter"), tr("is faster"), tr("is slower")});
    // Long names must not use the space of the result.
    for (QComboBox* box : {target_, value_}) {
        box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
        box->setMinimumContentsLength(9);
    }
    slider_ = named(new QSlider(Qt::Horizontal, this), "whatIfShare", tr("Size of the change"));
    slider_->setRange(1, 99);
    slider_->setValue(20);
    slider_text_ = new QLabel(this);
    add_ = named(new QPushButton(tr("Add"), this), "whatIfAdd");
    add_->setToolTip(tr("Keep this change and add another"));
    list_ = named(new QListWidget(this), "whatIfChanges");
    list_->setAccessibleName(tr("Changes; press Delete to remove one"));
    list_->setFixedHeight(2 * fontMetrics().height() + 8); // two changes; more can be reached by scrolling
    list_->setToolTip(tr("Double-click a change to remove it"));

    auto* what = new QHBoxLayout;
    what->addWidget(new QLabel(tr("If"), this));
    what->addWidget(target_, 1);
    what->addWidget(value_, 2);
    column.addLayout(what);
    auto* slider_row = new QHBoxLayout;
    slider_row->addWidget(slider_, 1);
    addAll(*slider_row, {slider_text_, add_});
    column.addLayout(slider_row);
    column.addWidget(list_);

    connect(target_, &QComboBox::currentIndexChanged, this, &WhatIfPanel::ask);
    connect(value_, &QComboBox::currentIndexChanged, this, [this] {
        showSlider();
        ask();
    });
    connect(slider_, &QSlider::valueChanged, this, [this] {
        showSlider();
        ask();
    });
    connect(add_, &QPushButton::clicked, this, [this] {
        if (target_->currentIndex() == 0) return;
        addChange(currentChange());
        target_->setCurrentIndex(0);
    });
    connect(list_, &QListWidget::itemActivated, this, [this](QListWidgetItem* item) {
        delete item;
        list_->setVisible(list_->count() > 0);
        ask();
    });
}

void WhatIfPanel::buildPipeline(QVBoxLayout& column) {
    schedule_ = named(new QComboBox(this), "whatIfSchedule", tr("Schedule"));
    schedule_->addItem(tr("as run"));
    for (const ScheduleFamily& family : scheduleFamilies()) {
        if (trainsWithDelay(family.name)) continue;
        const QString name = fromUtf8(family.name);
        schedule_->addItem(name, name);
        for (std::size_t i = 1; i < family.flavors.size(); ++i) {
            const QString flavored = name + QLatin1Char('/') + fromUtf8(family.flavors[i]);
            schedule_->addItem(flavored, flavored);
        }
    }
    vpp_ = named(new QSpinBox(this), "whatIfVpp", tr("Chunks per rank"));
    vpp_->setRange(0, 16);
    vpp_->setSpecialValueText(tr("as run"));
    layers_ = named(new QLineEdit(this), "whatIfLayers", tr("Layers per stage, as run"));
    layers_->setPlaceholderText(tr("unknown; enter, for example, 9,9,9,5, or 9 for all stages"));
    advise_ = named(new QPushButton(tr("What would help most?"), this), "whatIfAdvise");
    advise_->setToolTip(tr("Tries all schedules with different numbers of chunks and micro-batches, and different "
                           "layer splits if the layers are known"));
    auto* form = new QFormLayout;
    form->addRow(tr("Schedule"), schedule_);
    form->addRow(tr("Chunks per rank"), vpp_);
    form->addRow(tr("Layers per stage"), layers_);
    form->addRow(advise_);
    column.addLayout(form);
    connect(schedule_, &QComboBox::currentIndexChanged, this, &WhatIfPanel::ask);
    connect(vpp_, &QSpinBox::valueChanged, this, &WhatIfPanel::ask);
    connect(layers_, &QLineEdit::editingFinished, this, &WhatIfPanel::ask);
    connect(layers_, &QLineEdit::textChanged, this, [this] { // suggestions were computed for other layers
        advice_job_.cancel();
        forgetAdvice();
    });
    connect(advise_, &QPushButton::clicked, this, [this] {
        removeChanges();
        showQuestion();
        if (advices_->rowCount() == 0) suggest();
    });
}

QWidget* WhatIfPanel::buildResult() {
    auto* result = new QWidget(this);
    auto* column = spaced(new QVBoxLayout(result), {0, 8, 0, 0});
    headline_ = named(new QLabel(result), "whatIfHeadline");
    QFont large = font();
    large.setPointSizeF(large.pointSizeF() * 1.25);
    large.setBold(true);
    headline_->setFont(large);
    headline_->setWordWrap(true);
    reference_ = named(new QCheckBox(tr("Show on the timeline"), result), "whatIfReference");
    note_ = named(new QLabel(result), "whatIfNote");
    note_->setWordWrap(true);
    chart_ = new BarChart(themes_, result);
    chart_->setAccessibleName(tr("Bubble of each rank, before and after"));
    chart_->setLook(pieceOf, [this](int bar, int) {
        const Prediction::RankBubble& rank = answer_->prediction.ranks[static_cast<std::size_t>(bar)];
        return tr("Bubble of rank %1: %2 now, %3 with the change")
            .arg(rank.rank.value)
            .arg(shortTime(rank.before), shortTime(rank.after));
    });
    auto* head = spaced(new QHBoxLayout, {12, 0, 12, 0});
    head->addWidget(headline_, 1);
    head->addWidget(reference_);
    column->addLayout(head);
    auto* notes = spaced(new QHBoxLayout, {12, 0, 12, 0});
    notes->addWidget(note_);
    column->addLayout(notes);
    auto* bubbles = new QWidget(result);
    QVBoxLayout* inner = tightColumn(*bubbles);
    key_ = named(new QLabel(bubbles), "whatIfKey");
    key_->setContentsMargins(12, 4, 12, 6);
    key_->setWordWrap(true);
    inner->addWidget(chart_, 1);
    inner->addWidget(key_);
    advices_ = new AdviceTable(result);
    shown_ = new QStackedWidget(result);
    addAll(*shown_, {advices_, bubbles});
    column->addWidget(shown_, 1);
    showKey();
    connect(&themes_, &ThemeManager::changed, this, &WhatIfPanel::showKey);
    connect(advices_, &AdviceTable::chosen, this, &WhatIfPanel::askFor);
    connect(reference_, &QCheckBox::toggled, this, &WhatIfPanel::showReference);
    return result;
}

void WhatIfPanel::showKey() {
    const Theme& theme = themes_.theme();
    key_->setText(colourKey({{pieceOf(theme, Remains), tr("bubble that remains")},
                             {pieceOf(theme, Saved), tr("bubble saved")},
                             {pieceOf(theme, Added), tr("bubble added")}}));
}

void WhatIfPanel::showSession() {
    forgetAdvice();
    list_->clear();
    list_->hide();
    fillTargets();
    showSlider();
    setEnabled(state_.pipeline() != nullptr);
    ask();
    // Opening the panel requests suggestions, but only once per run, although each live step creates a new session. If
    // the complete run was loaded later, the suggestions may be for its first steps.
    if (!state_.pipeline()) return;
    const bool is_live = std::holds_alternative<LatestSteps>(state_.pipeline()->report.covers);
    Advised shown{state_.pipeline()->run.files, is_live ? 0 : state_.pipeline()->stepCount()};
    if (shown == advised_for_) return;
    advised_for_ = std::move(shown);
    suggest();
}

void WhatIfPanel::fillTargets() {
    const QSignalBlocker quiet(target_);
    target_->clear();
    target_->addItem(tr("choose …"));
    if (!state_.pipeline()) return;
    const auto ranks = static_cast<int>(state_.pipeline()->lanes.rankCount());
    for (int rank = 0; rank < ranks; ++rank)
        target_->addItem(tr("rank %1").arg(rank), QStringLiteral("rank:%1").arg(rank));
    const int stages = state_.pipeline()->run.schedule.stages();
    for (int stage = 0; stages > ranks && stage < stages; ++stage)
        target_->addItem(tr("stage %1").arg(stage), QStringLiteral("stage:%1").arg(stage));
    for (int rank = 0; rank + 1 < ranks; ++rank)
        target_->addItem(tr("link %1 – %2").arg(rank).arg(rank + 1),
                         QStringLiteral("link:%1-%2").arg(rank).arg(rank + 1));
    target_->addItem(tr("all links"), QStringLiteral("links"));
    target_->addItem(tr("all ops"), QStringLiteral("compute"));
    target_->addItem(tr("all communication"), QStringLiteral("comm"));
}

void WhatIfPanel::showSlider() {
    const bool needed = value_->currentIndex() >= Faster;
    slider_->setVisible(needed);
    slider_text_->setVisible(needed);
    slider_text_->setText(tr("by %1 % of its time").arg(slider_->value()));
}

QString WhatIfPanel::currentChange() const {
    const QString target = target_->currentData().toString();
    switch (value_->currentIndex()) {
    case Usual: return target + QStringLiteral("=usual");
    case Steady: return target + QStringLiteral("=steady");
    case Faster: return target + QStringLiteral("=-%1%").arg(slider_->value());
    default: return target + QStringLiteral("=+%1%").arg(slider_->value());
    }
}

void WhatIfPanel::addChange(const QString& change) {
    auto* item = new QListWidgetItem(change);
    item->setData(kChangeRole, change);
    list_->addItem(item);
    list_->show();
    ask();
}

void WhatIfPanel::askFor(const QString& change) {
    fill_->fillNow(); // a delayed fill would discard the request
    removeChanges();
    addChange(change);
}

void WhatIfPanel::removeChanges() {
    list_->clear();
    list_->hide();
    const QSignalBlocker no_target(target_);
    const QSignalBlocker no_schedule(schedule_);
    const QSignalBlocker no_chunks(vpp_);
    target_->setCurrentIndex(0);
    schedule_->setCurrentIndex(0);
    vpp_->setValue(0);
}

std::vector<std::string> WhatIfPanel::changes() const {
    std::vector<std::string> out;
    for (int i = 0; i < list_->count(); ++i) {
        for (const QString& change : list_->item(i)->data(kChangeRole).toString().split(QLatin1Char(' ')))
            out.push_back(change.toStdString());
    }
    if (target_->currentIndex() > 0) out.push_back(currentChange().toStdString());
    if (schedule_->currentIndex() > 0) out.push_back("schedule=" + schedule_->currentData().toString().toStdString());
    if (vpp_->value() > 0) out.push_back("vpp=" + std::to_string(vpp_->value()));
    return out;
}

std::vector<int> WhatIfPanel::layers() const {
    if (layers_->text().isEmpty() && state_.pipeline()) return state_.pipeline()->run.explanation.layers;
    std::vector<int> out;
    for (const QString& number : layers_->text().split(QLatin1Char(','), Qt::SkipEmptyParts))
        out.push_back(number.trimmed().toInt());
    // A single number applies to all stages.
    if (out.size() == 1 && state_.pipeline())
        out.resize(static_cast<std::size_t>(state_.pipeline()->run.schedule.stages()), out.front());
    return out;
}

void WhatIfPanel::ask() {
    if (!state_.pipeline()) {
        headline_->clear();
        note_->clear();
        chart_->setBars({});
        return;
    }
    const std::vector<std::string> changes = this->changes();
    if (changes.empty()) return showQuestion();
    shown_->setCurrentIndex(1);
    job_.start(
        [session = state_.pipeline(), known = model_, changes, layers = layers(),
         step = state_.step()](JobControl& control) -> Result<Answer> {
            BUBBLESCOPE_ASSIGN(const Scenario scenario, parseScenario(changes));
            BUBBLESCOPE_ASSIGN(WhatIfModelPtr model, modelOf(session, known));
            if (control.stopRequested()) return cancelledError();
            BUBBLESCOPE_ASSIGN(ScenarioAnswer answer, answerScenario(model->model, session->run.schedule, scenario,
                                                                     ModelCut{layers}, session->step(step)));
            return Answer{std::move(model), std::move(answer)};
        },
        [this](Result<Answer> result) { finish(std::move(result)); });
}

/// Without a change, there are only suggestions.
void WhatIfPanel::showQuestion() {
    job_.cancel();
    answer_.reset();
    chart_->setBars({});
    reference_->setChecked(false);
    reference_->setEnabled(false);
    shown_->setCurrentIndex(0);
    headline_->setText(tr("What would help most"));
    note_->setText(tr(
        "Choose a suggestion or make your own change; the run is replayed with it. Times are for the typical step."));
}

void WhatIfPanel::finish(Result<Answer> result) {
    if (!result.ok()) {
        answer_.reset();
        headline_->setText(tr("No prediction"));
        note_->setText(sentence(errorText(result.error())));
        chart_->setBars({});
        reference_->setEnabled(false);
    } else {
        model_ = std::move(result.value().model);
        answer_ = std::move(result.value().answer);
        showNumbers(answer_->prediction);
        reference_->setEnabled(answer_->timeline.has_value());
        reference_->setToolTip(translatedText(answer_->no_timeline));
    }
    showReference();
    emit answered();
}

/// Text for the current step, which may differ a lot from the mean, especially at the start of a run.
QString WhatIfPanel::stepText() const {
    if (!answer_ || !answer_->timeline) return {};
    const StepTimeline& step = state_.pipeline()->step(state_.step());
    const TimeNs after = answer_->timeline->wall();
    return tr("Step %1 only: %2 → %3 (%4).")
        .arg(step.index)
        .arg(shortTime(step.wall()), shortTime(after), percentDelta(fractionOf(after - step.wall(), step.wall())));
}

void WhatIfPanel::showNumbers(const Prediction& prediction) {
    headline_->setText(tr("%1 → %2 per step (%3 ± %4)")
                           .arg(shortTime(prediction.step), shortTime(prediction.predicted()),
                                percentDelta(prediction.relativeChange()),
                                percent(fractionOf(prediction.bar.time, prediction.step))));
    QStringList notes;
    if (const QString step = stepText(); !step.isEmpty()) notes << step;
    if (prediction.schedule)
        notes << tr("The changed run would use %1 with v = %2.")
                     .arg(fromUtf8(prediction.schedule->name))
                     .arg(prediction.schedule->vpp);
    notes << tr("On steps not used for the fit, the replay is off by %1.").arg(percent(prediction.check.error()));
    note_->setText(notes.join(QLatin1Char(' ')));
    std::vector<Bar> bars;
    for (const Prediction::RankBubble& rank : prediction.ranks) {
        const TimeNs change = rank.after - rank.before;
        Bar bar{tr("Rank %1").arg(rank.rank.value), {{Remains, std::min(rank.before, rank.after)}}};
        if (change != TimeNs{0}) bar.parts.push_back({change < TimeNs{0} ? Saved : Added, std::chrono::abs(change)});
        bars.push_back(std::move(bar));
    }
    chart_->setBars(std::move(bars));
}

void WhatIfPanel::showReference() {
    const bool mine = state_.reference() && state_.reference()->name == tr("what if");
    if (!reference_->isChecked() || !answer_ || !answer_->timeline) {
        if (mine) state_.setReference(nullptr);
        return;
    }
    state_.setReference(std::make_shared<const ReferenceOverlay>(
        ReferenceOverlay::make(tr("what if"), headline_->text(), state_.step(), *answer_->timeline,
                               state_.pipeline()->window(state_.step()).begin)));
}

void WhatIfPanel::suggest() {
    if (!state_.pipeline()) return;
    advise_->setEnabled(false);
    advise_->setText(tr("Trying schedules …"));
    advice_job_.start(
        [session = state_.pipeline(), model = model_, layers = layers()](JobControl& control) -> Result<Advice> {
            BUBBLESCOPE_ASSIGN(const WhatIfModelPtr used, modelOf(session, model));
            return advise(used->model, session->run.schedule, ModelCut{layers}, {}, {}, control);
        },
        [this](Result<Advice> advice) { showAdvice(std::move(advice)); });
}

void WhatIfPanel::showAdvice(Result<Advice> advice) {
    forgetAdvice();
    if (!advice.ok()) {
        note_->setText(sentence(errorText(advice.error())));
    } else if (advice.value().suggestions.empty()) {
        note_->setText(
            tr("Tried %Ln order(s); none saves 0.5 % or more.", nullptr, static_cast<int>(advice.value().tried)));
    } else {
        advices_->show(advice.value(), state_.pipeline()->run.schedule.vpp);
    }
    emit advised();
}

void WhatIfPanel::forgetAdvice() {
    advices_->clear();
    advise_->setEnabled(true);
    advise_->setText(tr("What would help most?"));
}

} // namespace bubblescope::gui
