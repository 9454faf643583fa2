#include "app/gui/explorer/schedule_explorer.h"

#include "app/gui/charts/memory_chart.h"
#include "app/gui/language/text.h"
#include "app/gui/panels/bubble_panel.h"
#include "app/gui/panels/widgets.h"
#include "app/gui/timeline/timeline_view.h"
#include "core/families/registry.h"
#include "core/schedule/schedule_files.h"

#include <fmt/format.h>

#include <QComboBox>
#include <QDateTime>
#include <QDir>
#include <QDoubleSpinBox>
#include <QFile>
#include <QFileDialog>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QScopedValueRollback>
#include <QSpinBox>
#include <QSplitter>
#include <QTabWidget>
#include <QTableWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace bubblescope::gui {

namespace {

constexpr double kNsPerMs = 1e6;
constexpr int kNewsMs = 100;
constexpr TimeNs kSearchTime{std::chrono::seconds(60)};

TimeNs toTime(double ms) {
    return TimeNs{std::llround(ms * kNsPerMs)};
}

double toMs(TimeNs time) {
    return static_cast<double>(time.count()) / kNsPerMs;
}

} // namespace

ScheduleExplorer::ScheduleExplorer(ThemeManager& themes, QWidget* parent)
    : QWidget(parent, Qt::Window), themes_(themes) {
    setObjectName(QStringLiteral("scheduleExplorer"));
    setWindowTitle(tr("Schedule lab – Bubblescope"));
    resize(1240, 780);
    auto* splitter = new QSplitter(Qt::Horizontal, this);
    splitter->addWidget(buildForm());
    splitter->addWidget(buildViews());
    splitter->setStretchFactor(1, 1);
    splitter->setChildrenCollapsible(false);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(splitter);
    news_timer_.setInterval(kNewsMs);
    connect(&news_timer_, &QTimer::timeout, this, &ScheduleExplorer::showNews);
    fillFlavors();
    compute();
}

ScheduleExplorer::~ScheduleExplorer() {
    // The views use the members, which are destroyed before QObject deletes children.
    while (QWidget* child = findChild<QWidget*>(QString(), Qt::FindDirectChildrenOnly))
        delete child;
}

QWidget* ScheduleExplorer::buildForm() {
    auto* panel = new QWidget(this);
    auto* column = new QVBoxLayout(panel);
    column->setContentsMargins(12, 12, 12, 12);
    auto* form = new QFormLayout;
    schedule_ = ScheduleFields::addTo(*form, "explorer");
    limits_ = new QLabel(panel);
    limits_->setWordWrap(true);
    form->addRow(limits_);
    const FormFields fields{*form, [this] { compute(); }};
    pp_ = fields.count("explorerPp", tr("Ranks p"), 1, 512, 4);
    microbatches_ = fields.count("explorerMicrobatches", tr("Micro-batches m"), 1, 4096, 8);
    vpp_ = fields.count("explorerVpp", tr("Chunks per rank v"), 1, 64, 1);
    memory_limit_ = fields.count("explorerMemory", tr("Activations at most"), 0, 100000, 0);
    memory_limit_->setSpecialValueText(tr("as usual"));
    memory_limit_->setToolTip(tr("In forward ops of one chunk; only some families look at it"));
    forward_ = fields.time("explorerForward", tr("Forward"), 5);
    input_grad_ = fields.time("explorerInputGrad", tr("Backward, input"), 5);
    weight_grad_ = fields.time("explorerWeightGrad", tr("Backward, weights"), 5);
    comm_ = fields.time("explorerComm", tr("Transfer"), 0);
    column->addLayout(form);
    problem_ = new QLabel(panel);
    problem_->setObjectName(QStringLiteral("explorerProblem"));
    problem_->setTextFormat(Qt::PlainText);
    problem_->setWordWrap(true);
    problem_->hide();
    column->addWidget(problem_);
    search_ = new QPushButton(tr("&Search the shortest order"), panel);
    search_->setObjectName(QStringLiteral("explorerSearch"));
    gap_ = new QLabel(panel);
    gap_->setObjectName(QStringLiteral("explorerGap"));
    gap_->setTextFormat(Qt::PlainText);
    gap_->setWordWrap(true);
    gap_->hide();
    families_ = new QPushButton(tr("Compare all &families"), panel);
    families_->setObjectName(QStringLiteral("explorerFamilies"));
    run_ = new QPushButton(tr("&Run this order…"), panel);
    run_->setObjectName(QStringLiteral("explorerRun"));
    keep_ = new QPushButton(tr("Keep to compare"), panel);
    keep_->setObjectName(QStringLiteral("explorerKeep"));
    export_ = new QPushButton(tr("Export for PyTorch (CSV)…"), panel);
    export_->setObjectName(QStringLiteral("explorerExport"));
    column->addWidget(search_);
    column->addWidget(gap_);
    column->addWidget(families_);
    column->addWidget(keep_);
    column->addWidget(export_);
    column->addWidget(run_);
    connect(search_, &QPushButton::clicked, this, &ScheduleExplorer::toggleSearch);
    connect(families_, &QPushButton::clicked, this, &ScheduleExplorer::compareFamilies);
    connect(run_, &QPushButton::clicked, this, &ScheduleExplorer::sendToRun);
    column->addStretch(1);
    connect(schedule_.family, &QComboBox::currentIndexChanged, this, &ScheduleExplorer::fillFlavors);
    connect(schedule_.flavor, &QComboBox::currentIndexChanged, this, &ScheduleExplorer::compute);
    connect(keep_, &QPushButton::clicked, this, &ScheduleExplorer::keep);
    connect(export_, &QPushButton::clicked, this, &ScheduleExplorer::chooseFile);
    return panel;
}

