#include "app/gui/language/text.h"
#include "app/gui/models/item_text.h"
#include "app/gui/models/reference_overlay.h"
#include "app/gui/models/search.h"
#include "app/gui/models/session_queries.h"
#include "app/gui/panels/search_bar.h"
#include "app/gui/timeline/geometry.h"
#include "app/gui/timeline/overview_bar.h"
#include "app/gui/timeline/raw_geometry.h"
#include "app/gui/timeline/timeline_painter.h"
#include "app/gui/timeline/timeline_view.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"

#include <QAction>
#include <QApplication>
#include <QContextMenuEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QSignalSpy>
#include <QTest>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <ranges>

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

SessionPtr tracedSession() {
    SampleSpec spec;
    spec.trace = true;
    return sampleSession(spec);
}

/// Far out, each pixel stands for many slices.
SessionPtr longSession() {
    SampleSpec spec;
    spec.trace = true;
    spec.steps = 200;
    spec.schedule.microbatches = 32;
    return sampleSession(spec);
}

struct RawSetup {
    ThemeManager themes;
    ViewState state;
    TimelineView view{state, themes};

    explicit RawSetup(SessionPtr session = tracedSession()) {
        view.resize(1000, 500);
        view.show();
        state.setSession(std::move(session));
    }
};

GeometryInput inputFor(const Session& session, const RowLayout& rows, TimeRange range, double width = 800) {
    return {session, {range, width}, rows, 0, rows.contentHeight(), 1, [](const QString& text) {
                return QSizeF(7.0 * static_cast<double>(text.size()), 14);
            }};
}

} // namespace

/// The lanes below a rank's ops: raw lanes and the reference; also the overview and the search.
class RawLanesTest : public GuiTest {
    Q_OBJECT

private slots:
    /// A pinned track is shown once more at the top, whether its rank is unfolded or not, and stays there.
    void tracksCanBePinned() {
        RawSetup s;
        const SessionPtr session = s.state.session();
        const int last = static_cast<int>(session->lanes.lineCount()) - 1;
        const RawLane& lane = session->raw.of(last).front();
        const int before = s.view.rows().contentHeight();
        RowChoice rows = s.state.rows();
        rows.setTrackPinned(lane.track, true);
        s.state.setRows(rows);
        const RowLayout& layout = s.view.rows();
        QCOMPARE(layout.row(0).tracks_of, last);
        QCOMPARE(layout.rawCount(0), 1);
        QCOMPARE(layout.rowOf(last), layout.rowCount() - 1); // still in its place
        QCOMPARE(layout.rawCount(layout.rowOf(last)), 0);    // and folded
        QVERIFY(layout.stickyHeight() >= RowLayout::kGroupHeight + RowLayout::kRawHeight);
        // A slice in the pinned copy can be hit, and is drawn there.
        const GeometryInput input = inputFor(*session, layout, session->window(0));
        const auto shapes = buildRawShapes(input);
        QVERIFY(!shapes.empty());
        QCOMPARE(shapes.front().top, static_cast<double>(layout.rawTop(0, 0)));
        const auto drawn = std::ranges::find_if(shapes.front().slices, [](const SliceShape& shape) {
            return shape.slice != kNoId && shape.rect.width() > 4;
        });
        QVERIFY(drawn != shapes.front().slices.end());
        const QPointF at = drawn->rect.center();
        const ItemRef hit = rawHitTest(input, at.x(), at.y());
        QCOMPARE(hit.kind, ItemKind::Slice);
        QCOMPARE(session->lanes.lineOf(hit), last);
        // The track's menu unpins it.
        const QPoint name(20, kRulerHeight + layout.rawTop(0, 0) + 4);
        QContextMenuEvent event(QContextMenuEvent::Mouse, name, s.view.viewport()->mapToGlobal(name));
        QApplication::sendEvent(s.view.viewport(), &event);
        auto* menu = s.view.findChild<QMenu*>(QStringLiteral("rowMenu"));
        QVERIFY(menu != nullptr);
        menu->findChild<QAction*>(QStringLiteral("pinTrack"))->trigger();
        menu->close();
        QVERIFY(s.state.rows().pinned_tracks.empty());
        QCOMPARE(s.view.rows().contentHeight(), before);
    }

