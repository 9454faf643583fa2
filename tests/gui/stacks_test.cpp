#include "app/gui/charts/flame_graph.h"
#include "app/gui/charts/histogram.h"
#include "app/gui/models/stack_tree.h"
#include "app/gui/panels/stacks_panel.h"
#include "core/trace/trace_builder.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"

#include <QLabel>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>
#include <QThreadPool>

#include <algorithm>

using namespace bubblescope;
using namespace bubblescope::gui;
using namespace std::chrono_literals;

namespace {

/// A thread that calls "a", which calls "b" and itself, and a stream with a kernel.
SessionPtr calls() {
    TraceBuilder builder;
    builder.addFile({"calls.json", "chrome", std::nullopt, {}, {}});
    const TrackId thread = builder.addTrack(1, 1);
    const TrackId stream = builder.addTrack(1, 7);
    const auto add = [&](TrackId track, TimeNs start, TimeNs length, const char* name, const char* category) {
        (void)builder.addSlice({track, start, length, builder.intern(name), builder.intern(category), 0});
    };
    for (int i = 0; i < 10; ++i) {
        const TimeNs at = i * 1ms;
        add(thread, at, 900us, "a", "cpu_op");
        add(thread, at + 100us, 200us, "b", "cpu_op");
        add(thread, at + 400us, 300us, "a", "cpu_op");
        add(thread, at + 450us, 100us + i * 10us, "b", "cpu_op");
        add(stream, at, 500us, "kernel", "kernel");
    }
    DiagnosticLog log;
    Run run;
    run.files = {"calls.json"};
    run.trace = builder.finish(log);
    return traceSession({std::move(run), inputError("calls.json", "no pipeline ops found")}, JobControl()).value();
}

StringId named(const Session& session, std::string_view name) {
    for (const StringId id : session.run.trace->sliceNames()) {
        if (session.run.trace->text(id) == name) return id;
    }
    return 0;
}

const RangeRow& rowOf(const std::vector<RangeRow>& rows, const char* name) {
    const auto row = std::ranges::find(rows, QString::fromLatin1(name), &RangeRow::name);
    if (row == rows.end()) qFatal("no row %s", name);
    return *row;
}

} // namespace

/// The stacks of a selection: flame graph, callers and callees, all slices of a name.
class StacksTest : public GuiTest {
    Q_OBJECT

private slots:
    void stacksOfEqualNamesAreMerged() {
        const SessionPtr session = calls();
        const StackTree tree = stackTree(*session, session->lanes.extent(), {});
        QCOMPARE(tree.nodes.size(), std::size_t{5}); // all, a, a/b, a/a, a/a/b: without the stream
        QCOMPARE(tree.nodes[0].total, TimeNs{10 * 900us});
        TimeNs self{0};
        for (const StackNode& node : tree.nodes)
            self += node.self;
        QCOMPARE(self, tree.nodes[0].total); // each moment counts once
        const StackNode& outer = tree.nodes[1];
        QCOMPARE(outer.count, std::size_t{10});
        QCOMPARE(outer.self, TimeNs{10 * (900us - 200us - 300us)});
    }

    /// For a part of the time, and for the stream alone.
    void aTreeIsOfItsRangeAndTracks() {
        const SessionPtr session = calls();
        const StackTree part = stackTree(*session, {150us, 1150us}, {0});
        QCOMPARE(part.nodes[0].total, TimeNs{750us + 150us});
        const StackTree stream = stackTree(*session, session->lanes.extent(), {1});
        QCOMPARE(stream.nodes.size(), std::size_t{2});
        QCOMPARE(stream.nodes[1].total, TimeNs{5ms});
    }

    /// A name inside itself counts its time once.
    void callersAndCalleesOfAName() {
        const SessionPtr session = calls();
        const StackTree tree = stackTree(*session, session->lanes.extent(), {});
        const std::vector<RangeRow> names = namesOf(*session, tree);
        QCOMPARE(rowOf(names, "a").total, TimeNs{9ms});
        QCOMPARE(rowOf(names, "a").count, std::size_t{20});
        TimeNs inner{0};
        for (int i = 0; i < 10; ++i)
            inner += 100us + i * 10us;
        QCOMPARE(rowOf(names, "b").total, 2ms + inner);
        const CallTables calls_of = callsOf(*session, tree, named(*session, "a"));
        QCOMPARE(calls_of.callers.size(), std::size_t{1}); // itself
        QCOMPARE(calls_of.callers[0].count, std::size_t{10});
        QCOMPARE(rowOf(calls_of.callees, "b").count, std::size_t{20});
        QCOMPARE(callsOf(*session, tree, named(*session, "b")).callees.size(), std::size_t{0});
    }