QWidget* ScheduleExplorer::buildViews() {
    auto* views = new QWidget(this);
    auto* column = new QVBoxLayout(views);
    column->setContentsMargins(0, 8, 0, 0);
    headline_ = new QLabel(views);
    headline_->setObjectName(QStringLiteral("explorerHeadline"));
    headline_->setWordWrap(true);
    headline_->setContentsMargins(8, 0, 8, 0);
    timeline_ = new TimelineView(state_, themes_, views);
    memory_ = new MemoryChart(themes_, views);
    table_ = new QTableWidget(0, 6, views);
    table_->setObjectName(QStringLiteral("explorerTable"));
    table_->setAccessibleName(tr("Schedules compared"));
    table_->setHorizontalHeaderLabels({tr("Schedule"), tr("Step"), tr("Bubble rate"),
                                       tr("Closed form of a rank's bubble"), tr("Its value"), tr("Most activations")});
    table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
    styleTable(*table_);
    table_->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    table_->horizontalHeader()->setStretchLastSection(true);
    auto* tabs = new QTabWidget(views);
    tabs->setDocumentMode(true);
    tabs->addTab(memory_, tr("Memory"));
    tabs->addTab(new BubblePanel(state_, themes_, views), tr("Formulas"));
    tabs->addTab(table_, tr("Comparison"));
    auto* splitter = new QSplitter(Qt::Vertical, views);
    splitter->addWidget(timeline_);
    splitter->addWidget(tabs);
    splitter->setStretchFactor(0, 3);
    splitter->setStretchFactor(1, 2);
    column->addWidget(headline_);
    column->addWidget(splitter, 1);
    return views;
}

void ScheduleExplorer::fillFlavors() {
    const ScheduleFamily* const family = schedule_.chosen();
    if (family == nullptr) return;
    schedule_.offerFlavors();
    limits_->setText(tr("%1. Needs %2.")
                         .arg(translatedText(std::string(family->title)), translatedText(std::string(family->limits))));
    fitSizes();
    compute();
}