    void everyRankHasItsOwnLanes() {
        const SessionPtr session = tracedSession();
        for (int rank = 0; rank < 4; ++rank) {
            const auto& lanes = session->raw.of(rank);
            QCOMPARE(lanes.size(), 2U);
            QCOMPARE(lanes[0].name(), QStringLiteral("stream 7")); // devices first
            QCOMPARE(lanes[1].name(), QStringLiteral("main thread"));
            QVERIFY(lanes[0].device && !lanes[1].device);
            QCOMPARE(session->run.trace->tracks()[lanes[0].track].pid, rank);
        }
        QVERIFY(session->raw.of(17).empty());
        QVERIFY(sampleSession()->raw.of(0).empty());
    }

    void unfoldedRowsAreHigherAndTheOthersFollow() {
        const SessionPtr session = tracedSession();
        const RowLayout folded(session->lanes, 400);
        const RowLayout rows(session->lanes, 400, {false, {{}, someLanes(2)}});
        QCOMPARE(rows.heightOf(0), folded.rowHeight());
        QVERIFY(rows.heightOf(1) >= folded.rowHeight() + 2 * RowLayout::kRawPitch);
        QCOMPARE(rows.rowTop(2), rows.rowTop(1) + rows.heightOf(1));
        for (int lane = 0; lane < 2; ++lane) {
            const auto place = rows.rawAt(rows.rawTop(1, lane) + 3);
            QVERIFY(place && place->row == 1 && place->lane == lane);
            QVERIFY(!rows.bandAt(rows.rawTop(1, lane) + 3));
        }
        QVERIFY(!rows.rawAt(rows.rowTop(2) + 3));
        QCOMPARE(rows.rowAt(rows.rawTop(1, 1) + 3), 1);
        QCOMPARE(rows.rowAt(rows.contentHeight()), -1);
        QVERIFY(rows.reference().height == 0);
        QVERIFY(RowLayout(session->lanes, 400, {true, {}}).reference().height > 0);
    }

    void slicesAreDrawnWhereTheyRan() {
        const SessionPtr session = tracedSession();
        const RowLayout rows(session->lanes, 400, {false, {someLanes(2)}});
        const TimeRange range = session->window(0);
        const GeometryInput input = inputFor(*session, rows, range);
        const std::vector<LaneShapes> lanes = buildRawShapes(input);
        int kernels = 0;
        for (const SliceShape& shape : lanes | std::views::transform(&LaneShapes::slices) | std::views::join) {
            const TimeNs start = session->run.trace->start(shape.slice);
            QVERIFY(std::abs(shape.rect.left() - input.scale.x(start)) <= 1);
            kernels += session->run.trace->category(shape.slice) == "kernel" ? 1 : 0;
            QVERIFY(shape.rect.top() >= rows.rawTop(0, 0));
        }
        QCOMPARE(kernels, 2 * 16); // those of rank 0 in this step; the others are folded
    }

    void farOutLanesAreAsHighAsTheyAreBusy() {
        const SessionPtr session = longSession();
        const RowLayout rows(session->lanes, 400, {false, {someLanes(1)}});
        const std::vector<LaneShapes> lanes = buildRawShapes(inputFor(*session, rows, session->lanes.extent(), 300));
        QCOMPARE(lanes.size(), std::size_t{1});
        QVERIFY(lanes.front().slices.empty());
        const std::vector<ColumnRun>& runs = lanes.front().columns;
        QVERIFY(!runs.empty());
        int end = 0;
        for (const ColumnRun& run : runs) {
            QVERIFY(run.begin >= end && run.end > run.begin);
            end = run.end;
            QVERIFY(run.height >= 1 && run.height < RowLayout::kRawHeight); // three quarters at most
        }
        QVERIFY(end <= 300);
    }

