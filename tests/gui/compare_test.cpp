#include "app/gui/main_window.h"
#include "app/gui/models/comparison.h"
#include "app/gui/panels/compare_panel.h"
#include "app/gui/timeline/timeline_view.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"
#include "tests/support/jittered_run.h"

#include <QAbstractItemModelTester>
#include <QAction>
#include <QApplication>
#include <QCheckBox>
#include <QComboBox>
#include <QDropEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMimeData>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>
#include <QUrl>

#include <algorithm>

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

/// Ten steps of 1F1B, in which rank 2 takes `factor` times as long.
Run runWith(double factor) {
    test::JitteredRun wanted;
    wanted.spec = {"1f1b", "", 4, 8, 1};
    wanted.steps = 10;
    wanted.op_factor = [factor](int, Rank rank, const Op&) { return rank.value == 2 ? factor : 1.0; };
    return test::makeJitteredRun(wanted, 7);
}

/// A name with "slow" gives the slower run.
Result<Run> load(const std::vector<std::filesystem::path>& paths, JobControl&) {
    if (paths.front().string().find("none") != std::string::npos)
        return inputError(paths.front().string(), "cannot be read", "check its name");
    return runWith(paths.front().string().find("slow") != std::string::npos ? 1.3 : 1.0);
}

/// The even run in a panel that has compared it with another one.
struct Compared {
    ViewState state;
    ThemeManager themes;
    ComparePanel panel{state, load, themes};

    explicit Compared(const QString& other) {
        panel.show();
        state.setSession(makeSession(runWith(1), JobControl()).value());
        QSignalSpy compared(&panel, &ComparePanel::compared);
        panel.compareWith({other});
        if (!compared.wait(20000)) qFatal("the runs were not compared");
    }
};

} // namespace

/// Comparing two runs.
class CompareTest : public GuiTest {
    Q_OBJECT

private slots:
    void whatCostsMostStandsFirst() {
        Compared runs(QStringLiteral("slow.pftrace"));
        ViewState& state = runs.state;
        ComparePanel& panel = runs.panel;
        panel.resize(900, 300);
        auto& table = child<QTableView>(panel, "compareTable");
        const QAbstractItemModelTester tester(table.model(), QAbstractItemModelTester::FailureReportingMode::QtTest);
        const auto text = [&](int row, int column) { return table.model()->index(row, column).data().toString(); };
        QCOMPARE(text(0, ComparisonModel::What), QStringLiteral("Step time"));
        QVERIFY(text(0, ComparisonModel::ChangeColumn).startsWith(QLatin1Char('+')));
        QVERIFY(table.model()->rowCount() > 3);
        // The slow rank's longest ops cost most; the idle time that they cause comes after all ops.
        const int first = 1;
        QCOMPARE(text(first, ComparisonModel::What), QStringLiteral("Rank 2: B of chunk 0, steady"));
        TimeNs last = TimeNs::max();
        const auto& model = *panel.findChild<ComparisonModel*>();
        bool idle = false;
        for (int row = 1; row < model.rowCount(); ++row) {
            const Subject subject = model.at(row).key.subject;
            const bool is_idle = subject == Subject::RankBubble || subject == Subject::Bubble;
            QVERIFY(is_idle || !idle);
            if (is_idle && !idle) last = TimeNs::max();
            idle = is_idle;
            QVERIFY(std::chrono::abs(model.at(row).per_step) <= last);
            last = std::chrono::abs(model.at(row).per_step);
            if (model.at(row).key.subject == Subject::OpGroup) QCOMPARE(model.at(row).key.rank, 2);
        }
        const QString headline = child<QLabel>(panel, "compareHeadline").text();
        // The recording made all ops of rank 2, and no others, 1.3 times as long.
        QVERIFY2(headline.startsWith(QStringLiteral("Rank 2 became 1.3 × slower in every op; this alone explains +")),
                 qPrintable(headline));
        QVERIFY2(headline.endsWith(QStringLiteral(", significant.")), qPrintable(headline));
        // A click shows the row's ops.
        emit table.clicked(table.model()->index(first, 0));
        QCOMPARE(state.highlights().size(), 7U); // the eighth is in the cool-down
        for (const Highlight& place : state.highlights())
            QCOMPARE(place.rank, 2);
    }