namespace {

/// `value` first, then the others from `low` to `high` by their distance.
std::vector<int> byDistance(int value, int low, int high) {
    std::vector<int> out{value};
    for (int other = low; other <= high; ++other) {
        if (other != value) out.push_back(other);
    }
    std::ranges::stable_sort(out, {}, [value](int other) { return std::abs(other - value); });
    return out;
}

/// The spec with sizes that the family takes: v is changed first, then m, then p. Nothing if none are near.
std::optional<ScheduleSpec> nearestSizes(ScheduleSpec spec) {
    constexpr int kMostChunks = 8;
    const int wanted_m = spec.microbatches;
    const int wanted_v = spec.vpp;
    for (const int p : byDistance(spec.pp, std::max(1, spec.pp - 1), spec.pp + 1)) {
        const auto multiple = [&](int of) { return (wanted_m + of - 1) / of * of; };
        for (const int m : {wanted_m, multiple(2), multiple(p), multiple(2 * p), 2 * p}) {
            for (const int v : byDistance(wanted_v, 1, kMostChunks)) {
                spec.pp = p;
                spec.microbatches = m;
                spec.vpp = v;
                if (makeSchedule(spec).ok()) return spec;
            }
        }
    }
    return std::nullopt;
}

} // namespace

void ScheduleExplorer::fitSizes() {
    if (filling_ || timeline_ == nullptr) return;
    const ScheduleSpec wanted = spec();
    if (makeSchedule(wanted).ok()) return;
    const std::optional<ScheduleSpec> near = nearestSizes(wanted);
    if (!near) return;
    QStringList changed;
    const auto set = [&](QSpinBox& box, const QString& name, int value) {
        if (box.value() == value) return;
        changed << QStringLiteral("%1 = %2").arg(name).arg(value);
        box.setValue(value);
    };
    const QScopedValueRollback quiet(filling_, true);
    set(*vpp_, tr("Chunks per rank v"), near->vpp);
    set(*microbatches_, tr("Micro-batches m"), near->microbatches);
    set(*pp_, tr("Ranks p"), near->pp);
    if (!changed.isEmpty()) limits_->setText(tr("%1 Changed for it: %2.").arg(limits_->text(), changed.join(tr(", "))));
}

ScheduleSpec ScheduleExplorer::spec() const {
    ScheduleSpec spec;
    spec.name = schedule_.family->currentText().toStdString();
    spec.flavor = schedule_.flavor->currentText().toStdString();
    spec.pp = pp_->value();
    spec.microbatches = microbatches_->value();
    spec.vpp = vpp_->value();
    spec.memory_limit = memory_limit_->value();
    spec.times.forward = toTime(forward_->value());
    spec.times.input_grad = toTime(input_grad_->value());
    spec.times.weight_grad = toTime(weight_grad_->value());
    spec.times.backward = spec.times.input_grad + spec.times.weight_grad;
    spec.comm = toTime(comm_->value());
    return spec;
}

void ScheduleExplorer::startFrom(const Session& session, int step) {
    const Schedule& schedule = session.run.schedule;
    const OpTimes& times = session.analysis(step).typical;
    filling_ = true;
    if (schedule_.family->findText(fromUtf8(schedule.name)) >= 0)
        schedule_.family->setCurrentText(fromUtf8(schedule.name));
    if (schedule_.flavor->findText(fromUtf8(schedule.flavor)) >= 0)
        schedule_.flavor->setCurrentText(fromUtf8(schedule.flavor));
    pp_->setValue(schedule.pp);
    microbatches_->setValue(schedule.microbatches);
    vpp_->setValue(schedule.vpp);
    forward_->setValue(toMs(times.forward));
    const bool halves = times.input_grad > TimeNs{0} && times.weight_grad > TimeNs{0};
    input_grad_->setValue(toMs(halves ? times.input_grad : times.backward / 2));
    weight_grad_->setValue(toMs(halves ? times.weight_grad : times.backward - times.backward / 2));
    filling_ = false;
    compute();
}

void ScheduleExplorer::compute() {
    if (filling_ || timeline_ == nullptr) return;
    endSearch(); // it was for other sizes or times
    job_.start([spec = spec()](JobControl& control) { return exploreSchedule(spec, control); },
               [this](Result<ExplorerResult> result) { finish(std::move(result)); });
}

void ScheduleExplorer::setProblem(const QString& text) {
    QPalette palette = themes_.theme().palette;
    palette.setColor(QPalette::WindowText, themes_.theme().bad);
    problem_->setPalette(palette);
    problem_->setText(text);
    problem_->setVisible(!text.isEmpty());
}