    void whatIsKnownOfLanesIsWhatTheyHold() {
        const SessionPtr session = longSession();
        const TrackId track = session->raw.of(0)[0].track;
        const SliceRow row = session->raw.row(session->raw.of(0)[0], 0, 1);
        constexpr std::size_t kPixels = 400;
        const TimeRange all = session->lanes.extent();
        const TimeNs length = all.length() / 5;
        const TimeNs pixel = length / static_cast<std::int64_t>(kPixels);
        ColumnCache cache;
        TimeNs from = all.begin + all.length() / 3;
        // Small moves in both directions, beyond the known columns, none, by fractions of pixels, and to another zoom.
        for (const TimeNs move : {TimeNs{0}, 7 * pixel, -30 * pixel, TimeNs{0}, 399 * pixel, -900 * pixel, pixel / 3,
                                  pixel / 3, pixel / 3, 5 * pixel}) {
            from += move;
            ColumnCache::Lane& lane = cache.of(0, track);
            ColumnCache::update(row, {from, from + length}, kPixels, lane);
            cache.endFrame();
            QCOMPARE(lane.columns.size(), kPixels);
            QVERIFY(std::abs((PixelGrid(length, kPixels).border(lane.first) - from).count()) <= pixel.count() / 2 + 1);
            ColumnCache::Lane fresh;
            ColumnCache::update(row, {from, from + length}, kPixels, fresh);
            QCOMPARE(lane.first, fresh.first);
            QVERIFY(lane.columns == fresh.columns);
        }
        ColumnCache::Lane& lane = cache.of(0, track);
        ColumnCache::update(row, {from, from + 2 * length}, kPixels, lane);
        QCOMPARE(lane.length, 2 * length);
        cache.endFrame();
        cache.endFrame(); // in which it is not used
        QVERIFY(cache.of(0, track).columns.empty());
        QVERIFY(&cache.of(0, track) != &cache.of(1, track)); // one thread each
    }

