#include "app/gui/explorer/schedule_explorer.h"

#include "app/gui/charts/memory_chart.h"
#include "app/gui/explorer/comparison_table.h"
#include "app/gui/language/text.h"
#include "app/gui/panels/bubble_panel.h"
#include "app/gui/panels/file_dialogs.h"
#include "app/gui/panels/summary_bar.h"
#include "app/gui/panels/widgets.h"
#include "app/gui/timeline/timeline_view.h"
#include "core/formats/source/replacing_file.h"
#include "core/schedule/schedule_files.h"

#include <fmt/format.h>

#include <QDateTime>
#include <QDir>
#include <QLabel>
#include <QPushButton>
#include <QSplitter>
#include <QTabWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace bubblescope::gui {

namespace {

constexpr int kNewsMs = 100;
constexpr TimeNs kSearchTime{std::chrono::seconds(60)};

} // namespace

ScheduleExplorer::ScheduleExplorer(ThemeManager& themes, QWidget* parent)
    : QWidget(parent, Qt::Window), themes_(themes) {
    setObjectName(QStringLiteral("scheduleExplorer"));
    setWindowTitle(tr("Schedule lab – Bubblescope"));
    resize(1240, 780);
    table_ = new ComparisonTable(themes_, this);
    auto* splitter = new QSplitter(Qt::Horizontal, this);
    addAll(*splitter, {buildForm(), buildViews()});
    splitter->setStretchFactor(1, 1);
    splitter->setChildrenCollapsible(false);
    auto* column = spaced(new QVBoxLayout(this), {0, 0, 0, 0});
    column->addWidget(splitter);
    news_timer_.setInterval(kNewsMs);
    connect(&news_timer_, &QTimer::timeout, this, &ScheduleExplorer::showNews);
    compute();
}

ScheduleExplorer::~ScheduleExplorer() {
    // The views use the members, which would be destroyed before QObject deletes children.
    while (QWidget* child = findChild<QWidget*>(QString(), Qt::FindDirectChildrenOnly))
        delete child;
}

/// The form, with buttons for the order below it.
QWidget* ScheduleExplorer::buildForm() {
    form_ = new LabForm(themes_, this);
    auto* panel = new QWidget(form_);
    auto* column = spaced(new QVBoxLayout(panel), {0, 0, 0, 0});
    problem_ = named(new QLabel(panel), "explorerProblem");
    problem_->setTextFormat(Qt::PlainText);
    problem_->setWordWrap(true);
    problem_->hide();
    column->addWidget(problem_);
    search_ = named(new QPushButton(tr("&Search for the shortest order"), panel), "explorerSearch");
    gap_ = named(new QLabel(panel), "explorerGap");
    gap_->setTextFormat(Qt::PlainText);
    gap_->setWordWrap(true);
    gap_->hide();
    families_ = named(new QPushButton(tr("Compare all &families"), panel), "explorerFamilies");
    run_ = named(new QPushButton(tr("&Run this order…"), panel), "explorerRun");
    keep_ = named(new QPushButton(tr("Keep to compare"), panel), "explorerKeep");
    export_ = named(new QPushButton(tr("Export for PyTorch (CSV)…"), panel), "explorerExport");
    addAll(*column, {search_, gap_, families_, keep_, export_, run_});
    connect(search_, &QPushButton::clicked, this, &ScheduleExplorer::toggleSearch);
    connect(families_, &QPushButton::clicked, this, &ScheduleExplorer::compareFamilies);
    connect(run_, &QPushButton::clicked, this, &ScheduleExplorer::sendToRun);
    column->addStretch(1);
    form_->addBelow(*panel);
    connect(form_, &LabForm::changed, this, &ScheduleExplorer::compute);
    connect(form_, &LabForm::refused, this, [this](const Error& error) { setProblem(errorText(error)); });
    connect(keep_, &QPushButton::clicked, table_, &ComparisonTable::keepShown);
    connect(export_, &QPushButton::clicked, this, &ScheduleExplorer::chooseFile);
    return form_;
}