void ScheduleExplorer::finish(Result<ExplorerResult> result) {
    if (result.ok()) {
        setProblem({});
        showResult(std::move(result).value());
        emit computed();
        return;
    }
    // An old drawing next to new values would be read as their result.
    result_.reset();
    for (QPushButton* button : {keep_, export_, run_})
        button->setEnabled(false);
    state_.setSession(nullptr);
    memory_->setCurves({}, TimeNs{0}, 1);
    headline_->setText(tr("There is no such schedule"));
    headline_->setToolTip({});
    const Error& error = result.error();
    QString text = sentence(translatedText(error.message));
    if (!error.hint.empty()) text += QStringLiteral(". ") + sentence(translatedText(error.hint));
    setProblem(text + QLatin1Char('.'));
    emit computed();
}

void ScheduleExplorer::showResult(ExplorerResult result) {
    result_ = std::move(result);
    const StepAnalysis& analysis = result_->session->analysis(0);
    keep_->setEnabled(true);
    run_->setEnabled(true);
    export_->setEnabled(result_->no_csv.empty());
    headline_->setText(
        tr("A step takes %1, bubble rate %2; closed form of a rank's bubble: %3")
            .arg(exactTime(analysis.wall), percent(analysis.rates.over_makespan),
                 result_->form.bubble_expression.empty() ? tr("none") : fromUtf8(result_->form.bubble_expression)));
    headline_->setToolTip(translatedText(result_->form.domain + result_->form.note));
    export_->setToolTip(translatedText(result_->no_csv));
    state_.setSession(result_->session);
    memory_->setCurves(result_->memory, analysis.wall, static_cast<double>(result_->spec.sizes.forward));
    if (table_->rowCount() == 0) table_->insertRow(0);
    addRow(0, *result_);
}

void ScheduleExplorer::addRow(int row, const ExplorerResult& result) {
    const QStringList texts = facts(result);
    for (int column = 0; column < texts.size(); ++column)
        table_->setItem(row, column, new QTableWidgetItem(texts[column]));
}

// ---- Search --------------------------------------------------------------------------------------

void ScheduleExplorer::toggleSearch() {
    if (searching()) {
        enough_->store(true);
        search_->setEnabled(false); // until the round in progress is over
        return;
    }
    job_.cancel();
    news_ = std::make_shared<SearchNews>();
    enough_ = std::make_shared<std::atomic<bool>>(false);
    search_->setText(tr("&Stop the search"));
    gap_->setText(tr("Searching …"));
    gap_->show();
    setProblem({});
    news_timer_.start();
    search_job_.start(
        [spec = spec(), news = news_, enough = enough_](JobControl& control) {
            return searchBestOrder(
                spec, kSearchTime, *news, [enough] { return enough->load(); }, control);
        },
        [this](Result<SearchOutcome> outcome) { finishSearch(std::move(outcome)); });
}

namespace {

double gapOf(TimeNs makespan, TimeNs bound) {
    return bound > TimeNs{0} ? static_cast<double>((makespan - bound).count()) / static_cast<double>(bound.count()) : 0;
}

} // namespace

void ScheduleExplorer::showNews() {
    if (!news_) return;
    std::optional<SearchNews::State> state = news_->take();
    if (!state) return;
    gap_->setText(
        tr("Round %1: %2, %3 above what no order can beat (%4)")
            .arg(state->rounds)
            .arg(exactTime(state->makespan), percent(gapOf(state->makespan, state->bound)), exactTime(state->bound)));
    if (!state->better) return;
    showResult(*std::move(state->better));
    emit improved();
}

/// Cancels the running search and discards its result.
void ScheduleExplorer::endSearch() {
    search_job_.cancel();
    news_timer_.stop();
    news_.reset();
    enough_.reset();
    search_->setText(tr("&Search the shortest order"));
    search_->setEnabled(true);
    gap_->hide();
}

