#include "app/gui/main_window.h"
#include "app/gui/plain/plain_geometry.h"
#include "app/gui/plain/plain_page.h"
#include "app/gui/plain/teach_panel.h"
#include "core/trace/trace_builder.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"

#include <QAction>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QDockWidget>
#include <QFile>
#include <QGuiApplication>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QSignalSpy>
#include <QSpinBox>
#include <QStackedWidget>
#include <QTableView>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QThreadPool>
#include <QToolButton>
#include <QWheelEvent>
#include <QWindow>

#include <algorithm>
#include <random>

using namespace bubblescope;
using namespace bubblescope::gui;
using namespace std::chrono_literals;

namespace {

/// Two processes: a thread with nested slices and a stream, tied by flows, and a counter. `rounds` times "vor N" with
/// "inner" in it, then "kernel N" on the stream.
std::shared_ptr<const Trace> twoLanes(int rounds) {
    TraceBuilder builder;
    builder.addFile({"plain.json", "chrome", std::nullopt, {}, {}});
    const TrackId host = builder.addTrack(7, 1);
    const TrackId stream = builder.addTrack(9, 2);
    builder.track(host).process_name = builder.intern("python");
    builder.track(host).thread_name = builder.intern("main");
    builder.track(stream).thread_name = builder.intern("stream 2");
    for (int i = 0; i < rounds; ++i) {
        const TimeNs at = i * 100us;
        const SliceId outer = builder.addSlice(
            {host, at, 60us, builder.intern("vor " + std::to_string(i % 4)), builder.intern("cpu_op"), 0});
        (void)builder.addSlice({host, at + 10us, 20us, builder.intern("inner"), builder.intern("cpu_op"), 0});
        const SliceId kernel = builder.addSlice(
            {stream, at + 30us, 60us, builder.intern("kernel " + std::to_string(i % 4)), builder.intern("kernel"), 0});
        builder.addFlow({static_cast<std::uint64_t>(i + 1), at + 5us, host, outer, false});
        builder.addFlow({static_cast<std::uint64_t>(i + 1), at + 30us, stream, kernel, false});
        builder.addCounter(7, builder.intern("memory"), at, i);
    }
    DiagnosticLog log;
    return builder.finish(log);
}

Result<LoadedTrace> plainLoaded(int rounds) {
    Run run;
    run.files = {"plain.json"};
    run.format = "chrome";
    run.trace = twoLanes(rounds);
    run.slices = static_cast<std::int64_t>(run.trace->sliceCount());
    return LoadedTrace{std::move(run), inputError("plain.json", "no pipeline op found")};
}

PlainTracePtr plainTrace(int rounds = 12) {
    JobControl control;
    return PlainTrace::build(plainLoaded(rounds).value(), control).value();
}

/// Without a pipeline, until a rule or a schedule is taught.
Result<LoadedTrace> loadTaught(const RunLoader::Paths&, JobControl&, const LoadOptions& taught) {
    if (!taught.rules.empty() || taught.family) return LoadedTrace{sampleRun(), {}};
    return plainLoaded(12);
}

QSizeF eightPixels(const QString& text) {
    return {8.0 * static_cast<double>(text.size()), 14};
}

struct PageSetup {
    ThemeManager themes;
    PlainPage page{themes};
    PlainTracePtr trace;

    explicit PageSetup(int rounds = 12) : trace(plainTrace(rounds)) {
        page.resize(1000, 700);
        page.show();
        page.setTrace(trace);
    }
    /// A click with the right button, through the window system.
    [[nodiscard]] QMenu* menuAt(const QPointF& in_view) {
        if (!QTest::qWaitForWindowExposed(&page)) qFatal("the page is not exposed");
        const QPoint at = page.view().viewport()->mapTo(&page, in_view.toPoint());
        QTest::mouseClick(page.windowHandle(), Qt::RightButton, {}, at);
        auto* menu = page.findChild<QMenu*>(QStringLiteral("plainMenu"));
        if (menu == nullptr) qFatal("no menu");
        return menu;
    }
    /// Clicks an entry of an open menu, which closes and deletes it.
    static void choose(QMenu* menu, const char* name) {
        QAction& action = child<QAction>(*menu, name);
        QTest::mouseClick(menu, Qt::LeftButton, {}, menu->actionGeometry(&action).center());
        QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    }
    [[nodiscard]] SliceId named(std::string_view name) const {
        for (SliceId slice = 0; slice < trace->trace().sliceCount(); ++slice) {
            if (trace->trace().name(slice) == name) return slice;
        }
        return kNoId;
    }
};

} // namespace