    void theOtherRunIsDrawnBelow() {
        Compared runs(QStringLiteral("slow.pftrace"));
        ViewState& state = runs.state;
        ComparePanel& panel = runs.panel;
        QVERIFY(state.reference() != nullptr);
        QCOMPARE(state.reference()->name, QStringLiteral("slow.pftrace"));
        QCOMPARE(state.reference()->timeline.begin, state.session()->window(state.step()).begin);
        state.showStep(4);
        QCOMPARE(state.reference()->timeline.begin, state.session()->window(4).begin);
        auto& below = child<QCheckBox>(panel, "compareBelow");
        below.setChecked(false);
        QVERIFY(state.reference() == nullptr);
        below.setChecked(true);
        QVERIFY(state.reference() != nullptr);
        state.setSession(makeSession(runWith(1), JobControl()).value());
        QVERIFY(!panel.comparison() && state.reference() == nullptr);
    }

    /// Each step in sight has its counterpart below it, aligned at its begin; none covers another.
    void theTimelinesStayAlignedStepByStep() {
        Compared runs(QStringLiteral("slow.pftrace"));
        ViewState& state = runs.state;
        state.showStep(4);
        QVERIFY(state.reference()->around.size() <= 2); // its neighbours' edges
        state.range().show({state.session()->window(3).begin, state.session()->window(6).end});
        QCOMPARE(state.step(), 4);
        std::vector<int> seen;
        for (const auto& one : state.reference()->around) {
            seen.push_back(one->step);
            QCOMPARE(one->timeline.index, state.session()->step(one->step).index);
            QCOMPARE(one->timeline.begin, state.session()->window(one->step).begin);
            QVERIFY(one->timeline.wall() > state.session()->window(one->step).length());
            QVERIFY(one->changes && one->changes->count(OpChange::Longer) > 0);
        }
        QCOMPARE(seen, (std::vector<int>{3, 5, 6}));
        const std::vector<ReferencePart> parts = partsOf(*state.session(), *state.reference());
        QCOMPARE(parts.size(), std::size_t{4});
        QCOMPARE(parts[0].step, 4);
        for (const ReferencePart& a : parts) {
            for (const ReferencePart& b : parts) {
                if (&a == &b || &b == &parts[0]) continue;
                const TimeRange whole{a.timeline.begin, a.timeline.end};
                QVERIFY(overlap(&a == &parts[0] ? whole : a.seen, b.seen) <= TimeNs{0});
            }
        }
        // Moving on shows the steps that come into sight, and makes the middle one the step in question.
        state.range().show({state.session()->window(7).begin, state.session()->window(8).end});
        QVERIFY(state.step() == 7 || state.step() == 8);
        QCOMPARE(state.reference()->step, state.step());
        QCOMPARE(state.reference()->around.size(), std::size_t{1});
        // The way from one run to the other is that of all steps.
        state.setReferenceBlend(0);
        const auto& blended = *state.shownReference()->around.front();
        const auto& observed = state.session()->step(blended.step).ranks;
        QCOMPARE(blended.timeline.ranks.size(), observed.size());
        for (std::size_t rank = 0; rank < observed.size(); ++rank)
            QVERIFY(std::ranges::equal(blended.timeline.ranks[rank], observed[rank], {}, &TimelineOp::start,
                                       &TimelineOp::start));
    }

    void runsAreNamedByWhatDiffers() {
        using Paths = std::vector<std::filesystem::path>;
        const auto name = [](const Paths& open, const Paths& other) { return nameByDifference(open, other); };
        QCOMPARE(name({"/runs/base/rank0.pftrace"}, {"/runs/slow/rank0.pftrace"}), QStringLiteral("slow"));
        QCOMPARE(name({"/runs/base/0.json", "/runs/base/1.json"}, {"/runs/slow/0.json", "/runs/slow/1.json"}),
                 QStringLiteral("slow"));
        QCOMPARE(name({"/runs/a.json"}, {"/runs/b.json"}), QStringLiteral("b.json"));
        QCOMPARE(name({"/runs/a.json"}, {"/runs/a.json"}), QStringLiteral("a.json"));
        QCOMPARE(name({"/x/a.json"}, {"/some/other/place/b.json"}), QStringLiteral("b.json"));
    }