QWidget* ScheduleExplorer::buildViews() {
    auto* views = new QWidget(this);
    auto* column = spaced(new QVBoxLayout(views), {0, 8, 0, 0});
    headline_ = named(new QLabel(views), "explorerHeadline");
    headline_->setWordWrap(true);
    headline_->setContentsMargins(8, 0, 8, 0);
    timeline_ = new TimelineView(state_, themes_, views);
    memory_ = new MemoryChart(themes_, views);
    legend_ = new Legend(themes_, views);
    auto* tabs = new QTabWidget(views);
    tabs->setDocumentMode(true);
    tabs->addTab(memory_, tr("Memory"));
    tabs->addTab(new BubblePanel(state_, themes_, views), tr("Formulas"));
    tabs->addTab(table_, tr("Comparison"));
    auto* splitter = new QSplitter(Qt::Vertical, views);
    addAll(*splitter, {timeline_, tabs});
    splitter->setStretchFactor(0, 3);
    splitter->setStretchFactor(1, 2);
    addAll(*column, {headline_, legend_});
    column->addWidget(splitter, 1);
    return views;
}

std::optional<LabInput> ScheduleExplorer::input() {
    return form_->input();
}

void ScheduleExplorer::startFrom(const Session& session, int step) {
    form_->startFrom(session, step);
}

void ScheduleExplorer::setOpenStep(LabForm::OpenStep open) {
    form_->setOpenStep(std::move(open));
}

void ScheduleExplorer::compute() {
    endSearch(); // the search used different sizes or times
    std::optional<LabInput> input = form_->input();
    if (!input) {
        job_.cancel();
        setProblem({});
        showNothing(tr("One field is invalid; see the message below it"));
        emit computed();
        return;
    }
    job_.start([input = *std::move(input)](JobControl& control) { return exploreSchedule(input, control); },
               [this](Result<ExplorerResult> result) { finish(std::move(result)); });
}

void ScheduleExplorer::setProblem(const QString& text) {
    problem_->setPalette(themes_.theme().withText(themes_.theme().bad));
    problem_->setText(text);
    problem_->setVisible(!text.isEmpty());
}

/// Old drawings next to new values would be misleading.
void ScheduleExplorer::showNothing(const QString& headline) {
    result_.reset();
    for (QPushButton* button : {keep_, export_, run_})
        button->setEnabled(false);
    state_.setSession(nullptr);
    legend_->show(nullptr);
    memory_->setCurves({}, TimeNs{0}, 1);
    headline_->setText(headline);
    headline_->setToolTip({});
}

void ScheduleExplorer::finish(Result<ExplorerResult> result) {
    if (result.ok()) {
        setProblem({});
        showResult(std::move(result).value());
        emit computed();
        return;
    }
    showNothing(tr("Unknown schedule"));
    const Error& error = result.error();
    const QString problem = tr("%1.").arg(sentence(translatedText(error.message)));
    const QString hint = error.hint.empty() ? QString() : tr("%1.").arg(sentence(translatedText(error.hint)));
    setProblem(QStringLiteral("%1 %2").arg(problem, hint).trimmed());
    emit computed();
}

void ScheduleExplorer::showResult(ExplorerResult result) {
    result_ = std::move(result);
    const StepAnalysis& analysis = result_->session->analysis(0);
    keep_->setEnabled(true);
    run_->setEnabled(true);
    export_->setEnabled(result_->no_csv.empty());
    headline_->setText(tr("%1: step time %2, bubble rate %3; closed form of the bubble per rank: %4")
                           .arg(sentence(nameOfOrder(result_->input.spec)), shortTime(analysis.wall),
                                percent(analysis.rates.over_makespan),
                                result_->form.bubble_expression.empty()
                                    ? tr("none")
                                    : translatedText(result_->form.bubble_expression)));
    if (result_->queue_cost)
        headline_->setText(tr("%1; transfer queues: %2").arg(headline_->text(), timeDelta(*result_->queue_cost)));
    if (!result_->hang.empty()) setProblem(tr("%1.").arg(sentence(translated(result_->hang))));
    headline_->setToolTip(translatedText(result_->form.domain + result_->form.note));
    export_->setToolTip(translatedText(result_->no_csv));
    state_.setSession(result_->session);
    memory_->setCurves(result_->memory, analysis.wall, static_cast<double>(result_->input.spec.sizes.forward));
    legend_->show(result_->session.get());
    table_->setShown(*result_);
}

