// Every background job of the app ends within a second of being cancelled, on an input that keeps it busy for longer.

#include "app/gui/explorer/schedule_explorer.h"
#include "app/gui/live/live_controller.h"
#include "app/gui/live/run_dialog.h"
#include "app/gui/main_window.h"
#include "app/gui/models/reference_overlay.h"
#include "app/gui/options.h"
#include "app/gui/panels/aadiff_panel.h"
#include "app/gui/panels/compare_panel.h"
#include "app/gui/panels/range_panel.h"
#include "app/gui/panels/replica_panel.h"
#include "app/gui/panels/search_bar.h"
#include "app/gui/panels/sql_panel.h"
#include "app/gui/panels/stacks_panel.h"
#include "app/gui/panels/whatif_panel.h"
#include "core/formats/perfetto/writer.h"
#include "core/recognise/rule_by_example.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"

#include <QComboBox>
#include <QElapsedTimer>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QThreadPool>

#include <functional>
#include <memory>

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

/// 100,000 ops and 700,000 slices.
SampleSpec large() {
    SampleSpec spec;
    spec.schedule = {"1f1b", "", 8, 64, 1};
    spec.steps = 100;
    spec.trace = true;
    spec.nested = true;
    return spec;
}

struct Bench {
    SessionPtr session;
    QString folder; ///< with a trace of that run
    ThemeManager themes;
    ViewState state;
};

using Working = std::unique_ptr<QObject>; ///< the owner of a job that runs; deleting it cancels the job
using Start = std::function<Working(Bench&)>;

/// A panel that starts to work when it shows the session.
template <class Panel, class... Arguments>
std::unique_ptr<Panel> shown(Bench& bench, Arguments&&... arguments) {
    auto panel = std::make_unique<Panel>(bench.state, std::forward<Arguments>(arguments)...);
    static_cast<QWidget&>(*panel).show();
    bench.state.setSession(bench.session);
    return panel;
}

std::unique_ptr<ScheduleExplorer> lab(Bench& bench, int pp, int microbatches) {
    auto explorer = std::make_unique<ScheduleExplorer>(bench.themes);
    child<QSpinBox>(*explorer, "explorerPp").setValue(pp);
    child<QSpinBox>(*explorer, "explorerMicrobatches").setValue(microbatches);
    explorer->show();
    return explorer;
}

Working clicked(std::unique_ptr<ScheduleExplorer> explorer, const char* button) {
    child<QPushButton>(*explorer, button).setEnabled(true);
    child<QPushButton>(*explorer, button).click();
    return explorer;
}