    /// Caching between frames does not change any pixel.
    void aMovedViewLooksLikeAFreshOne() {
        const SessionPtr session = longSession();
        RawSetup moved(session);
        moved.view.run(Command::UnfoldAll);
        QCoreApplication::processEvents(); // which shows the scroll bar
        std::mt19937 random(5);
        const auto share = [&] { return static_cast<double>(random() % 10'000) / 10'000; };
        for (int frame = 0; frame < 24; ++frame) {
            if (frame % 8 == 0) moved.state.range().zoomAt(share(), frame == 8 ? 1.3 : 0.4);
            moved.state.range().panBy(frame % 5 == 4 ? 3 * (share() - 0.5) : 0.1 * (share() - 0.5));
            moved.view.clearFocus(); // whose frame is drawn, too
            const QImage after = moved.view.viewport()->grab().toImage();
            RawSetup fresh(session);
            fresh.view.run(Command::UnfoldAll);
            QCoreApplication::processEvents();
            fresh.state.showStep(moved.state.step());
            fresh.state.range().show(moved.state.range().range());
            QCOMPARE(fresh.state.range().range(), moved.state.range().range());
            fresh.view.clearFocus();
            QCOMPARE(fresh.view.viewport()->grab().toImage(), after);
        }
    }

    void anOpNamesTheKernelsThatItRan() {
        const SessionPtr session = tracedSession();
        const ItemRef op{ItemKind::Op, 1, 2, 3};
        std::map<QString, QString> facts;
        for (const auto& fact : describe(*session, op).facts)
            facts[fact.name] = fact.value;
        const TimeNs duration = session->op(op).duration();
        QCOMPARE(facts.at(QStringLiteral("Kernels")), QStringLiteral("2"));
        QVERIFY(facts.at(QStringLiteral("matmul_f16")).startsWith(exactTime(duration / 2)));
        QVERIFY(facts.at(QStringLiteral("layer_norm")).startsWith(exactTime(duration / 4)));
    }

    void aSliceCanBeHitAndLeadsBackToItsOp() {
        RawSetup setup;
        const Session& session = *setup.state.session();
        setup.state.showStep(0);
        setup.view.setUnfolded(0, true);
        const auto first = session.run.trace->tracks()[session.raw.of(0)[0].track].first_slice;
        const ItemRef slice = session.sliceItem(0, first);
        QVERIFY(slice.kind == ItemKind::Slice && slice.step == 0);
        const QPointF centre = setup.view.centreOf(slice);
        QVERIFY(setup.view.itemAt(centre) == slice);
        QTest::mouseClick(setup.view.viewport(), Qt::LeftButton, {}, centre.toPoint());
        QVERIFY(setup.state.selection() == slice);
        QCOMPARE(describe(session, slice).title, QStringLiteral("matmul_f16"));
        setup.view.run(Command::Producer);
        QVERIFY(setup.state.selection().kind == ItemKind::Op);
        QCOMPARE(session.range(setup.state.selection()).begin, session.range(slice).begin);
        setup.state.select(slice);
        setup.view.run(Command::NextOp);
        QVERIFY(setup.state.selection().kind == ItemKind::Op);
    }

    void foldsByKeyAndByClick() {
        RawSetup setup;
        const QImage folded = setup.view.viewport()->grab().toImage();
        QTest::mouseClick(setup.view.viewport(), Qt::LeftButton, {}, {10, kRulerHeight + 30});
        QVERIFY(setup.view.unfolded(0));
        QVERIFY(setup.view.viewport()->grab().toImage() != folded);
        QTest::keyClick(&setup.view, Qt::Key_E);
        QVERIFY(!setup.view.unfolded(0));
        QTest::keyClick(&setup.view, Qt::Key_E, Qt::ControlModifier);
        for (int rank = 0; rank < 4; ++rank)
            QVERIFY(setup.view.unfolded(rank));
        QTest::keyClick(&setup.view, Qt::Key_E, Qt::ControlModifier);
        QCOMPARE(setup.view.viewport()->grab().toImage(), folded);
    }

    void theIdealLiesBelowTheObserved() {
        SampleSpec spec;
        spec.comm = TimeNs{1'000'000};
        RawSetup setup(sampleSession(spec));
        IdealOverlay ideal(setup.state);
        QSignalSpy changed(&setup.state, &ViewState::referenceChanged);
        ideal.setOn(true);
        QVERIFY(changed.wait());
        const ReferenceOverlay& reference = *setup.state.reference();
        QCOMPARE(reference.step, setup.state.step());
        const TimeRange window = setup.state.session()->window(reference.step);
        QCOMPARE(reference.timeline.begin, window.begin);
        QCOMPARE(reference.timeline.wall(), TimeNs{(8 + 3) * 15'000'000}); // (m + p − 1)·(t_f + t_b)
        QVERIFY(reference.timeline.end < window.end);

        const RowLayout rows(setup.state.session()->lanes, 500, {true, {}});
        const auto shapes = buildReferenceShapes(inputFor(*setup.state.session(), rows, window), reference);
        QCOMPARE(shapes.size(), 4U * 16U);
        QVERIFY(shapes.front().rect.top() >= rows.reference().top);

        setup.state.showStep(0); // follows the step
        QVERIFY(changed.wait());
        QCOMPARE(setup.state.reference()->step, 0);
        ideal.setOn(false);
        QVERIFY(!setup.state.reference());
    }

    void overviewKnowsBusyIdleAndBetween() {
        const SessionPtr session = sampleSession();
        const Overview& overview = session->overview;
        QCOMPARE(overview.bins().size(), Overview::kBins);
        double busy = 0;
        for (const Overview::Bin& piece : overview.bins()) {
            QVERIFY(piece.busy >= 0 && piece.busy + piece.bubble <= 1.001F);
            busy += static_cast<double>(piece.busy);
        }
        TimeNs ops{0};
        for (const StepTimeline& step : session->run.steps) {
            for (const auto& rank : step.ranks) {
                for (const TimelineOp& op : rank)
                    ops += op.duration();
            }
        }
        const double share =
            static_cast<double>(ops.count()) / (4.0 * static_cast<double>(overview.extent().length().count()));
        QVERIFY(std::abs(busy / static_cast<double>(Overview::kBins) - share) < 0.002);
        QCOMPARE(overview.mean(0, 0).busy, overview.bins().front().busy);
    }

    void theOverviewsFrameMovesAndStretchesTheView() {
        ThemeManager themes;
        ViewState state;
        OverviewBar strip(state, themes);
        strip.resize(900, 30);
        strip.show();
        state.setSession(sampleSession());
        const TimeRange before = state.range().range();
        const QPointF centre = strip.frame().center();
        QTest::mousePress(&strip, Qt::LeftButton, {}, centre.toPoint());
        QTest::mouseMove(&strip, centre.toPoint() + QPoint(60, 0));
        QTest::mouseRelease(&strip, Qt::LeftButton, {}, centre.toPoint() + QPoint(60, 0));
        QVERIFY(state.range().range().begin > before.begin);
        QVERIFY(std::abs((state.range().range().length() - before.length()).count()) <= 2);
        // A click next to it moves it there, and back() returns.
        QTest::mouseClick(&strip, Qt::LeftButton, {}, {kHeaderWidth + 40, 15});
        QVERIFY(state.range().range().begin < before.begin);
        state.range().back();
        QVERIFY(state.range().range().begin > before.begin);
        const QPoint right(static_cast<int>(strip.frame().right()), 15);
        QTest::mousePress(&strip, Qt::LeftButton, {}, right);
        QTest::mouseMove(&strip, right - QPoint(50, 0));
        QTest::mouseRelease(&strip, Qt::LeftButton, {}, right - QPoint(50, 0));
        QVERIFY(state.range().range().length() < before.length());
    }

    void searchFindsOpsRanksStepsAndNames() {
        const SessionPtr session = tracedSession();
        const std::vector<SearchHit> ops = search(*session, QStringLiteral("b3"), 1, 50);
        QVERIFY(!ops.empty());
        QCOMPARE(ops.front().step, 1); // the current step's first
        QCOMPARE(session->op(ops.front().item).op.microbatch.value, 3);
        QCOMPARE(std::ranges::count(ops, ItemKind::Op, [](const SearchHit& hit) { return hit.item.kind; }),
                 12);                                     // four ranks, three steps
        QVERIFY(ops.back().item.kind == ItemKind::Slice); // names come last
        const auto rank = search(*session, QStringLiteral("rank 2"), 0, 50);
        QCOMPARE(rank.front().rank, 2);
        const auto step = search(*session, QStringLiteral("STEP 2"), 0, 50);
        QCOMPARE(step.front().step, 2);
        const auto names = search(*session, QStringLiteral("Layer_n"), 1, 50);
        QCOMPARE(names.size(), 1U);
        QCOMPARE(names.front().title, QStringLiteral("layer_norm"));
        QVERIFY(names.front().item.kind == ItemKind::Slice && names.front().step == 1);
        QVERIFY(search(*session, QStringLiteral("nothing of the kind"), 0, 50).empty());
        QVERIFY(search(*session, QString(), 0, 50).empty());
        QCOMPARE(search(*session, QStringLiteral("b3"), 1, 5).size(), 5U);
    }

    void theSearchBarGoesThere() {
        RawSetup setup;
        SearchBar bar(setup.state, &setup.view);
        QSignalSpy searched(&bar, &SearchBar::searched);
        QObject::connect(&setup.view, &TimelineView::searchRequested, &bar, &SearchBar::open);
        QTest::keyClick(&setup.view, Qt::Key_Slash);
        QVERIFY(bar.isVisible());
        QVERIFY(searched.wait());
        QTest::keyClicks(&bar.line(), QStringLiteral("F5"));
        QTRY_VERIFY(bar.list().count() > 0);
        QTest::keyClick(&bar.line(), Qt::Key_Down);
        QTest::keyClick(&bar.line(), Qt::Key_Return);
        QVERIFY(setup.state.selection().kind == ItemKind::Op);
        QCOMPARE(setup.state.session()->op(setup.state.selection()).op.microbatch.value, 5);
        QCOMPARE(setup.state.selection().rank, 1);
        QSignalSpy closed(&bar, &SearchBar::closed);
        QTest::keyClick(&bar.line(), Qt::Key_Escape);
        QVERIFY(!bar.isVisible() && closed.size() == 1);
    }
};

BUBBLESCOPE_GUI_TEST(RawLanesTest, raw_lanes_test);
#include "raw_lanes_test.moc"
