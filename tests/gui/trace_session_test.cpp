#include "app/gui/charts/bar_chart.h"
#include "app/gui/main_window.h"
#include "app/gui/models/range_table.h"
#include "app/gui/models/run_query.h"
#include "app/gui/panels/devices_panel.h"
#include "app/gui/panels/search_bar.h"
#include "app/gui/panels/teach_panel.h"
#include "app/gui/timeline/raw_geometry.h"
#include "app/gui/timeline/timeline_painter.h"
#include "app/gui/timeline/timeline_view.h"
#include "core/trace/trace_builder.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"

#include <QAction>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QDockWidget>
#include <QGuiApplication>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QPushButton>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTableView>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

#include <algorithm>
#include <random>

using namespace bubblescope;
using namespace bubblescope::gui;
using namespace std::chrono_literals;

namespace {

/// Two processes: a thread with nested slices and a stream, tied by arrows, and a counter. `rounds` times "vor N" with
/// "inner" in it, then "kernel N" on the stream. With `ranks`, that many files of them, which state their ranks in
/// descending order.
std::shared_ptr<const Trace> twoLanes(int rounds, int ranks = 0) {
    TraceBuilder builder;
    for (int file = 0; file < std::max(1, ranks); ++file) {
        TraceFile of{"plain" + std::to_string(file) + ".json", "chrome", std::nullopt, {}, {}};
        if (ranks > 0) of.rank = ranks - 1 - file;
        builder.addFile(of); // to which the next tracks belong
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
            const SliceId kernel =
                builder.addSlice({stream, at + 30us, 60us + file * 1us,
                                  builder.intern("kernel " + std::to_string(i % 4)), builder.intern("kernel"), 0});
            const auto flow = static_cast<std::uint64_t>(file * rounds + i + 1);
            builder.addFlow({flow, at + 5us, host, outer, false});
            builder.addFlow({flow, at + 30us, stream, kernel, false});
            if (file == 0) builder.addCounter(7, builder.intern("memory"), at, i);
        }
    }
    DiagnosticLog log;
    return builder.finish(log);
}

LoadedTrace traceLoaded(int rounds, int ranks = 0) {
    Run run;
    run.files = {"plain.json"};
    run.format = "chrome";
    run.trace = twoLanes(rounds, ranks);
    run.slices = static_cast<std::int64_t>(run.trace->sliceCount());
    run.problems = {{"lost-events", 3, say("{}", "plain.json"), say("events were lost")}};
    return LoadedTrace{std::move(run), inputError("plain.json", "no pipeline ops found")};
}

SessionPtr traceOnly(int rounds = 12, int ranks = 0) {
    return traceSession(traceLoaded(rounds, ranks), JobControl()).value();
}

/// Without a pipeline, until a rule or a schedule is taught.
Result<LoadedTrace> loadTaught(const RunLoader::Paths& paths, JobControl&, const LoadOptions& taught) {
    if (!taught.rules.empty() || taught.family) return LoadedTrace{sampleRun(), {}};
    LoadedTrace loaded = traceLoaded(12);
    loaded.run.files = paths;
    return loaded;
}

struct Opened {
    MainWindow window{loadTaught, false};
    QSignalSpy loaded{&window, &MainWindow::loaded};
    TimelineView* view = nullptr;

    Opened() {
        window.resize(1200, 900);
        window.show();
        window.open({QStringLiteral("plain.json")});
        if (!loaded.wait()) qFatal("not loaded");
        view = &child<TimelineView>(window, "timeline");
    }
    [[nodiscard]] ViewState& state() { return window.state(); }
    [[nodiscard]] const Session& session() { return *window.state().session(); }
    [[nodiscard]] const Trace& trace() { return *session().run.trace; }
    [[nodiscard]] SearchBar& search() { return *window.findChild<SearchBar*>(); }
    [[nodiscard]] SliceId named(std::string_view name) {
        for (SliceId slice = 0; slice < trace().sliceCount(); ++slice) {
            if (trace().name(slice) == name) return slice;
        }
        return kNoId;
    }
    [[nodiscard]] ItemRef item(std::string_view name) { return session().sliceItem(named(name)); }
    [[nodiscard]] std::string_view selected() { return trace().name(session().slice(state().selection())); }

