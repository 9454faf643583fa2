#include "app/gui/main_window.h"
#include "app/gui/panels/search_bar.h"
#include "app/gui/timeline/counters.h"
#include "app/gui/timeline/timeline_view.h"
#include "core/trace/trace_builder.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"

#include <QLineEdit>
#include <QListWidget>
#include <QTest>

using namespace bubblescope;
using namespace bubblescope::gui;
using namespace std::chrono_literals;

namespace {

std::shared_ptr<const CounterLanes> countersOf(const SessionPtr& session) {
    return CounterLanes::build(session, JobControl()).value();
}

/// A trace with one process per rank; the second one counts bytes.
SessionPtr countedSession() {
    SampleSpec spec;
    spec.trace = true;
    Run run = sampleRun(spec);
    TraceBuilder builder;
    builder.addFile({"counted.json", "chrome", std::nullopt, {}, {}});
    const StringId call = builder.intern("user_annotation");
    for (std::size_t rank = 0; rank < 4; ++rank) {
        const TrackId track = builder.addTrack(static_cast<std::int64_t>(rank), 1);
        for (const StepTimeline& step : run.steps) {
            for (const TimelineOp& op : step.ranks[rank])
                builder.addSlice({track, op.start, op.duration(), builder.intern(opName(op.op)), call, 0});
        }
    }
    const StringId bytes = builder.intern("memory allocated");
    for (int i = 0; i < 50; ++i)
        builder.addCounter(1, bytes, TimeNs(1ms) * i, i == 20 ? 900 : 100 + i);
    DiagnosticLog log;
    run.trace = builder.finish(log);
    return makeSession(std::move(run), JobControl()).value();
}

} // namespace

class CountersTest : public GuiTest {
    Q_OBJECT

private slots:
    void heldActivationsAreThoseOfTheOrder() {
        const SessionPtr session = sampleSession(); // 1F1B with four ranks
        const auto counters = countersOf(session);
        for (int rank = 0; rank < 4; ++rank) {
            QCOMPARE(counters->of(rank).size(), std::size_t{1});
            const CounterLane& held = *counters->of(rank).front();
            QCOMPARE(held.maximum, 4.0 - rank);
            QCOMPARE(held.at(session->window(0).begin - 1ms), 0.0);
            QCOMPARE(held.at(session->window(2).end), 0.0);
            // While the first forward of the second step runs, one is held.
            QCOMPARE(held.at(session->step(1).ranks[static_cast<std::size_t>(rank)][0].start + 1us), 1.0);
            QVERIFY(std::ranges::is_sorted(held.times));
        }
        QVERIFY(counters->of(4).empty());
        QVERIFY(counters->of(-1).empty());
    }

    void countersOfATraceGoToTheRankOfTheirProcess() {
        const auto counters = countersOf(countedSession());
        QCOMPARE(counters->of(0).size(), std::size_t{1});
        QCOMPARE(counters->of(1).size(), std::size_t{2});
        const CounterLane& bytes = *counters->of(1)[1];
        QCOMPARE(bytes.name, QStringLiteral("memory allocated"));
        QCOMPARE(bytes.maximum, 900.0);
        QCOMPARE(bytes.at(20ms + 1us), 900.0);
        QCOMPARE(bytes.at(21ms), 121.0);
    }

    /// They are tracks like any other: the filter of rows shows and hides them, and a search finds them.
    void filtersAndSearchesIncludeCounters() {
        const SessionPtr session = countedSession();
        const auto counters = countersOf(session);
        const auto named = counters->named(parseRowFilter("track=memory").value());
        QCOMPARE(named->of(0).size(), std::size_t{0});
        QCOMPARE(named->of(1).size(), std::size_t{1});
        QCOMPARE(named->of(1).front()->name, QStringLiteral("memory allocated"));

        MainWindow window(loadSample, false);
        window.show();
        ViewState& state = window.state();
        state.setSession(session);
        auto& timeline = *window.findChild<TimelineView*>(QStringLiteral("timeline"));
        auto& bar = *window.findChild<SearchBar*>();
        for (const char* const text : {"memory", "name=memory rank=1", "ALLOC"}) {
            state.setRows({});
            bar.find(QString::fromLatin1(text));
            QTRY_COMPARE(bar.list().count(), 1);
            QVERIFY2(bar.list().item(0)->text().startsWith(QLatin1String("memory allocated")), text);
            QTest::keyClick(&bar.line(), Qt::Key_Return);
            QVERIFY(state.rows().counters);
        }
        bar.find(QStringLiteral("name=memory rank=2"));
        QTRY_COMPARE(bar.counter(), QString());
        QCOMPARE(bar.list().count(), 0);
        QTRY_COMPARE(timeline.rows().counterCount(1), 2);
        QCOMPARE(timeline.rows().counterCount(0), 1);
        RowChoice rows = state.rows();
        rows.filter = "track=memory";
        state.setRows(rows);
        QCOMPARE(timeline.rows().counterCount(1), 1);
        QCOMPARE(timeline.rows().counterCount(0), 0);
    }