// ---- Search --------------------------------------------------------------------------------------

void ScheduleExplorer::toggleSearch() {
    if (searching()) {
        enough_->store(true);
        search_->setEnabled(false); // until the current round is finished
        return;
    }
    std::optional<LabInput> input = form_->input();
    if (!input) return;
    job_.cancel();
    news_ = std::make_shared<SearchNews>();
    enough_ = std::make_shared<std::atomic<bool>>(false);
    search_->setText(tr("&Stop the search"));
    gap_->setText(tr("Searching …"));
    gap_->show();
    setProblem({});
    news_timer_.start();
    search_job_.start(
        [input = *std::move(input), news = news_, enough = enough_](JobControl& control) {
            return searchBestOrder(
                input, kSearchTime, *news, [enough] { return enough->load(); }, control);
        },
        [this](Result<SearchOutcome> outcome) { finishSearch(std::move(outcome)); });
}

void ScheduleExplorer::showNews() {
    if (!news_) return;
    std::optional<SearchNews::State> state = news_->take();
    if (!state) return;
    gap_->setText(tr("Round %1: %2, %3 above the lower bound (%4)")
                      .arg(state->rounds)
                      .arg(shortTime(state->makespan),
                           percent(fractionOf(state->makespan - state->bound, state->bound)), shortTime(state->bound)));
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
    search_->setText(tr("&Search for the shortest order"));
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
    QString text = found.proven ? tr("%1: no order is shorter").arg(shortTime(found.makespan))
                                : tr("%1, %2 above the lower bound (%3)")
                                      .arg(shortTime(found.makespan), percent(found.gap()), shortTime(found.bound));
    if (found.best_family) {
        QString name = fromUtf8(found.best_family->name);
        if (!found.best_family->flavor.empty()) name += QLatin1Char('/') + fromUtf8(found.best_family->flavor);
        const TimeNs change = found.makespan - found.best_family->makespan;
        text += QLatin1Char('\n') + tr("The best named schedule, %1, takes %2 (%3)")
                                        .arg(name, shortTime(found.best_family->makespan), timeDelta(change));
    }
    gap_->setText(text);
    gap_->setToolTip(sentence(translated(found.reason)));
    gap_->show();
    showResult(std::move(outcome).value().result);
    emit searchEnded();
}

/// Compares the current schedule with all families that support the sizes.
void ScheduleExplorer::compareFamilies() {
    std::optional<LabInput> input = form_->input();
    if (!input) return;
    families_->setEnabled(false);
    families_job_.start([input = *std::move(input)](JobControl& control) { return exploreFamilies(input, control); },
                        [this](Result<std::vector<ExplorerResult>> families) {
                            families_->setEnabled(true);
                            if (!families.ok()) return;
                            table_->setOthers(families.value());
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
    ReplacingFile out(file.toStdString());
    out.write(scheduleToJson(result_->session->run.schedule));
    if (const Status written = out.commit(); !written.ok()) return setProblem(errorText(written.error()));
    emit runRequested(file, result_->input.spec);
}

Status ScheduleExplorer::exportCsv(const QString& path) const {
    if (!result_ || result_->csv.empty())
        return usageError("no order to write", "choose sizes that the schedule supports");
    ReplacingFile file(path.toStdString());
    file.write(result_->csv);
    return file.commit();
}

void ScheduleExplorer::chooseFile() {
    const NewFile wanted{tr("Export the order for PyTorch"), QStringLiteral("schedule.csv"), QStringLiteral("csv"),
                         tr("Schedules (*.csv)")};
    askWhereToSave(*this, wanted, [this](const QString& path) {
        const Status written = exportCsv(path);
        if (!written.ok()) setProblem(errorText(written.error()));
    });
}

} // namespace bubblescope::gui