    /// A click with the right button, through the window system.
    [[nodiscard]] QMenu* menuAt(const QPointF& in_view) {
        if (!QTest::qWaitForWindowExposed(&window)) qFatal("the window is not exposed");
        QTest::mouseClick(window.windowHandle(), Qt::RightButton, {},
                          view->viewport()->mapTo(&window, in_view.toPoint()));
        auto* menu = window.findChild<QMenu*>(QStringLiteral("itemMenu"));
        if (menu == nullptr) qFatal("no menu");
        return menu;
    }
    /// Clicks an entry of an open menu, which closes and deletes it.
    static void choose(QMenu* menu, const char* name) {
        QAction& action = child<QAction>(*menu, name);
        QTest::mouseClick(menu, Qt::LeftButton, {}, menu->actionGeometry(&action).center());
        QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    }
    void drag(const QPoint& a, const QPoint& b, Qt::KeyboardModifiers held = {}) {
        QTest::mousePress(view->viewport(), Qt::LeftButton, held, a);
        QTest::mouseMove(view->viewport(), (a + b) / 2);
        QMouseEvent move(QEvent::MouseMove, b, view->viewport()->mapToGlobal(b), Qt::NoButton, Qt::LeftButton, held);
        QApplication::sendEvent(view->viewport(), &move);
        QTest::mouseRelease(view->viewport(), Qt::LeftButton, held, b);
    }
    [[nodiscard]] QAction& command(Command command) {
        return child<QAction>(window,
                              QStringLiteral("command-%1").arg(static_cast<int>(command)).toLatin1().constData());
    }
};

} // namespace

/// Traces without a pipeline: in the same timeline, with the same tools.
class TraceSessionTest : public GuiTest {
    Q_OBJECT

private slots:
    void initTestCase() { settings_.use(); }

    void processesThreadsAndCountersBecomeLines() {
        const SessionPtr session = traceOnly();
        QVERIFY(!session->hasSteps() && !session->isBeginning());
        QCOMPARE(session->lanes.lineCount(), std::size_t{2});
        QCOMPARE(lineName(*session, 0), QStringLiteral("python (7)"));
        QCOMPARE(lineName(*session, 1), QStringLiteral("Process 9"));
        QVERIFY(!session->rankOf(0));
        QCOMPARE(session->raw.of(0).front().name(), QStringLiteral("main"));
        QCOMPARE(session->raw.of(0).front().depth, 2);
        QVERIFY(session->raw.of(1).front().device);
        QCOMPARE(session->flows.size(), std::size_t{12});
        QVERIFY(std::ranges::any_of(session->overview.bins(), [](const auto& bin) { return bin.busy > 0.5F; }));
    }

    /// By rank, not in the order of files, and named so.
    void filesThatStateTheirRanksAreLinesInTheOrderOfRanks() {
        const SessionPtr session = traceOnly(12, 3);
        QCOMPARE(session->lanes.lineCount(), std::size_t{3});
        for (int line = 0; line < 3; ++line) {
            QCOMPARE(lineName(*session, line), QStringLiteral("Rank %1").arg(line));
            QCOMPARE(session->rankOf(line), std::optional(line));
            QCOMPARE(session->raw.of(line).size(), std::size_t{2});
            QVERIFY(session->raw.of(line).front().device); // devices first
        }
        const auto query = parseOpQuery("kernel dur>60us rank=0-1", QueryScope::Slices);
        const QueryHits hits = runQuery(*session, query.value(), 100);
        QCOMPARE(hits.count, std::size_t{24}); // those of rank 2 take 60 µs
        QCOMPARE(hits.total, TimeNs{12 * (61us + 62us)});
        QCOMPARE(hits.slices.size(), std::size_t{24});
        QCOMPARE(session->lanes.lineOf(hits.items.front()), 0); // the longest first
    }

