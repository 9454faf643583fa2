#include "app/gui/models/depth_rows.h"
#include "app/gui/timeline/raw_geometry.h"
#include "app/gui/timeline/timeline_painter.h"
#include "app/gui/timeline/timeline_view.h"
#include "core/trace/trace_builder.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"

#include <QTest>

#include <algorithm>
#include <random>

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

/// Adds slices that fill a part of an interval, with others inside.
void addStacks(TraceBuilder& builder, TrackId track, TimeRange room, int depth, std::mt19937& random) {
    TimeNs at = room.begin;
    while (depth > 0 && at < room.end) {
        const auto part = static_cast<unsigned>(room.length().count() / 4 + 2);
        const TimeNs begin = at + TimeNs{static_cast<std::int64_t>(random() % part / 4)};
        const TimeNs end = begin + TimeNs{static_cast<std::int64_t>(random() % part)};
        if (end > room.end) break;
        (void)builder.addSlice({track, begin, end - begin, builder.intern("n" + std::to_string(random() % 5)), 0, 0});
        addStacks(builder, track, {begin, end}, depth - 1, random);
        at = end;
    }
}

struct Stacks {
    std::shared_ptr<const Trace> trace;
    DepthRows rows;
    TrackId track = 0;

    explicit Stacks(int length, unsigned seed = 1) {
        TraceBuilder builder;
        builder.addFile({"stacks.json", "chrome", std::nullopt, {}, {}});
        track = builder.addTrack(7, 1);
        std::mt19937 random(seed);
        addStacks(builder, track, {TimeNs{0}, TimeNs{length}}, 5, random);
        DiagnosticLog log;
        trace = builder.finish(log);
        JobControl control;
        rows = DepthRows::build(trace, {track}, control).value();
    }
    /// How many slices are around each, counted one by one.
    [[nodiscard]] int around(SliceId slice) const {
        int depth = 0;
        for (SliceId outer = 0; outer < slice; ++outer)
            depth += trace->start(outer) <= trace->start(slice) && trace->end(outer) > trace->start(slice) ? 1 : 0;
        return depth;
    }
};

/// A pipeline whose host threads run functions inside of functions: far out thousands a pixel.
SessionPtr stackedSession(int microbatches = 8, int steps = 3) {
    SampleSpec spec;
    spec.trace = true;
    spec.nested = true;
    spec.schedule.microbatches = microbatches;
    spec.steps = steps;
    return sampleSession(spec);
}

} // namespace

/// Rows for each depth of call stacks, at every zoom.
class DepthRowsTest : public GuiTest {
    Q_OBJECT

private slots:
    void slicesLieInTheRowOfTheirDepth() {
        const Stacks stacks(20'000);
        const Track& track = stacks.trace->tracks()[stacks.track];
        int deepest = 0;
        for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
            QCOMPARE(stacks.rows.depthOf(stacks.track, slice), stacks.around(slice));
            deepest = std::max(deepest, stacks.around(slice));
        }
        QCOMPARE(stacks.rows.depthOf(stacks.track), deepest + 1);
        QVERIFY(deepest >= 3);
    }