    /// The k-th op of a slower rank begins later in the other run: aligned, both begin at once.
    void theStepBelowIsAlignedAtTheSelectedOp() {
        Compared runs(QStringLiteral("slow.pftrace"));
        ViewState& state = runs.state;
        const ItemRef item{ItemKind::Op, state.step(), 2, 9};
        state.select(item);
        const TimelineOp& selected = state.session()->op(item);
        const auto below = [&] {
            const auto& ops = state.reference()->timeline.ranks[2];
            return std::ranges::find(ops, selected.op, &TimelineOp::op)->start;
        };
        QVERIFY(below() != selected.start);
        child<QCheckBox>(runs.panel, "compareAlign").setChecked(true);
        QCOMPARE(below(), selected.start);
        state.select({ItemKind::Op, state.step(), 2, 3});
        QVERIFY(below() != selected.start); // it follows the selection
        child<QCheckBox>(runs.panel, "compareAlign").setChecked(false);
        QCOMPARE(state.reference()->timeline.begin, state.session()->window(state.step()).begin);
    }

    void openTabsAndRecentRunsAreOffered() {
        Compared runs(QStringLiteral("slow.pftrace"));
        runs.panel.setChoices([] {
            return ComparePanel::Choices{{{QStringLiteral("tab"), {QStringLiteral("slow-tab.pftrace")}}},
                                         {{QStringLiteral("recent"), {QStringLiteral("even.pftrace")}}}};
        });
        QMenu& menu = *child<QPushButton>(runs.panel, "compareChoose").menu();
        emit menu.aboutToShow();
        QStringList names;
        QAction* tab = nullptr;
        for (QAction* action : menu.actions()) {
            if (!action->isSeparator()) names << action->text();
            if (action->text() == QLatin1String("tab")) tab = action;
        }
        QCOMPARE(names, (QStringList{QStringLiteral("tab"), QStringLiteral("recent"), QStringLiteral("&Files…"),
                                     QStringLiteral("F&older…")}));
        QSignalSpy compared(&runs.panel, &ComparePanel::compared);
        tab->trigger();
        QVERIFY(compared.wait(20000));
        QCOMPARE(runs.panel.state().paths, QStringList{QStringLiteral("slow-tab.pftrace")});
    }

    void changesAreFiltered() {
        Compared runs(QStringLiteral("slow.pftrace"));
        ComparePanel& panel = runs.panel;
        auto& table = child<QTableView>(panel, "compareTable");
        const auto& model = *panel.findChild<ComparisonModel*>();
        auto& sorted = *panel.findChild<SortedChanges*>();
        const auto shown = [&](const auto& holds) {
            int count = 0;
            for (int row = 1; row < sorted.rowCount(); ++row) {
                ++count;
                if (!holds(model.at(sorted.mapToSource(sorted.index(row, 0)).row()))) return -1;
            }
            return count;
        };
        const int all = table.model()->rowCount();
        auto& kinds = child<QComboBox>(panel, "compareKinds");
        kinds.setCurrentIndex(ChangeFilter::Idle);
        QVERIFY(shown([](const Change& change) {
                    return change.key.subject == Subject::RankBubble || change.key.subject == Subject::Bubble;
                }) > 0);
        kinds.setCurrentIndex(ChangeFilter::Ops);
        auto& words = child<QLineEdit>(panel, "compareWords");
        words.setText(QStringLiteral("B rank=2"));
        QVERIFY(shown([](const Change& change) {
                    return change.key.kind == OpKind::Backward && change.key.rank == 2;
                }) > 0);
        words.setText(QStringLiteral("rank=0"));
        QCOMPARE(shown([](const Change&) { return true; }), 0); // only the step is left: rank 2 alone changed
        QCOMPARE(table.model()->rowCount(), 1);
        words.clear();
        kinds.setCurrentIndex(ChangeFilter::All);
        QCOMPARE(table.model()->rowCount(), all);
        child<QCheckBox>(panel, "compareBeyond").setChecked(true);
        QVERIFY(shown([&](const Change& change) { return change.chance && *change.chance < model.alpha(); }) > 0);
    }