    /// Against sums over all slices.
    void tablesOfRangesAreExact() {
        const SessionPtr session = traceOnly(200);
        const Trace& trace = *session->run.trace;
        std::mt19937 random(3);
        for (int trial = 0; trial < 30; ++trial) {
            const TimeNs a{static_cast<std::int64_t>(random() % 20'000'000)};
            const TimeNs b{static_cast<std::int64_t>(random() % 20'000'000)};
            const TimeRange range{std::min(a, b), std::max(a, b) + 1ns};
            const TrackId track = session->raw.of(trial % 2).front().track;
            const RangeTable table = rangeTable(*session, range, RangeGroup::Kernel, {track});
            std::size_t count = 0;
            TimeNs total{0};
            for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
                const TimeNs part = overlap({trace.start(slice), trace.end(slice)}, range);
                if (trace.sliceTracks()[slice] != track || part <= TimeNs{0}) continue;
                ++count;
                total += part;
            }
            TimeNs sum{0};
            TimeNs self{0};
            for (const RangeRow& row : table.rows) {
                sum += row.total;
                self += row.self;
            }
            QCOMPARE(table.slices, count);
            QCOMPARE(sum, total);
            QCOMPARE(self, table.busy); // what is within slices is counted once
        }
    }

    void arrowsTieSlicesOnTheirRows() {
        const SessionPtr session = traceOnly();
        const SliceId kernel = session->run.trace->tracks()[1].first_slice;
        QCOMPARE(session->flows.of(kernel).size(), std::size_t{1});
        const SliceId from = session->flows.follow(kernel, false);
        QCOMPARE(session->run.trace->name(from), std::string_view("vor 0"));
        QCOMPARE(session->flows.follow(from, true), kernel);
        QCOMPARE(session->flows.follow(from, false), kNoId);
        const RowLayout rows(session->lanes, 400, {false, {{{0, 2}}, {{0, 1}}}});
        const GeometryInput input{*session, {session->lanes.extent(), 1000}, rows, 0, 400, 1, {}};
        const QLineF line = flowLine(input, session->flows[0]).value();
        QVERIFY(rawItemRect(input, session->sliceItem(from)).contains(line.p1()));
        QVERIFY(rawItemRect(input, session->sliceItem(kernel)).adjusted(-1, 0, 1, 0).contains(line.p2()));
    }

    void pixelsAreMarkedOnce() {
        const SessionPtr session = traceOnly(40'000);
        const auto starts = session->run.trace->sliceStarts();
        const std::vector<std::int64_t> some(starts.begin(), starts.begin() + 4);
        const TimeScale scale{session->lanes.extent(), 500};
        QCOMPARE(pixelsWith(scale, some, [](std::int64_t start) { return TimeNs{start}; }).size(), std::size_t{1});
    }

    void itIsShownInTheTimelineWithAllItsTools() {
        Opened w;
        QVERIFY(!w.session().hasSteps());
        QVERIFY(w.view->isVisible());
        QVERIFY(w.view->unfolded(0) && w.view->unfolded(1));
        QCOMPARE(w.view->rows().rawRows(0, 0), 2);
        QTRY_COMPARE(w.view->rows().counterCount(0), 1);
        QVERIFY(child<QWidget>(w.window, "overviewStrip").isVisible());
        for (const Command one : {Command::FitAll, Command::ZoomIn, Command::Search, Command::AddNote, Command::NextOp,
                                  Command::Consumer, Command::Pin, Command::Filter, Command::Unfold})
            QVERIFY2(w.command(one).isEnabled(), qPrintable(w.command(one).text()));
        for (const Command one : {Command::NextStep, Command::ReferenceNearer})
            QVERIFY2(!w.command(one).isEnabled(), qPrintable(w.command(one).text()));
        QVERIFY(child<QAction>(w.window, "flow-transfers").isEnabled());
        QVERIFY(!child<QAction>(w.window, "flow-path").isEnabled());
        QVERIFY(child<QAction>(w.window, "compareWith").isEnabled());

        // Zooms are undone and done again.
        const TimeRange whole = w.state().range().range();
        w.view->setFocus();
        QTest::keyClick(w.view, Qt::Key_W);
        const TimeRange nearer = w.state().range().range();
        QVERIFY(nearer.length() < whole.length());
        QTest::keyClick(w.view, Qt::Key_Backspace);
        QCOMPARE(w.state().range().range(), whole);
        QVERIFY(w.command(Command::Redo).isEnabled());
        w.command(Command::Redo).trigger();
        QCOMPARE(w.state().range().range(), nearer);
        w.view->run(Command::FitStep);
        QCOMPARE(w.state().range().range(), whole);

        // Rows are pinned, moved and filtered by the names of tracks.
        w.state().select(w.item("kernel 1"));
        w.view->run(Command::Pin);
        QCOMPARE(w.view->rows().lineAt(0), 1);
        w.view->run(Command::Pin);
        w.view->run(Command::MoveUp);
        QCOMPARE(w.view->rows().lineAt(0), 1);
        w.view->run(Command::AllRows);
        RowChoice rows = w.state().rows();
        rows.filter = "track=STREAM";
        w.state().setRows(rows);
        QCOMPARE(w.view->rows().rawCount(0), 0);
        QCOMPARE(w.view->rows().rawCount(1), 1);
        w.view->run(Command::Undo);
        QCOMPARE(w.view->rows().rawCount(0), 1);

        // A note about a slice.
        w.view->run(Command::AddNote);
        QCOMPARE(w.window.noteStore().notes().size(), std::size_t{1});
        QCOMPARE(noteSummary(w.session(), w.window.noteStore().notes().front()), QStringLiteral("130 µs · Process 9"));
        w.window.noteStore().remove(0);
    }

    void aClickFoldsAProcessOrAStack() {
        Opened w;
        const auto clickName = [&](int y) {
            QTest::mouseClick(w.view->viewport(), Qt::LeftButton, {}, {kHeaderWidth / 2, kRulerHeight + y});
        };
        clickName(w.view->rows().rawTop(0, 0) + 5);
        QCOMPARE(w.view->rows().rawRows(0, 0), 1);
        clickName(w.view->rows().rowTop(0) + 5);
        QVERIFY(!w.view->unfolded(0));
        QCOMPARE(w.view->rows().counterCount(0), 0);
        // Hidden rows are unfolded when the user goes to an item in them.
        w.state().select(w.item("inner"));
        w.state().reveal(w.item("inner"));
        QVERIFY(w.view->unfolded(0));
        // The name reaches across the plot.
        QTest::mouseClick(w.view->viewport(), Qt::LeftButton, {},
                          {kHeaderWidth + 300, kRulerHeight + w.view->rows().rowTop(1) + 5});
        QVERIFY(!w.view->unfolded(1));
    }

    void aSearchListsCountsAndSumsWhatItFinds() {
        Opened w;
        w.search().find(QStringLiteral("KERNEL 2"));
        QTRY_COMPARE(w.search().list().count(), 3);
        QCOMPARE(child<QLabel>(w.search(), "searchCounter").text(), QStringLiteral("3 · 180 µs"));
        QCOMPARE(w.state().marked().size(), std::size_t{3});
        QVERIFY(w.state().markedNames()[w.trace().sliceNames()[w.named("kernel 2")]]);
        QVERIFY(!w.state().markedNames()[w.trace().sliceNames()[w.named("kernel 1")]]);
        w.search().step(1);
        QCOMPARE(w.selected(), std::string_view("kernel 2"));
        QCOMPARE(w.search().counter(), QStringLiteral("1 of 3"));
        w.search().step(-1);
        QCOMPARE(w.search().counter(), QStringLiteral("3 of 3"));
        w.search().find(QStringLiteral("inner dur>=20us start<350us"));
        QTRY_COMPARE(w.search().list().count(), 4);
        w.search().find(QStringLiteral("dur>30ms"));
        QTRY_COMPARE(w.search().list().count(), 0);
        QVERIFY(w.state().marked().empty());
        w.search().find(QStringLiteral("dur>many"));
        QTRY_VERIFY(child<QLabel>(w.search(), "searchHint").text().contains(QLatin1String("needs a time")));
    }

    void aClickSelectsAndTheArrowIsFollowed() {
        Opened w;
        QTest::mouseClick(w.view->viewport(), Qt::LeftButton, {}, w.view->centreOf(w.item("vor 1")).toPoint());
        QCOMPARE(w.state().selection(), w.item("vor 1"));
        w.view->setFocus();
        QTest::keyClick(w.view, Qt::Key_BracketRight);
        QCOMPARE(w.selected(), std::string_view("kernel 1"));
        QTest::keyClick(w.view, Qt::Key_BracketLeft);
        QCOMPARE(w.state().selection(), w.item("vor 1"));
        QTest::keyClick(w.view, Qt::Key_Period); // the next on its row
        QCOMPARE(w.selected(), std::string_view("vor 2"));
        QTest::keyClick(w.view, Qt::Key_Comma);
        QTest::keyClick(w.view, Qt::Key_Escape);
        QVERIFY(!w.state().selection());
    }

    void aSliceHasTheMenuOfItems() {
        Opened w;
        const ItemRef item = w.item("vor 1");
        Opened::choose(w.menuAt(w.view->centreOf(item)), "itemZoom");
        QCOMPARE(w.state().selection(), item);
        QCOMPARE(w.state().range().range(), padded(w.session().range(item), 1.0));
        w.view->run(Command::FitAll);

        Opened::choose(w.menuAt(w.view->centreOf(item)), "itemCopyText");
        const QString text = QGuiApplication::clipboard()->text();
        QVERIFY2(text.startsWith(QLatin1String("vor 1\n")), qPrintable(text));
        QVERIFY2(text.contains(QLatin1String("Lane: main\nProcess: python (7)\n")), qPrintable(text));
        Opened::choose(w.menuAt(w.view->centreOf(item)), "itemCopyJson");
        const QJsonObject json = QJsonDocument::fromJson(QGuiApplication::clipboard()->text().toUtf8()).object();
        QCOMPARE(json[QStringLiteral("name")].toString(), QStringLiteral("vor 1"));
        QCOMPARE(json[QStringLiteral("process")].toString(), QStringLiteral("python (7)"));
        QCOMPARE(json[QStringLiteral("start_ns")].toInteger(), qint64{100'000});
        QCOMPARE(json[QStringLiteral("duration_ns")].toInteger(), qint64{60'000});
        QVERIFY(!json.contains(QStringLiteral("step")));

        Opened::choose(w.menuAt(w.view->centreOf(item)), "itemTable");
        QCOMPARE(w.state().measured(), w.session().range(item));
        auto* const table = &child<QTableView>(w.window, "rangeTable");
        QTRY_COMPARE(table->model()->rowCount(), 2); // with the one inside
        w.state().measure({});

        QMenu* menu = w.menuAt(w.view->centreOf(item));
        QVERIFY(!child<QAction>(*menu, "itemProducer").isEnabled());
        // Each entry once.
        QStringList texts;
        for (const QAction* action : menu->actions()) {
            if (!action->isSeparator()) texts << action->text();
        }
        QCOMPARE(texts.removeDuplicates(), 0);
        Opened::choose(menu, "itemConsumer");
        QCOMPARE(w.selected(), std::string_view("kernel 1"));
    }

    /// On the ruler for all, on tracks for those that were dragged over.
    void dragsMeasureTracksOrMove() {
        Opened w;
        const QPoint ruler(kHeaderWidth + 100, kRulerHeight - 6);
        w.drag(ruler, ruler + QPoint(300, 4));
        QVERIFY(w.state().measured().length() > TimeNs{0});
        QVERIFY(w.state().measuredTracks().empty());
        const QPoint host(kHeaderWidth + 50, kRulerHeight + w.view->rows().rawTop(0, 0) + 5);
        w.drag(host, host + QPoint(200, 10), Qt::ShiftModifier);
        QCOMPARE(w.state().measuredTracks(), std::vector<TrackId>{0});
        auto* const title = &child<QLabel>(w.window, "rangeTitle");
        QTRY_VERIFY2(title->text().contains(QLatin1String("on 1 lane")), qPrintable(title->text()));
        const QPoint stream(kHeaderWidth + 250, kRulerHeight + w.view->rows().rawTop(1, 0) + 5);
        w.drag(host, stream, Qt::ShiftModifier);
        QCOMPARE(w.state().measuredTracks(), (std::vector<TrackId>{0, 1}));
        QTRY_VERIFY2(title->text().contains(QLatin1String("on 2 lanes")), qPrintable(title->text()));
        // Without a range the table is of all.
        w.view->run(Command::Clear);
        QTRY_VERIFY2(title->text().startsWith(QLatin1String("Whole trace, ")), qPrintable(title->text()));

        w.view->run(Command::ZoomIn);
        w.view->run(Command::ZoomIn);
        const TimeRange before = w.state().range().range();
        w.drag(host, host + QPoint(-80, 0));
        QVERIFY(w.state().range().range().begin > before.begin);
        QCOMPARE(w.state().range().range().length(), before.length());
    }

    void anExampleBecomesARuleThatCommandsRead() {
        Opened w;
        child<QToolButton>(w.window, "teachNames").click();
        auto& teach = child<TeachPanel>(w.window, "teachPanel");
        QVERIFY(teach.isVisible());
        w.state().select(w.item("vor 2"));
        QTRY_COMPARE(w.state().marked().size(), std::size_t{12}); // live
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
        QCOMPARE(rules.value().ops.size(), std::size_t{1});
        QCOMPARE(rules.value().ops[0].ops[0].name.text(), std::string("vor {microbatch}"));
        QVERIFY(rules.value().ops[0].one_stage_per_rank);

        QSignalSpy reopen(&teach, &TeachPanel::reopenRequested);
        child<QTableWidget>(teach, "teachList").selectRow(0);
        teach.removeOp();
        QVERIFY(!teach.document().ok());
        QCOMPARE(reopen.size(), 0);
        // The panel belongs to its trace: it does not open in others.
        w.window.openBeside({QStringLiteral("other.json")});
        QVERIFY(w.loaded.wait());
        QVERIFY(!teach.isVisible());
    }

    void theMenuOfASliceTeaches() {
        Opened w;
        Opened::choose(w.menuAt(w.view->centreOf(w.item("vor 2"))), "itemExample");
        auto& teach = child<TeachPanel>(w.window, "teachPanel");
        QVERIFY(teach.isVisible());
        QCOMPARE(child<QLabel>(teach, "teachExample").text(), QStringLiteral("vor 2"));
        QTRY_COMPARE(w.state().marked().size(), std::size_t{12});
        // A search has the marks while it finds something, and gives them back.
        w.search().find(QStringLiteral("kernel 2"));
        QTRY_COMPARE(w.state().marked().size(), std::size_t{3});
        w.search().line().clear();
        QTRY_COMPARE(w.state().marked(), teach.allMatches());
    }

    /// The header says why, and leads to the list.
    void theReasonAndTheProblemsAreThere() {
        Opened w;
        auto& reason = child<QLabel>(w.window, "traceReason");
        QVERIFY2(reason.text().contains(QLatin1String("no pipeline ops found"), Qt::CaseInsensitive),
                 qPrintable(reason.text()));
        QVERIFY2(reason.text().contains(QLatin1String("1 problem")), qPrintable(reason.text()));
        QCOMPARE(child<QToolButton>(w.window, "problemsButton").text(), QStringLiteral("Problems: 1"));
        QVERIFY(child<QDockWidget>(w.window, "problemsDock").isHidden());
        QTest::mouseClick(&reason, Qt::LeftButton);
        QVERIFY(!child<QDockWidget>(w.window, "problemsDock").isHidden());
        QTRY_COMPARE(child<QTableView>(w.window, "problemsPanel").model()->rowCount(), 1);
    }

    /// Compute, transfers, copies and idle time add up to the device's time, and a click goes there.
    void devicesHaveABarOfTheirTime() {
        ViewState state;
        ThemeManager themes;
        DevicesPanel panel(state, themes);
        state.setSession(traceOnly(12, 2));
        const auto& bars = panel.chart().bars();
        QCOMPARE(bars.size(), std::size_t{2});
        for (std::size_t bar = 0; bar < bars.size(); ++bar) {
            const DeviceSummary& device = state.session()->activity[bar].devices.front();
            QCOMPARE(bars[bar].above(), device.times.span());
            QCOMPARE(bars[bar].above(), device.last - device.first);
        }
        QVERIFY(bars.front().name.startsWith(QLatin1String("Rank ")));
        QSignalSpy asked(&state, &ViewState::rankRequested);
        state.range().show({TimeNs{0}, 10us});
        emit panel.chart().clicked(1, 0);
        QCOMPARE(asked.size(), 1);
        QVERIFY(state.range().range().length() > 1ms);
    }

    /// From the file to the lines, and by a stated schedule on to the pipeline.
    void aStatedScheduleShowsThePipeline() {
        Opened w;
        // Panels of pipelines stay hidden.
        QVERIFY(w.window.showPanel(QStringLiteral("bubbles")));
        QVERIFY(child<QDockWidget>(w.window, "bubblesDock").isHidden());
        QVERIFY(!child<QDockWidget>(w.window, "devicesDock").isHidden());
        QVERIFY(!child<QDockWidget>(w.window, "bubblesDock").toggleViewAction()->isEnabled());
        // Another tab, and back: the same place.
        w.view->run(Command::ZoomIn);
        w.view->setUnfolded(1, false);
        const TimeRange seen = w.state().range().range();
        w.window.openBeside({QStringLiteral("other.json")});
        QVERIFY(w.loaded.wait());
        QCOMPARE(w.window.tabCount(), 2);
        QVERIFY(w.view->unfolded(1));
        w.window.showTab(0);
        QCOMPARE(w.state().range().range(), seen);
        QVERIFY(!w.view->unfolded(1));

        child<QToolButton>(w.window, "teachSchedule").click();
        child<QPushButton>(child<TeachPanel>(w.window, "teachPanel"), "teachBySchedule").click();
        QVERIFY(w.loaded.wait());
        QVERIFY(w.state().pipeline() != nullptr);
        QVERIFY(!child<TeachPanel>(w.window, "teachPanel").isVisible());
        QVERIFY(!child<QDockWidget>(w.window, "bubblesDock").isHidden());
        QVERIFY(child<QDockWidget>(w.window, "devicesDock").isHidden());
        QVERIFY(!w.state().rows().counters); // of traces alone
        w.window.showTab(1);
        QVERIFY(!w.state().pipeline());
        QVERIFY(child<QDockWidget>(w.window, "bubblesDock").isHidden());

        // A session keeps what was taught, and the views.
        w.state().range().show(seen);
        const QTemporaryDir folder;
        const QString file = folder.filePath(QStringLiteral("s.bubblescope-session.json"));
        w.window.saveSession(file);
        MainWindow again(loadTaught, false);
        again.show();
        QSignalSpy reloaded(&again, &MainWindow::loaded);
        again.openSession(file);
        QVERIFY(reloaded.wait());
        QCOMPARE(again.tabCount(), 2);
        again.showTab(0);
        QVERIFY(again.state().pipeline() != nullptr);
        again.showTab(1);
        QVERIFY(again.state().session() != nullptr && !again.state().pipeline());
        QCOMPARE(again.state().range().range(), seen);
    }

    /// As a picture, with a different name.
    void itIsExported() {
        Opened w;
        const QTemporaryDir folder;
        w.window.findChild<QAction*>(QStringLiteral("copyPicture"))->trigger();
        QVERIFY(!QGuiApplication::clipboard()->image().isNull());
    }

private:
    OwnSettings settings_;
};

BUBBLESCOPE_GUI_TEST(TraceSessionTest, trace_session_test);
#include "trace_session_test.moc"