    /// Against sums over all slices, at many zooms and places.
    void columnsAreExact() {
        const Stacks stacks(200'000, 3);
        const Trace& trace = *stacks.trace;
        std::mt19937 random(7);
        for (int trial = 0; trial < 60; ++trial) {
            const int depth = trial % stacks.rows.depthOf(stacks.track);
            const PixelGrid grid(TimeNs{static_cast<std::int64_t>(50 + random() % 150'000)}, 40);
            const auto first = static_cast<std::int64_t>(random() % 200) - 20;
            std::vector<Pyramid::Column> columns(40);
            stacks.rows.columns(stacks.track, depth, grid, first, columns);
            for (std::size_t at = 0; at < columns.size(); ++at) {
                const TimeRange pixel{grid.border(first + static_cast<std::int64_t>(at)),
                                      grid.border(first + static_cast<std::int64_t>(at) + 1)};
                std::map<StringId, TimeNs> times;
                TimeNs busy{0};
                std::uint32_t starts = 0;
                for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
                    if (stacks.rows.depthOf(stacks.track, slice) != depth) continue;
                    const TimeNs part = overlap({trace.start(slice), trace.end(slice)}, pixel);
                    times[trace.sliceNames()[slice]] += part;
                    busy += part;
                    starts += pixel.contains(trace.start(slice)) ? 1 : 0;
                }
                QCOMPARE(columns[at].busy.count(), busy.count());
                QCOMPARE(columns[at].slices, starts);
                for (const auto& [name, time] : times) {
                    if (time * 2 > busy) QCOMPARE(columns[at].key, name);
                }
            }
        }
    }

    void slicesOfAnIntervalAreThoseThatTouchIt() {
        const Stacks stacks(20'000, 5);
        const Trace& trace = *stacks.trace;
        std::mt19937 random(2);
        for (int trial = 0; trial < 100; ++trial) {
            const int depth = trial % stacks.rows.depthOf(stacks.track);
            const TimeNs from{static_cast<std::int64_t>(random() % 20'000)};
            const TimeNs to = from + TimeNs{static_cast<std::int64_t>(random() % 3'000)};
            std::vector<SliceId> wanted;
            for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
                const bool touches = trace.start(slice) < to && (trace.end(slice) > from || trace.start(slice) >= from);
                if (touches && stacks.rows.depthOf(stacks.track, slice) == depth) wanted.push_back(slice);
            }
            QCOMPARE(stacks.rows.slices(stacks.track, depth, from, to), wanted);
        }
    }

    /// The host thread of an unfolded rank has a row for each depth, near and far out.
    void unfoldedStacksHaveARowForEachDepth() {
        const SessionPtr session = stackedSession(32, 100);
        const RawLane& thread = session->raw.of(0)[1];
        QCOMPARE(thread.depth, 3);
        const RowLayout rows(session->lanes, 400, {false, {{{1, 3}}}});
        for (const bool far : {false, true}) {
            const TimeRange range = far ? session->lanes.extent() : session->range({ItemKind::Op, 0, 0, 0});
            const GeometryInput input{
                *session, {range, 500}, rows, 0, rows.contentHeight(), 1, [](const QString& text) {
                    return QSizeF(7.0 * double(text.size()), 14);
                }};
            const std::vector<LaneShapes> shapes = buildRawShapes(input);
            QCOMPARE(shapes.size(), std::size_t{3});
            for (int depth = 0; depth < 3; ++depth) {
                const LaneShapes& row = shapes[static_cast<std::size_t>(depth)];
                QCOMPARE(row.top, double(rows.rawTop(0, 0, depth)));
                QCOMPARE(row.columns.empty(), !far);
                QCOMPARE(row.slices.empty(), far);
                for (const SliceShape& shape : row.slices) {
                    QCOMPARE(session->raw.depthOf(thread.track, shape.slice), depth);
                    const ItemRef item = session->sliceItem(0, shape.slice);
                    QCOMPARE(rawHitTest(input, shape.rect.center().x(), shape.rect.center().y()), item);
                    QCOMPARE(rawItemRect(input, item).top(), shape.rect.top());
                }
            }
        }
    }

    void aClickOnItsNameFoldsAStack() {
        ThemeManager themes;
        ViewState state;
        TimelineView view(state, themes);
        view.resize(1000, 700);
        view.show();
        state.setSession(stackedSession());
        view.setUnfolded(0, true);
        const auto name = [&] {
            return QPoint(kHeaderWidth - 20, kRulerHeight + view.rows().rawTop(0, 1) + RowLayout::kRawHeight / 2);
        };
        QCOMPARE(view.rows().rawRows(0, 1), 3);
        const int height = view.rows().contentHeight();
        QTest::mouseClick(view.viewport(), Qt::LeftButton, {}, name());
        QCOMPARE(view.rows().rawRows(0, 1), 1);
        QVERIFY(view.unfolded(0));
        QCOMPARE(view.rows().contentHeight(), height - 2 * RowLayout::kDepthPitch);
        view.run(Command::Undo);
        QCOMPARE(view.rows().rawRows(0, 1), 3);
        // Streams have no stacks: their names fold the rank.
        QTest::mouseClick(view.viewport(), Qt::LeftButton, {},
                          {kHeaderWidth - 20, kRulerHeight + view.rows().rawTop(0, 0) + 5});
        QVERIFY(!view.unfolded(0));
    }
};

BUBBLESCOPE_GUI_TEST(DepthRowsTest, depth_rows_test);
#include "depth_rows_test.moc"