    void shapesKeepPeaks_data() {
        QTest::addColumn<double>("ratio");
        QTest::newRow("1") << 1.0;
        QTest::newRow("2") << 2.0;
    }
    void shapesKeepPeaks() {
        QFETCH(const double, ratio);
        const SessionPtr session = countedSession();
        const auto counters = countersOf(session);
        const RowLayout rows(session->lanes, 800, {.counters = {1, 2, 1, 1}});
        for (const TimeNs length : {TimeNs(50ms), TimeNs(300ms), TimeNs(20s)}) {
            const GeometryInput input{*session, {{0ms, length}, 400}, rows, 0, 800, ratio, {}};
            double highest = 0;
            double right = 0;
            for (const CounterShape& shape : buildCounterShapes(input, *counters)) {
                if (shape.row != 1 || shape.lane != 1) continue;
                QCOMPARE(shape.rect.bottom(), double(rows.counterTop(1, 1) + RowLayout::kCounterHeight));
                QVERIFY(shape.rect.left() >= right);
                right = shape.rect.right();
                QVERIFY(right <= 400);
                highest = std::max(highest, shape.rect.height());
            }
            QCOMPARE(highest, double(RowLayout::kCounterHeight)); // 1 ms of 20 s is far less than a pixel
        }
    }

    void countersHaveRoomOfTheirOwn() {
        const SessionPtr session = countedSession();
        const RowLayout rows(session->lanes, 300, {.raw_lanes = {{}, someLanes(1)}, .counters = {1, 2, 1, 1}});
        QVERIFY(rows.counterTop(1, 0) >= rows.rawTop(1, 0) + RowLayout::kRawHeight);
        QVERIFY(rows.counterTop(1, 1) + RowLayout::kCounterHeight <= rows.rowTop(2));
        QVERIFY(rows.counterTop(0, 0) >= rows.rowTop(0) + rows.rowHeight());
        QVERIFY(!rows.rawAt(rows.counterTop(1, 0) + 5));
        const RowLayout compact(session->lanes, 300, {.counters = {1, 2, 1, 1}, .height = 8});
        QCOMPARE(compact.counterCount(1), 0);
    }

    void aKeyShowsAndHidesThem() {
        ThemeManager themes;
        ViewState state;
        TimelineView view(state, themes);
        view.resize(1000, 480);
        view.show();
        state.setSession(countedSession());
        view.setFocus();
        const int folded = view.rows().contentHeight();
        QTest::keyClick(&view, Qt::Key_C);
        QTRY_COMPARE(view.rows().counterCount(1), 2);
        QVERIFY(view.rows().contentHeight() > folded);
        const QImage with = view.viewport()->grab().toImage();
        const int y = 42 + view.rows().counterTop(1, 0) + RowLayout::kCounterHeight - 1;
        int filled = 0;
        for (int x = 150; x < with.width(); ++x)
            filled += with.pixelColor(x, y) == themes.theme().fill(Role::Check) ? 1 : 0;
        QVERIFY(filled > 100);
        state.setSession(sampleSession()); // computed again for another trace
        QTRY_COMPARE(view.rows().counterCount(1), 1);
        QTest::keyClick(&view, Qt::Key_C);
        QCOMPARE(view.rows().counterCount(1), 0);
    }
};

BUBBLESCOPE_GUI_TEST(CountersTest, counters_test);
#include "counters_test.moc"