std::vector<std::pair<const char*, Start>> jobs() {
    return {
        {"load",
         [](Bench& bench) -> Working {
             auto window = std::make_unique<MainWindow>(loaderOf(Options{}), false);
             window->show();
             window->open({bench.folder});
             return window;
         }},
        {"watch",
         [](Bench& bench) -> Working {
             auto live = std::make_unique<LiveController>(bench.state);
             LiveTarget target;
             target.folders = {bench.folder};
             live->start(target);
             return live;
         }},
        {"diagnose the step", [](Bench& bench) -> Working { return shown<RangePanel>(bench); }},
        {"sum the range",
         [](Bench& bench) -> Working {
             auto panel = shown<RangePanel>(bench);
             bench.state.measure(bench.session->lanes.extent(), {});
             return panel;
         }},
        {"stacks of the trace",
         [](Bench& bench) -> Working {
             auto panel = shown<StacksPanel>(bench, bench.themes);
             bench.state.measure(bench.session->lanes.extent(), {});
             return panel;
         }},
        {"stragglers", [](Bench& bench) -> Working { return shown<ReplicaPanel>(bench, bench.themes); }},
        {"suggest changes", [](Bench& bench) -> Working { return shown<WhatIfPanel>(bench, bench.themes); }},
        {"predict a change",
         [](Bench& bench) -> Working {
             auto panel = shown<WhatIfPanel>(bench, bench.themes);
             child<QSpinBox>(*panel, "whatIfVpp").setValue(1);
             auto& target = child<QComboBox>(*panel, "whatIfTarget");
             target.setCurrentIndex(target.findData(QStringLiteral("links")));
             return panel;
         }},
        {"advise",
         [](Bench& bench) -> Working {
             auto panel = shown<WhatIfPanel>(bench, bench.themes);
             child<QPushButton>(*panel, "whatIfAdvise").setEnabled(true);
             child<QPushButton>(*panel, "whatIfAdvise").click();
             return panel;
         }},
        {"plan checks", [](Bench& bench) -> Working { return shown<AadiffPanel>(bench, bench.themes); }},
        {"SQL",
         [](Bench& bench) -> Working {
             auto panel = shown<SqlPanel>(bench);
             child<QPlainTextEdit>(*panel, "sqlText")
                 .setPlainText(QStringLiteral("SELECT count(*) FROM slice a, slice b"));
             child<QPushButton>(*panel, "sqlRun").click();
             return panel;
         }},
        {"search",
         [](Bench& bench) -> Working {
             auto owner = std::make_unique<QWidget>();
             auto* const bar = new SearchBar(bench.state, owner.get());
             bench.state.setSession(bench.session);
             bar->find(QStringLiteral("nowhere"));
             return owner;
         }},
        {"compare",
         [](Bench& bench) -> Working {
             auto panel = shown<ComparePanel>(bench, loaderOf(Options{}), bench.themes);
             panel->compareWith({bench.folder});
             return panel;
         }},
        {"ideal",
         [](Bench& bench) -> Working {
             bench.state.setSession(bench.session);
             auto overlay = std::make_unique<IdealOverlay>(bench.state);
             overlay->setOn(true);
             return overlay;
         }},
        {"match an example",
         [](Bench& bench) -> Working {
             auto job = std::make_unique<BackgroundJob>();
             job->start([session = bench.session](
                            JobControl& control) { return matchesOf({"F{microbatch}"}, *session->run.trace, control); },
                        [](const Result<TaughtMatches>&) {});
             return job;
         }},
        {"explore a schedule", [](Bench& bench) -> Working { return lab(bench, 64, 4096); }},
        {"explore all families", [](Bench& bench) { return clicked(lab(bench, 32, 512), "explorerFamilies"); }},
        {"search an order", [](Bench& bench) { return clicked(lab(bench, 32, 512), "explorerSearch"); }},
        {"estimate a run",
         [](Bench& bench) -> Working {
             auto dialog = std::make_unique<RunDialog>(bench.themes, QString());
             dialog->show();
             for (auto* box : dialog->findChildren<QSpinBox*>())
                 box->setValue(box->maximum());
             return dialog;
         }},
    };
}

class CancelTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        own_settings_.use();
        bench_.folder = folder_.path();
        const Run run = sampleRun(large());
        RunInfo info;
        info.source = "simulate";
        info.schedule = "1f1b";
        info.pp = 8;
        info.microbatches = 64;
        const Status written = perfetto::writeTimeline(folder_.filePath("run.pftrace").toStdString(), info, run.steps);
        QVERIFY2(written.ok(), written.ok() ? "" : written.error().text().c_str());
        bench_.session = makeSession(sampleRun(large()), JobControl()).value();
    }

    void endsWithinASecond_data() {
        QTest::addColumn<int>("job");
        const auto all = jobs();
        for (std::size_t i = 0; i < all.size(); ++i)
            QTest::newRow(all[i].first) << static_cast<int>(i);
    }

    void endsWithinASecond() {
        QFETCH(const int, job);
        QThreadPool& pool = *QThreadPool::globalInstance();
        bench_.state.setSession(nullptr);
        QVERIFY(pool.waitForDone(60000));
        Working working = jobs()[static_cast<std::size_t>(job)].second(bench_);
        constexpr int kWorkMs = 50;
        QTest::qWait(kWorkMs);
        const int busy = pool.activeThreadCount();
        QElapsedTimer timer;
        timer.start();
        working.reset();
        bench_.state.setSession(nullptr);
        QVERIFY(pool.waitForDone(60000));
        qInfo("%d at work; ended after %lld ms", busy, static_cast<long long>(timer.elapsed()));
        constexpr qint64 kLongestMs = 1000;
        QVERIFY(timer.elapsed() < kLongestMs);
    }

private:
    OwnSettings own_settings_;
    QTemporaryDir folder_;
    Bench bench_;
};

} // namespace

BUBBLESCOPE_GUI_TEST(CancelTest, cancel_test);

#include "cancel_test.moc"