    void opsThatDifferAreColoured() {
        const SessionPtr session = makeSession(runWith(1), JobControl()).value();
        const StepTimeline& step = session->step(1);
        StepTimeline other = step;
        auto& ops = other.ranks[2];
        ops[0].end = ops[0].start + ops[0].duration() * 2;
        ops[10].end = ops[10].start + ops[10].duration() / 2;
        std::swap(ops[5].op, ops[6].op);
        TimelineOp more = ops.back();
        more.op.microbatch = Microbatch(77);
        ops.push_back(more);
        const OpChanges changes(step, other);
        QCOMPARE(changes.of(2, ops[0].op), OpChange::Longer);
        QCOMPARE(changes.of(2, ops[10].op), OpChange::Shorter);
        QCOMPARE(changes.of(2, ops[5].op), OpChange::Moved);
        QCOMPARE(changes.of(2, ops[6].op), OpChange::Moved);
        QCOMPARE(changes.of(2, more.op), OpChange::Added);
        QCOMPARE(changes.of(1, step.ranks[1][0].op), OpChange::Same);
        QCOMPARE(changes.count(OpChange::Longer), 1);
        QCOMPARE(OpChanges(step, step).count(OpChange::Same), 4 * 16);

        // On the timeline: equal ops are half transparent, the others have the colours of their change.
        ThemeManager themes;
        ViewState state;
        TimelineView view(state, themes);
        view.resize(1600, 700);
        view.show();
        state.setSession(session);
        state.showStep(1);
        ReferenceOverlay overlay =
            ReferenceOverlay::make(QStringLiteral("other"), {}, 1, other, session->window(1).begin);
        state.setReference(std::make_shared<const ReferenceOverlay>(overlay));
        const auto has = [&](const QColor& colour) {
            const QImage image = view.viewport()->grab().toImage();
            for (int y = 0; y < image.height(); ++y) {
                for (int x = 0; x < image.width(); ++x) {
                    if (image.pixelColor(x, y) == colour) return true;
                }
            }
            return false;
        };
        QVERIFY(!has(themes.theme().bad) && !has(themes.theme().good));
        overlay.changes = std::make_shared<const OpChanges>(changes);
        state.setReference(std::make_shared<const ReferenceOverlay>(overlay));
        QVERIFY(has(themes.theme().bad) && has(themes.theme().good));
    }

    void theLegendCountsWhatDiffers() {
        Compared runs(QStringLiteral("slow.pftrace"));
        ViewState& state = runs.state;
        ComparePanel& panel = runs.panel;
        QVERIFY(state.reference()->changes != nullptr);
        const QString legend = child<QLabel>(panel, "compareDifferences").text();
        const QString longer = QStringLiteral("▲ %1 longer").arg(state.reference()->changes->count(OpChange::Longer));
        QVERIFY2(legend.contains(longer), qPrintable(legend));
        child<QCheckBox>(panel, "compareBelow").setChecked(false);
        QVERIFY(child<QLabel>(panel, "compareDifferences").text().isEmpty());
    }

    void equalRunsAreNotSaidToDiffer() {
        Compared runs(QStringLiteral("same.pftrace"));
        ComparePanel& panel = runs.panel;
        QVERIFY(child<QLabel>(panel, "compareHeadline").text().contains(QStringLiteral("no significant change")));
        QSignalSpy failed(&panel, &ComparePanel::failed);
        panel.compareWith({QStringLiteral("none")});
        QVERIFY(failed.wait(20000));
        QVERIFY(child<QLabel>(panel, "compareHeadline").text().contains(QStringLiteral("cannot be read")));
    }

    void aSecondTraceThatIsDroppedCanBeCompared() {
        MainWindow window(load, false);
        window.show();
        QSignalSpy loaded(&window, &MainWindow::loaded);
        window.open({QStringLiteral("a.pftrace")});
        QVERIFY(loaded.wait(20000));
        const SessionPtr first = window.state().session();
        auto& panel = *window.findChild<ComparePanel*>();
        QSignalSpy compared(&panel, &ComparePanel::compared);
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile(QStringLiteral("/slow.pftrace"))});
        QDragEnterEvent enter({50, 50}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&window, &enter);
        QDropEvent drop({50, 50}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&window, &drop);
        auto& menu = child<QMenu>(window, "dropMenu");
        QCOMPARE(menu.actions().size(), 3);
        menu.actions().last()->trigger();
        menu.close();
        QVERIFY(compared.wait(20000));
        QVERIFY(panel.isVisible());
        QCOMPARE(window.state().session(), first);
        QVERIFY(panel.comparison());
    }
};

BUBBLESCOPE_GUI_TEST(CompareTest, compare_test);
#include "compare_test.moc"