/// Traces without a pipeline: how they are drawn, searched, summed up and taught.
class PlainTraceTest : public QObject {
    Q_OBJECT

private slots:
    void cleanup() { QVERIFY(QThreadPool::globalInstance()->waitForDone(20000)); }

    void processesThreadsAndCountersBecomeLanes() {
        const PlainTracePtr trace = plainTrace();
        QCOMPARE(trace->processes().size(), 2U);
        QCOMPARE(trace->processes()[0].name, QStringLiteral("python (7)"));
        QCOMPARE(trace->lanes().size(), 3U);
        QCOMPARE(trace->lanes()[0].name, QStringLiteral("main (1)"));
        QCOMPARE(trace->lanes()[0].depth, 2);
        QVERIFY(trace->lanes()[1].isCounter());
        QCOMPARE(trace->lanes()[1].high, 11.0);
        QCOMPARE(trace->flows().size(), 12U);
        QCOMPARE(trace->processes()[1].name, QStringLiteral("Process 9"));
    }

    void slicesAreDrawnAtTheirLevelAndHit() {
        const PlainTracePtr trace = plainTrace();
        const PlainLayout rows(*trace, {});
        const PlainInput input{*trace, {trace->extent(), 1000}, rows, 0, 400, 1, eightPixels};
        int slices = 0;
        for (const SliceShape& shape : buildPlainShapes(input)) {
            QVERIFY(shape.slice != kNoId);
            ++slices;
            QCOMPARE(plainHit(input, shape.rect.center().x(), shape.rect.center().y()), shape.slice);
            QCOMPARE(plainRect(input, shape.slice).top(), shape.rect.top());
            if (trace->trace().name(shape.slice) != "inner") continue;
            const SliceId around = plainHit(input, shape.rect.center().x(), shape.rect.top() - 3);
            QVERIFY(trace->trace().name(around).starts_with("vor"));
        }
        QCOMPARE(slices, 36);
        QCOMPARE(plainHit(input, 500, -3), kNoId);
    }

    void foldedLanesTakeOneLevelAndFoldedProcessesNone() {
        const PlainTracePtr trace = plainTrace();
        PlainFolds folds;
        const int open = PlainLayout(*trace, folds).contentHeight();
        folds.turnLane(0);
        QCOMPARE(PlainLayout(*trace, folds).contentHeight(), open - PlainLayout::kLevelHeight);
        folds.turnProcess(0);
        const PlainLayout rows(*trace, folds);
        QCOMPARE(rows.rows().size(), 3U); // two headers and the stream
        QVERIFY(rows.rows()[static_cast<std::size_t>(rows.rowOf(0))].header());
        folds.turnProcess(0);
        folds.turnLane(0);
        QCOMPARE(folds, PlainFolds{});
    }