void ScheduleExplorer::finishSearch(Result<SearchOutcome> outcome) {
    endSearch();
    if (!outcome.ok()) {
        finish(outcome.error());
        emit searchEnded();
        return;
    }
    const FoundOrder& found = outcome.value().found;
    QString text = found.proven ? tr("%1: no order is shorter").arg(exactTime(found.makespan))
                                : tr("%1, %2 above what no order can beat (%3)")
                                      .arg(exactTime(found.makespan), percent(found.gap()), exactTime(found.bound));
    if (found.best_family) {
        QString name = fromUtf8(found.best_family->name);
        if (!found.best_family->flavor.empty()) name += QLatin1Char('/') + fromUtf8(found.best_family->flavor);
        const TimeNs change = found.makespan - found.best_family->makespan;
        text += QLatin1Char('\n') + tr("The best family, %1, takes %2 (%3)")
                                        .arg(name, exactTime(found.best_family->makespan), timeDelta(change));
    }
    gap_->setText(text);
    gap_->setToolTip(sentence(translated(found.reason)));
    gap_->show();
    showResult(std::move(outcome).value().result);
    emit searchEnded();
}

/// The comparison then lists the current schedule and all families that accept the sizes.
void ScheduleExplorer::compareFamilies() {
    families_->setEnabled(false);
    families_job_.start([spec = spec()](JobControl& control) { return exploreFamilies(spec, control); },
                        [this](Result<std::vector<ExplorerResult>> families) {
                            families_->setEnabled(true);
                            if (!families.ok()) return;
                            table_->setRowCount(result_ ? 1 : 0);
                            for (const ExplorerResult& family : families.value()) {
                                table_->insertRow(table_->rowCount());
                                addRow(table_->rowCount() - 1, family);
                            }
                            auto* tabs = findChild<QTabWidget*>();
                            tabs->setCurrentIndex(tabs->indexOf(table_));
                            emit computed();
                        });
}

void ScheduleExplorer::sendToRun() {
    if (!result_) return;
    const QString file =
        QDir::temp().filePath(QStringLiteral("bubblescope-order-%1.json")
                                  .arg(QDateTime::currentDateTime().toString(QStringLiteral("yyyyMMdd-HHmmss"))));
    const QByteArray text = QByteArray::fromStdString(scheduleToJson(result_->session->run.schedule));
    QFile out(file);
    if (!out.open(QIODevice::WriteOnly) || out.write(text) != text.size() || !out.flush())
        return setProblem(tr("The order could not be written to %1").arg(file));
    emit runRequested(file, result_->spec);
}

QStringList ScheduleExplorer::facts(const ExplorerResult& result) const {
    const StepAnalysis& analysis = result.session->analysis(0);
    QString name = result.spec.name == "search" ? tr("searched") : fromUtf8(result.spec.name);
    if (!result.spec.flavor.empty()) name += QLatin1Char('/') + fromUtf8(result.spec.flavor);
    TimeNs largest{0};
    for (const TimeNs bubble : result.form.bubble)
        largest = std::max(largest, bubble);
    return {tr("%1, p = %2, m = %3, v = %4")
                .arg(name)
                .arg(result.spec.pp)
                .arg(result.spec.microbatches)
                .arg(result.spec.vpp),
            exactTime(analysis.wall),
            percent(analysis.rates.over_makespan),
            fromUtf8(result.form.bubble_expression),
            result.form.bubble.empty() ? QString() : exactTime(largest),
            QLocale().toString(static_cast<double>(result.peak) / static_cast<double>(result.spec.sizes.forward))};
}

void ScheduleExplorer::keep() {
    if (!result_) return;
    table_->insertRow(1);
    addRow(1, *result_);
}

Status ScheduleExplorer::exportCsv(const QString& path) const {
    if (!result_ || result_->csv.empty())
        return usageError("there is no order to write", "choose sizes that the schedule takes");
    QFile file(path);
    const auto size = static_cast<qint64>(result_->csv.size());
    if (!file.open(QIODevice::WriteOnly) || file.write(result_->csv.data(), size) != size || !file.flush())
        return runError(fmt::format("cannot write {}", path.toStdString()),
                        "check that its directory exists and is writable");
    return {};
}

void ScheduleExplorer::chooseFile() {
    auto* dialog = new QFileDialog(this, tr("Export the order for PyTorch"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(QStringLiteral("csv"));
    connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
        const Status written = exportCsv(path);
        if (!written.ok()) setProblem(errorText(written.error()));
    });
    dialog->open();
}

} // namespace bubblescope::gui