    void framesAreAsWideAsTheirTime() {
        ThemeManager themes;
        FlameGraph graph(themes);
        graph.setLook([](const Theme& theme, std::uint32_t) { return theme.line; }, [](int) { return QString(); });
        graph.resize(1000, 200);
        graph.show();
        graph.setFrames({{QStringLiteral("all"), 0, -1, 10ms},
                         {QStringLiteral("a"), 1, 0, 6ms},
                         {QStringLiteral("b"), 2, 0, 4ms},
                         {QStringLiteral("c"), 3, 1, 3ms}});
        const double width = graph.viewport()->width();
        QCOMPARE(graph.rectOf(1).width(), width * 0.6);
        QCOMPARE(graph.rectOf(2).left(), width * 0.6);
        QVERIFY(graph.rectOf(3).top() > graph.rectOf(1).top());
        QSignalSpy chosen(&graph, &FlameGraph::chosen);
        QTest::mouseClick(graph.viewport(), Qt::LeftButton, {}, graph.rectOf(3).center().toPoint());
        QCOMPARE(chosen.at(0).at(0).toInt(), 3);
        QTest::mouseDClick(graph.viewport(), Qt::LeftButton, {}, graph.rectOf(1).center().toPoint());
        QCOMPARE(graph.rectOf(1).width(), width);
        QCOMPARE(graph.rectOf(3).width(), width * 0.5);
        QVERIFY(graph.rectOf(2).isEmpty()); // outside it
        graph.zoomTo(0);
        QCOMPARE(graph.rectOf(2).width(), width * 0.4);
    }

    void theHistogramCountsAndIsBrushed() {
        ThemeManager themes;
        Histogram histogram(themes);
        histogram.resize(600, 90);
        histogram.show();
        std::vector<TimeNs> durations;
        for (int i = 0; i < 1000; ++i)
            durations.emplace_back(1'000 + i);
        durations.emplace_back(1'000'000); // far: equal ratios
        histogram.setDurations(durations);
        std::size_t sum = 0;
        for (std::size_t at = 0; at < Histogram::kBins; ++at) {
            const auto [low, high] = histogram.bin(at);
            QVERIFY(low <= high);
            sum += histogram.bins()[at];
        }
        QCOMPARE(sum, durations.size());
        QCOMPARE(histogram.bins().back(), std::size_t{1});
        QSignalSpy brushed(&histogram, &Histogram::brushed);
        const auto at = [&](std::size_t bin) {
            return QPoint(static_cast<int>(histogram.rectOf(bin).center().x()), 40);
        };
        QTest::mousePress(&histogram, Qt::LeftButton, {}, at(0));
        QTest::mouseMove(&histogram, at(10));
        QTest::mouseRelease(&histogram, Qt::LeftButton, {}, at(10));
        QCOMPARE(brushed.size(), 1);
        QCOMPARE(brushed.at(0).at(0).value<TimeNs>(), TimeNs{1'000});
        QVERIFY(brushed.at(0).at(1).value<TimeNs>() < TimeNs{1'000'000});
    }

    void thePanelMarksWhatIsChosen() {
        ThemeManager themes;
        ViewState state;
        StacksPanel panel(state, themes);
        panel.resize(1100, 400);
        QSignalSpy filled(&panel, &StacksPanel::filled);
        panel.show();
        state.setSession(calls());
        QTRY_COMPARE(panel.graph().frames().size(), std::size_t{5});
        QCOMPARE(child<QLabel>(panel, "stacksTitle").text(), QStringLiteral("Stacks of the whole trace"));
        emit panel.graph().chosen(2); // b
        QTRY_COMPARE(state.marked().size(), std::size_t{20});
        QCOMPARE(child<QTableView>(panel, "callers").model()->rowCount(), 1);
        auto& list = child<QTableView>(panel, "sliceList");
        QCOMPARE(list.model()->rowCount(), 20);
        emit panel.histogram().brushed(200us, 1ms);
        QCOMPARE(state.marked().size(), std::size_t{10});
        QCOMPARE(list.model()->rowCount(), 10);
        // A slice of the list is shown, and the stacks stay.
        filled.clear();
        emit list.clicked(list.model()->index(0, 0));
        QVERIFY(state.selection().kind == ItemKind::Slice);
        QVERIFY(QThreadPool::globalInstance()->waitForDone(20000));
        QCoreApplication::processEvents();
        QCOMPARE(panel.graph().frames().size(), std::size_t{5});
        // A range is another subject.
        state.measure({TimeNs{0}, 300us}, {0});
        QTRY_COMPARE(panel.graph().frames().size(), std::size_t{3});
        QVERIFY(child<QLabel>(panel, "stacksTitle").text().startsWith(QLatin1String("Stacks in the time range of ")));
    }

    /// In a pipeline, of the step or of an op's rank.
    void stacksOfAnOp() {
        ThemeManager themes;
        ViewState state;
        StacksPanel panel(state, themes);
        panel.show();
        SampleSpec spec;
        spec.trace = true;
        spec.nested = true;
        state.setSession(sampleSession(spec));
        QTRY_VERIFY(panel.graph().frames().size() > 10);
        QCOMPARE(child<QLabel>(panel, "stacksTitle").text(), QStringLiteral("Stacks of the step"));
        state.select({ItemKind::Op, 1, 2, 3});
        QTRY_COMPARE(panel.graph().frames().size(), std::size_t{4}); // all, the op, layer, aten::mm
        QCOMPARE(panel.graph().frames()[1].time, state.session()->range(state.selection()).length());
    }
};

BUBBLESCOPE_GUI_TEST(StacksTest, stacks_test);
#include "stacks_test.moc"