    /// Sums of an area against a naive sum over all slices.
    void tablesOfAreasAreExact() {
        const PlainTracePtr plain = plainTrace(200);
        const Trace& trace = plain->trace();
        JobControl control;
        std::mt19937 random(3);
        for (int trial = 0; trial < 30; ++trial) {
            const TimeNs a{static_cast<std::int64_t>(random() % 20'000'000)};
            const TimeNs b{static_cast<std::int64_t>(random() % 20'000'000)};
            const PlainArea area{{std::min(a, b), std::max(a, b) + 1ns}, trial % 2, 3};
            const AreaTable table = tableOf(*plain, area, control).value();
            std::int64_t count = 0;
            TimeNs total{0};
            TimeNs longest{0};
            for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
                const int lane = plain->laneOf(trace.sliceTracks()[slice]);
                if (lane < area.first_lane) continue;
                const TimeNs part = overlap({trace.start(slice), trace.end(slice)}, area.range);
                if (part <= TimeNs{0}) continue;
                ++count;
                total += part;
                longest = std::max(longest, part);
            }
            TimeNs sum{0};
            TimeNs self{0};
            TimeNs most{0};
            for (const AreaName& name : table.names) {
                sum += name.total;
                self += name.self;
                most = std::max(most, name.longest);
            }
            QCOMPARE(table.slices, count);
            QCOMPARE(sum.count(), total.count());
            QCOMPARE(most.count(), longest.count());
            QCOMPARE(self.count(), table.busy.count()); // what is within slices is counted once
        }
    }

    void zoomedOutLanesStayProportional() {
        const PlainTracePtr trace = plainTrace(40'000);
        const PlainLayout rows(*trace, {});
        const PlainInput input{*trace, {trace->extent(), 500}, rows, 0, 400, 1, eightPixels};
        const auto shapes = buildPlainShapes(input);
        QVERIFY(!shapes.empty());
        QVERIFY(shapes.size() <= 1000); // at most one per pixel and lane
        for (const SliceShape& shape : shapes) {
            QCOMPARE(shape.slice, kNoId);
            QVERIFY(shape.rect.height() > 4); // both lanes are busy for 60 %
        }
        QCOMPARE(buildPlainMarks(input, {0, 1, 2, 3}).size(), 1U); // in one pixel
    }

    void searchCountsMarksAndWalksThroughTheHits() {
        PageSetup setup;
        QSignalSpy computed(&setup.page, &PlainPage::computed);
        child<QLineEdit>(setup.page, "plainSearch").setText(QStringLiteral("KERNEL 2"));
        QTRY_COMPARE(setup.page.hitCount(), 3U);
        QCOMPARE(setup.page.view().marked().size(), 3U);
        setup.page.stepHit(1);
        const SliceId first = setup.page.view().selection();
        QCOMPARE(setup.trace->trace().name(first), std::string_view("kernel 2"));
        QCOMPARE(child<QLabel>(setup.page, "plainHit").text(), QStringLiteral("1 of 3"));
        setup.page.stepHit(-1);
        QCOMPARE(child<QLabel>(setup.page, "plainHit").text(), QStringLiteral("3 of 3"));
        setup.page.stepHit(1);
        QCOMPARE(setup.page.view().selection(), first);
    }

    void aClickSelectsAndTheFlowIsFollowed() {
        PageSetup setup;
        PlainView& view = setup.page.view();
        const SliceId slice = setup.named("vor 1");
        QTest::mouseClick(view.viewport(), Qt::LeftButton, {}, view.centreOf(slice).toPoint());
        QCOMPARE(view.selection(), slice);
        QTest::keyClick(&view, Qt::Key_BracketRight);
        QCOMPARE(setup.trace->trace().name(view.selection()), std::string_view("kernel 1"));
        QTest::keyClick(&view, Qt::Key_BracketLeft);
        QCOMPARE(view.selection(), slice);
        QTest::keyClick(&view, Qt::Key_Escape);
        QCOMPARE(view.selection(), kNoId);
    }

    void aSliceHasAMenu() {
        PageSetup setup;
        PlainView& view = setup.page.view();
        const SliceId slice = setup.named("vor 1");
        const Trace& trace = setup.trace->trace();
        PageSetup::choose(setup.menuAt(view.centreOf(slice)), "plainZoom");
        QCOMPARE(view.selection(), slice);
        QCOMPARE(view.range().range(), padded({trace.start(slice), trace.end(slice)}, 1.0));
        PageSetup::choose(setup.menuAt(view.centreOf(slice)), "plainFitAll");
        QVERIFY(view.range().range().length() >= setup.trace->extent().length());

        PageSetup::choose(setup.menuAt(view.centreOf(slice)), "plainSame");
        QCOMPARE(child<QLineEdit>(setup.page, "plainSearch").text(), QStringLiteral("vor 1"));
        QTRY_COMPARE(setup.page.hitCount(), 3U);
        QCOMPARE(child<QLabel>(setup.page, "plainHit").text(), QStringLiteral("1 of 3"));

        PageSetup::choose(setup.menuAt(view.centreOf(slice)), "plainCopyText");
        const QString text = QGuiApplication::clipboard()->text();
        QVERIFY2(text.startsWith(QLatin1String("Name: vor 1\n")), qPrintable(text));
        QVERIFY2(text.contains(QLatin1String("Lane: main (1)\n")), qPrintable(text));
        PageSetup::choose(setup.menuAt(view.centreOf(slice)), "plainCopyJson");
        const QJsonObject json = QJsonDocument::fromJson(QGuiApplication::clipboard()->text().toUtf8()).object();
        QCOMPARE(json[QStringLiteral("name")].toString(), QStringLiteral("vor 1"));
        QCOMPARE(json[QStringLiteral("process")].toString(), QStringLiteral("python (7)"));
        QCOMPARE(json[QStringLiteral("start_ns")].toInteger(), qint64{trace.start(slice).count()});
        QCOMPARE(json[QStringLiteral("duration_ns")].toInteger(), qint64{60'000});

        PageSetup::choose(setup.menuAt(view.centreOf(slice)), "plainTable");
        QCOMPARE(view.area().range, (TimeRange{trace.start(slice), trace.end(slice)}));
        QTRY_COMPARE(setup.page.areaModel().table().slices, std::int64_t{2}); // with the one inside
        view.selectArea({});

        QVERIFY(!child<QAction>(*setup.menuAt(view.centreOf(slice)), "plainFlowBegin").isEnabled());
        child<QMenu>(setup.page, "plainMenu").close();
        QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
        PageSetup::choose(setup.menuAt(view.centreOf(slice)), "plainFlowEnd");
        QCOMPARE(trace.name(view.selection()), std::string_view("kernel 1"));
    }

    void theMenuOfASliceTeaches() {
        PageSetup setup;
        PageSetup::choose(setup.menuAt(setup.page.view().centreOf(setup.named("vor 2"))), "plainExample");
        QVERIFY(setup.page.teaching().isVisible());
        QCOMPARE(child<QLabel>(setup.page.teaching(), "teachExample").text(), QStringLiteral("vor 2"));
        QTRY_COMPARE(setup.page.view().marked().size(), 12U);
        // With the panel open, too; and the keys' menu is that of the selected slice.
        setup.page.view().select(setup.named("kernel 3"));
        QContextMenuEvent event(QContextMenuEvent::Keyboard, {}, {});
        QApplication::sendEvent(setup.page.view().viewport(), &event);
        PageSetup::choose(&child<QMenu>(setup.page, "plainMenu"), "plainExample");
        QCOMPARE(child<QLabel>(setup.page.teaching(), "teachExample").text(), QStringLiteral("kernel 3"));
    }

    void lanesAndProcessesHaveMenus() {
        PageSetup setup;
        PlainView& view = setup.page.view();
        const auto nameOf = [&](int row) {
            const PlainRow& at = view.layout().rows()[static_cast<std::size_t>(row)];
            return QPointF(PlainView::kNameWidth / 2.0, PlainView::kRuler + at.top + at.height / 2.0);
        };
        const int lane = view.layout().rowOf(0);
        const int height = view.layout().contentHeight();
        PageSetup::choose(setup.menuAt(nameOf(lane)), "plainFold");
        QVERIFY(view.folded(lane));
        QCOMPARE(view.layout().contentHeight(), height - PlainLayout::kLevelHeight);
        PageSetup::choose(setup.menuAt(nameOf(lane)), "plainFold");
        QCOMPARE(view.layout().contentHeight(), height);

        PageSetup::choose(setup.menuAt(nameOf(lane)), "plainTable");
        QCOMPARE(view.area().first_lane, 0);
        QCOMPARE(view.area().end_lane, 1);
        QTRY_COMPARE(setup.page.areaModel().table().slices, std::int64_t{24});
        PageSetup::choose(setup.menuAt(nameOf(lane)), "plainCopyJson");
        QJsonObject json = QJsonDocument::fromJson(QGuiApplication::clipboard()->text().toUtf8()).object();
        QCOMPARE(json[QStringLiteral("lane")].toString(), QStringLiteral("main (1)"));
        QCOMPARE(json[QStringLiteral("slices")].toInteger(), qint64{24});
        QCOMPARE(json[QStringLiteral("duration_ns")].toInteger(), qint64{1'160'000}); // 11 rounds and the last's 60 µs

        const int process = lane - 1;
        PageSetup::choose(setup.menuAt(nameOf(process)), "plainCopyText");
        QVERIFY(QGuiApplication::clipboard()->text().startsWith(QLatin1String("Process: python (7)\nSlices: 24\n")));
        PageSetup::choose(setup.menuAt(nameOf(process)), "plainFold");
        QVERIFY(view.folded(process));
        // A counter has no levels to fold, and no slices: its area is the whole trace in time.
        PageSetup::choose(setup.menuAt(nameOf(process)), "plainFold");
        QMenu* counter = setup.menuAt(nameOf(view.layout().rowOf(1)));
        QVERIFY(counter->findChild<QAction*>(QStringLiteral("plainFold")) == nullptr);
        PageSetup::choose(counter, "plainTable");
        QCOMPARE(view.area().range, setup.trace->extent());
    }

    void dragsSelectAreasOrMove() {
        PageSetup setup;
        PlainView& view = setup.page.view();
        const QPoint from(PlainView::kNameWidth + 100, 10);
        const auto drag = [&](const QPoint& a, const QPoint& b, Qt::KeyboardModifiers held) {
            QTest::mousePress(view.viewport(), Qt::LeftButton, held, a);
            QTest::mouseMove(view.viewport(), (a + b) / 2);
            QMouseEvent move(QEvent::MouseMove, b, view.viewport()->mapToGlobal(b), Qt::NoButton, Qt::LeftButton, held);
            QApplication::sendEvent(view.viewport(), &move);
            QTest::mouseRelease(view.viewport(), Qt::LeftButton, held, b);
        };
        drag(from, from + QPoint(300, 4), {}); // on the ruler
        QVERIFY(!view.area().empty());
        QCOMPARE(view.area().end_lane - view.area().first_lane, 3);
        QTRY_VERIFY(setup.page.areaModel().table().area == view.area());
        QVERIFY(setup.page.areaModel().rowCount() > 0);

        const QPoint lane(PlainView::kNameWidth + 50, PlainView::kRuler + PlainLayout::kHeaderHeight + 8);
        drag(lane, lane + QPoint(200, 10), Qt::ShiftModifier);
        QCOMPARE(view.area().first_lane, 0);
        QCOMPARE(view.area().end_lane, 1);

        view.run(Command::ZoomIn);
        view.run(Command::ZoomIn);
        const TimeRange before = view.range().range();
        drag(lane, lane + QPoint(-80, 0), {});
        QVERIFY(view.range().range().begin > before.begin);
        QCOMPARE(view.range().range().length(), before.length());
    }

    /// Where people chose the wheel of Perfetto, it is so in traces without a pipeline, too.
    void theWheelZoomsOrScrollsAsChosen() {
        PageSetup setup;
        PlainView& view = setup.page.view();
        const auto turn = [&](Qt::KeyboardModifiers held) {
            const QPoint at(PlainView::kNameWidth + 200, 120);
            QWheelEvent event(at, view.viewport()->mapToGlobal(at), {}, {0, 120}, Qt::NoButton, held, Qt::NoScrollPhase,
                              false);
            QApplication::sendEvent(view.viewport(), &event);
        };
        const TimeRange whole = view.range().range();
        turn({});
        const TimeRange nearer = view.range().range();
        QVERIFY(nearer.length() < whole.length());
        QSignalSpy turned(&view, &TimeView::wheelTurned);
        view.setWheel(TimeView::Wheel::Scrolls);
        turn({});
        QCOMPARE(view.range().range(), nearer);
        QCOMPARE(turned.size(), 1);
        turn(Qt::ControlModifier);
        QVERIFY(view.range().range().length() < nearer.length());
        QCOMPARE(turned.size(), 1);
    }

    void anExampleBecomesARuleThatCommandsRead() {
        PageSetup setup;
        setup.page.teach(false);
        TeachPanel& teach = setup.page.teaching();
        setup.page.view().select(setup.named("vor 2"));
        QTRY_COMPARE(setup.page.view().marked().size(), 12U); // live
        QCOMPARE(child<QSpinBox>(teach, "teachMicrobatch").value(), 2);
        QCOMPARE(child<QLineEdit>(teach, "teachPattern").text(), QStringLiteral("vor {microbatch}"));
        teach.addOp();
        QCOMPARE(child<QTableWidget>(teach, "teachList").rowCount(), 1);
        child<QSpinBox>(teach, "teachMicrobatch").setValue(5); // not in the name
        QVERIFY(!child<QPushButton>(teach, "teachAdd").isEnabled());

        const QTemporaryDir folder;
        const QString file = folder.filePath(QStringLiteral("rules.json"));
        QVERIFY(teach.saveRule(file).ok());
        const auto rules = readRules(file.toStdString());
        QVERIFY2(rules.ok(), rules.ok() ? "" : rules.error().text().c_str());
        QCOMPARE(rules.value().ops.size(), 1U);
        QCOMPARE(rules.value().ops[0].ops[0].name.text(), std::string("vor {microbatch}"));
        QVERIFY(rules.value().ops[0].one_stage_per_rank);

        QSignalSpy reopen(&setup.page, &PlainPage::reopenRequested);
        child<QPushButton>(teach, "teachReopen").click();
        QCOMPARE(reopen.size(), 1);
        child<QTableWidget>(teach, "teachList").selectRow(0);
        teach.removeOp();
        QVERIFY(!teach.document().ok());
    }

    /// The search and the teaching share the marks; what was asked for last has them, whichever is done first.
    void aSearchAndTeachingDoNotTakeEachOthersMarks() {
        PageSetup setup;
        setup.page.teach(false);
        TeachPanel& teach = setup.page.teaching();
        QSignalSpy matched(&teach, &TeachPanel::matched);
        setup.page.view().select(setup.named("vor 2"));
        QVERIFY(matched.wait());
        QCOMPARE(setup.page.view().marked(), teach.allMatches());
        auto& line = child<QLineEdit>(setup.page, "plainSearch");
        line.setText(QStringLiteral("kernel 2"));
        QTRY_COMPARE(setup.page.view().marked().size(), 3U);
        line.clear();
        QTRY_COMPARE(setup.page.view().marked(), teach.allMatches());
        // A search under way does not take the marks of an example that is chosen after it.
        QSignalSpy computed(&setup.page, &PlainPage::computed);
        line.setText(QStringLiteral("kernel 1"));
        setup.page.view().select(setup.named("vor 1"));
        QTRY_COMPARE(setup.page.hitCount(), 3U);
        QTRY_COMPARE(setup.page.view().marked(), teach.allMatches());
        QVERIFY(QThreadPool::globalInstance()->waitForDone(20000));
        QCOMPARE(setup.page.view().marked().size(), 12U);
        // Without the panel the hits are marked again.
        child<QToolButton>(teach, "teachClose").click();
        QVERIFY(!teach.isVisible());
        QCOMPARE(setup.page.view().marked().size(), 3U);
    }

    void anExampleIsOfTheTraceInSight() {
        PageSetup setup(40);
        setup.page.teach(false);
        const PlainTracePtr small = plainTrace(2);
        setup.page.view().select(static_cast<SliceId>(setup.trace->trace().sliceCount() - 1));
        const QString name = child<QLabel>(setup.page, "teachExample").text();
        setup.page.setTrace(small);
        QVERIFY(child<QLabel>(setup.page, "teachExample").text().isEmpty());
        setup.page.setTrace(setup.trace); // selects again what the small trace does not have
        QCOMPARE(child<QLabel>(setup.page, "teachExample").text(), name);
    }

    /// From the file to the lanes, and by a stated schedule on to the pipeline.
    void theWindowShowsATraceWithoutAPipelineAndTeachesIt() {
        MainWindow window(loadTaught, false);
        window.resize(1000, 700);
        window.show();
        QSignalSpy loaded(&window, &MainWindow::loaded);
        window.open({QStringLiteral("plain.json")});
        QVERIFY(loaded.wait());
        QVERIFY(!window.state().session());
        auto& page = child<PlainPage>(window, "plainPage");
        QVERIFY(page.isVisible());
        QVERIFY(page.view().trace() != nullptr);
        QVERIFY(window.findChild<QLabel*>(QStringLiteral("plainReason"))
                    ->toolTip()
                    .contains(QStringLiteral("no pipeline op found"), Qt::CaseInsensitive));
        // Panels of pipelines stay away.
        QVERIFY(window.showPanel(QStringLiteral("bubbles")));
        QVERIFY(child<QDockWidget>(window, "bubblesDock").isHidden());
        // Another tab, and back: the same place.
        page.view().run(Command::ZoomIn);
        const TimeRange seen = page.view().range().range();
        window.openBeside({QStringLiteral("other.json")});
        QVERIFY(loaded.wait());
        QCOMPARE(window.tabCount(), 2);
        window.showTab(0);
        QCOMPARE(page.view().range().range(), seen);

        child<QToolButton>(window, "plainSchedule").click();
        child<QPushButton>(page.teaching(), "teachBySchedule").click();
        QVERIFY(loaded.wait());
        QVERIFY(window.state().session() != nullptr);
        QVERIFY(!page.isVisible());
        window.showTab(1);
        QVERIFY(page.isVisible()); // this one is still without

        // A session keeps what was taught.
        const QTemporaryDir folder;
        const QString file = folder.filePath(QStringLiteral("s.bubblescope-session.json"));
        window.saveSession(file);
        MainWindow again(loadTaught, false);
        again.show();
        QSignalSpy reloaded(&again, &MainWindow::loaded);
        again.openSession(file);
        QVERIFY(reloaded.wait());
        QCOMPARE(again.tabCount(), 2);
        again.showTab(0);
        QVERIFY(again.state().session() != nullptr);
        again.showTab(1);
        QVERIFY(again.state().session() == nullptr);
    }
};

BUBBLESCOPE_GUI_TEST(PlainTraceTest, plain_trace_test);
#include "plain_trace_test.moc"
