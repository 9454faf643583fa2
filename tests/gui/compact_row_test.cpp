#include "app/gui/timeline/compact_row.h"
#include "app/gui/timeline/row_shapes.h"
#include "app/gui/timeline/timeline_view.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"

#include <QImage>
#include <QPainter>
#include <QScrollBar>
#include <QTest>

#include <algorithm>
#include <array>
#include <random>

using namespace bubblescope;
using namespace bubblescope::gui;
using namespace std::chrono_literals;

namespace {

constexpr int kViewHeight = 600;
constexpr double kCompactWidth = 700;

SampleSpec manyRanks(int ranks) {
    SampleSpec spec;
    spec.schedule = {"1f1b", "", ranks, 16, 1};
    spec.steps = 2;
    return spec;
}

/// Time of `window` in which at least one span of the lane runs, computed naively.
TimeNs runningTime(const Lane& lane, const TimeRange& window) {
    TimeNs sum{0};
    TimeNs at = window.begin;
    for (const Span& span : lane.spans()) {
        const TimeNs begin = std::max(at, span.start);
        const TimeNs end = std::min(window.end, span.end);
        if (end <= begin) continue;
        sum += end - begin;
        at = end;
    }
    return sum;
}

/// The covered time by role; halves of a pair share their time.
RoleTimes timeByRole(const Lane& lane, const TimeRange& window) {
    RoleTimes out{};
    const auto& spans = lane.spans();
    const auto pair = [&](std::size_t a, std::size_t b) {
        return b < spans.size() && spans[a].paired && spans[b].paired && spans[a].start == spans[b].start &&
               spans[a].end == spans[b].end;
    };
    for (std::size_t i = 0; i < spans.size(); ++i) {
        const bool half = pair(i, i + 1) || (i > 0 && pair(i - 1, i));
        out[static_cast<std::size_t>(spans[i].role)] +=
            overlap({spans[i].start, spans[i].end}, window) / (half ? 2 : 1);
    }
    return out;
}

struct CompactScene {
    SessionPtr session;
    RowLayout rows;
    TimeRange range;
    double ratio = 1;
    int scroll = 0;

    CompactScene(const SampleSpec& spec, int row_height)
        : session(sampleSession(spec)), rows(session->lanes, kViewHeight, {.height = row_height}),
          range(session->lanes.extent()) {}

    [[nodiscard]] std::vector<StackPiece> pieces() const {
        const GeometryInput input{*session, {range, kCompactWidth}, rows, scroll, kViewHeight, ratio, {}};
        return StackRows::compact(input).pieces();
    }
    [[nodiscard]] int columns() const { return static_cast<int>(std::lround(kCompactWidth * ratio)); }
    [[nodiscard]] TimeRange columnTime(int column) const {
        const auto at = [&](int i) {
            return range.begin + TimeNs{std::llround(static_cast<double>(range.length().count()) * i / columns())};
        };
        return {at(column), at(column + 1)};
    }
};

} // namespace

class CompactRowTest : public QObject {
    Q_OBJECT

private slots:
    void manyRanksBecomeCompactUnlessAskedOtherwise() {
        const SessionPtr many = sampleSession(manyRanks(256));
        const RowLayout fitted(many->lanes, kViewHeight);
        QVERIFY(fitted.compact());
        QCOMPARE(fitted.bands().size(), std::size_t{1});
        QCOMPARE(fitted.rowHeight(), RowLayout::kMinCompactHeight);
        QVERIFY(RowLayout(many->lanes, 2000).rowHeight() > RowLayout::kMinCompactHeight); // as high as fits for all
        QVERIFY(!RowLayout(many->lanes, kViewHeight, {.height = 40}).compact());

        const SessionPtr few = sampleSession();
        QVERIFY(!RowLayout(few->lanes, 40).compact());
        QVERIFY(RowLayout(few->lanes, kViewHeight, {.height = 8}).compact());
    }

    void heightsFormALadder() {
        const SessionPtr session = sampleSession();
        int height = RowLayout::kMinCompactHeight;
        std::vector<int> up{height};
        for (; height < RowLayout::kMaxBandHeight; up.push_back(height)) {
            const int next = RowLayout(session->lanes, kViewHeight, {.height = height}).otherHeight(1);
            QVERIFY(next > height);
            height = next;
        }
        QCOMPARE(RowLayout(session->lanes, kViewHeight, {.height = height}).otherHeight(1), height);
        for (auto lower = up.rbegin() + 1; lower != up.rend(); ++lower) {
            height = RowLayout(session->lanes, kViewHeight, {.height = height}).otherHeight(-1);
            QCOMPARE(height, *lower);
        }
        QCOMPARE(RowLayout(session->lanes, kViewHeight, {.height = height}).otherHeight(-1), height);
    }

    void piecesShowTheShares_data() {
        QTest::addColumn<QString>("schedule");
        QTest::addColumn<QString>("flavor");
        QTest::addColumn<double>("ratio");
        QTest::addColumn<int>("height");
        QTest::newRow("1f1b") << "1f1b"
                              << "" << 1.0 << 12;
        QTest::newRow("thinnest") << "1f1b"
                                  << "" << 1.0 << 3;
        QTest::newRow("twice the pixels") << "zb-h1"
                                          << "" << 2.0 << 8;
        QTest::newRow("pairs") << "1f1b-overlap"
                               << "combined" << 1.5 << 18;
    }
    void piecesShowTheShares() {
        QFETCH(const QString, schedule);
        QFETCH(const QString, flavor);
        QFETCH(const double, ratio);
        QFETCH(const int, height);
        SampleSpec spec;
        spec.schedule = {schedule.toStdString(), flavor.toStdString(), 6, 18, 1};
        CompactScene scene(spec, height);
        scene.ratio = ratio;
        const int pixels = static_cast<int>(std::lround(scene.rows.bands().front().height * ratio));
        std::mt19937 random(7);
        const TimeRange all = scene.range;
        for (int trial = 0; trial < 8; ++trial) {
            const auto part = [&](double share) {
                return TimeNs{static_cast<std::int64_t>(share * static_cast<double>(all.length().count()))};
            };
            const double length = std::pow(0.35, trial);
            const double from = (1 - length) * static_cast<double>(random() % 1000) / 1000;
            scene.range = {all.begin + part(from), all.begin + part(from + length)};
            int row = -1;
            int at = scene.columns();
            for (const StackPiece& piece : scene.pieces()) {
                if (piece.row != row) {
                    QCOMPARE(at, scene.columns()); // the previous row was complete
                    QCOMPARE(piece.row, ++row);
                    at = 0;
                }
                QCOMPARE(piece.begin, at);
                QVERIFY(piece.end > piece.begin);
                at = piece.end;
                QVERIFY(piece.busy() + piece.idle() <= pixels);
                const auto& lane = [&](gui::LaneKind kind) -> const Lane& {
                    return scene.session->lanes.lane(static_cast<std::size_t>(row), kind);
                };
                for (const int column : {piece.begin, piece.end - 1}) {
                    const TimeRange time = scene.columnTime(column);
                    const TimeNs busy = runningTime(lane(gui::LaneKind::Compute), time);
                    const TimeNs idle = runningTime(lane(gui::LaneKind::Bubble), time);
                    const RoleTimes roles = timeByRole(lane(gui::LaneKind::Compute), time);
                    // The gap between two wide ops.
                    const bool line = piece.busy() == 0 && piece.idle() == 0 && piece.end - piece.begin == 1;
                    if (line && busy == time.length()) continue;
                    const auto share = [&](TimeNs t) {
                        return static_cast<double>(t.count()) / static_cast<double>(time.length().count()) * pixels;
                    };
                    // Each kind of op on its own, within a pixel of the exact integral.
                    for (const Role role : kStackOrder) {
                        if (isOpRole(role))
                            QVERIFY(std::abs(piece.height(role) - share(roles[static_cast<std::size_t>(role)])) <= 1);
                    }
                    QVERIFY(std::abs(piece.idle() - share(idle)) <= 1);
                    QCOMPARE(piece.busy() > 0, busy > TimeNs{0});
                    QCOMPARE(piece.idle() > 0, idle > TimeNs{0});
                }
            }
            QCOMPARE(row, 5);
            QCOMPARE(at, scene.columns());
        }
    }

    /// Any shares of any column: each part is within a pixel, the sum is exact, and no existing part is invisible.
    void stacksAreExactWithinAPixel() {
        std::mt19937 random(11);
        for (int trial = 0; trial < 20'000; ++trial) {
            const int pixels = 3 + static_cast<int>(random() % 40);
            const TimeNs length{1 + static_cast<std::int64_t>(random() % 100'000)};
            RoleTimes shares{};
            TimeNs left = length;
            for (const Role role : kStackOrder) {
                if (random() % 3 == 0) continue;
                const TimeNs part{static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(left.count() + 1))};
                shares[static_cast<std::size_t>(role)] = random() % 4 == 0 ? part / 50 : part;
                left -= shares[static_cast<std::size_t>(role)];
            }
            const StackHeights heights = stackHeights(shares, length, pixels);
            int sum = 0;
            std::array<TimeNs, 2> time{};
            std::array<int, 2> shown{};
            for (const Role role : kStackOrder) {
                const auto at = static_cast<std::size_t>(role);
                const double exact =
                    static_cast<double>(shares[at].count()) * pixels / static_cast<double>(length.count());
                // A pixel may go to what would be invisible otherwise.
                QVERIFY(std::abs(heights[at] - exact) < 2);
                sum += heights[at];
                time[isOpRole(role)] += shares[at];
                shown[isOpRole(role)] += heights[at];
            }
            QVERIFY(sum <= pixels);
            if (left == TimeNs{0}) QCOMPARE(sum, pixels);
            for (const std::size_t ops : {0U, 1U})
                QVERIFY(time[ops] == TimeNs{0} || shown[ops] > 0);
        }
        QCOMPARE(stackHeights({}, TimeNs{100}, 10), StackHeights{});
        RoleTimes thirds{};
        thirds[static_cast<std::size_t>(Role::Forward)] = TimeNs{33};
        thirds[static_cast<std::size_t>(Role::Backward)] = TimeNs{67};
        QCOMPARE(int(stackHeights(thirds, TimeNs{100}, 9)[static_cast<std::size_t>(Role::Forward)]), 3);
    }

    /// 256 ranks zoomed out: a third of the work is forward, and a third of what is drawn.
    void zoomedOutRowsShowAllKindsInTheirShares() {
        CompactScene scene(manyRanks(256), 12);
        std::array<double, kRoleCount> shown{};
        for (const StackPiece& piece : scene.pieces()) {
            for (const Role role : kStackOrder)
                shown[static_cast<std::size_t>(role)] += piece.height(role) * (piece.end - piece.begin);
        }
        const double forward = shown[static_cast<std::size_t>(Role::Forward)];
        const double backward = shown[static_cast<std::size_t>(Role::Backward)];
        QVERIFY2(std::abs(forward / (forward + backward) - 1.0 / 3) < 0.03,
                 qPrintable(QString::number(forward / (forward + backward))));
    }

    void foldedGroupsShowTheirMean() {
        const SessionPtr session = sampleSession(manyRanks(4));
        PlannedRow header{-1, 0, 4, true, false, {0, 1, 2, 3}};
        const RowLayout rows(session->lanes, kViewHeight, {.rows = std::vector{header}});
        const TimeRange range = session->window(0);
        const GeometryInput input{*session, {range, kCompactWidth}, rows, 0, kViewHeight, 1, {}};
        const auto strips = StackRows::strips(input).pieces();
        QVERIFY(!strips.empty());
        double busy = 0;
        for (const StackPiece& piece : strips)
            busy += piece.busy() * (piece.end - piece.begin);
        TimeNs ops{0};
        for (std::size_t line = 0; line < 4; ++line)
            ops += runningTime(session->lanes.lane(line, gui::LaneKind::Compute), range);
        const double exact = static_cast<double>(ops.count()) / 4 / static_cast<double>(range.length().count()) *
                             kStripHeight * kCompactWidth;
        QVERIFY2(std::abs(busy - exact) < 0.05 * exact, qPrintable(QStringLiteral("%1 %2").arg(busy).arg(exact)));
    }

    void shortBubblesStayVisible() {
        // One column per step: the bubbles of the last rank take little of it.
        CompactScene scene(manyRanks(64), 3);
        scene.range.end = scene.range.begin + scene.range.length() * 50;
        int both = 0;
        for (const StackPiece& piece : scene.pieces())
            both += piece.busy() > 0 && piece.idle() > 0 ? 1 : 0;
        QVERIFY(both >= 64);
    }

    void onlyCompactRowsInSightAreBuilt() {
        CompactScene scene(manyRanks(256), 12);
        scene.scroll = scene.rows.rowTop(100);
        const auto pieces = scene.pieces();
        QCOMPARE(pieces.front().row, 100);
        QCOMPARE(pieces.back().row, 100 + kViewHeight / 12 - 1);
        // However long the trace is, a row has at most one segment per pixel.
        QVERIFY(pieces.size() <= static_cast<std::size_t>(kViewHeight / 12 * scene.columns()));
    }

    void fullRowsAreNotCompact() {
        QVERIFY(CompactScene(manyRanks(8), 60).pieces().empty());
        const CompactScene compact(manyRanks(8), 8);
        const GeometryInput input{
            *compact.session, {compact.range, kCompactWidth}, compact.rows, 0, kViewHeight, 1, {}};
        QVERIFY(buildShapes(input).ops.empty());
    }

    void namesLeaveRoomForOneAnother() {
        QCOMPARE(nameEvery(20, 14), 1);
        QCOMPARE(nameEvery(10, 14), 2);
        QCOMPARE(nameEvery(3, 14), 8);
    }

    void keysChangeTheHeightAndClicksStillSelect() {
        ThemeManager themes;
        ViewState state;
        TimelineView view(state, themes);
        view.resize(900, 500);
        view.show();
        state.setSession(sampleSession(manyRanks(48)));
        view.setFocus();
        QVERIFY(view.rows().compact());
        const ItemRef op{ItemKind::Op, 1, 2, 3};
        state.zoomTo(op);
        QTest::mouseClick(view.viewport(), Qt::LeftButton, {}, view.centreOf(op).toPoint());
        QCOMPARE(state.selection(), op);
        const ItemRef bubble{ItemKind::Bubble, 1, 40, 0};
        state.zoomTo(bubble);
        QTest::mouseClick(view.viewport(), Qt::LeftButton, {}, view.centreOf(bubble).toPoint());
        QCOMPARE(state.selection(), bubble);

        const int row = view.rows().rowAt(view.verticalScrollBar()->value() + 200);
        while (view.rows().compact())
            QTest::keyClick(&view, Qt::Key_H);
        QVERIFY(std::abs(view.rows().rowAt(view.verticalScrollBar()->value() + 200) - row) <= 4); // still visible
        QTest::keyClick(&view, Qt::Key_L);
        QVERIFY(view.rows().compact());
        QTest::keyClick(&view, Qt::Key_H, Qt::ControlModifier);
        QCOMPARE(view.rows().rowHeight(), RowLayout(state.session()->lanes, 458).rowHeight());
    }

    void bubblesAndOpsAreDrawnInTheirColours() {
        ThemeManager themes;
        ViewState state;
        TimelineView view(state, themes);
        view.resize(900, 500);
        view.show();
        state.setSession(sampleSession(manyRanks(48)));
        for (const ThemeChoice choice : {ThemeChoice::Light, ThemeChoice::Dark}) {
            themes.choose(choice);
            const auto colourAt = [&](const ItemRef& item) {
                state.zoomTo(item);
                return view.viewport()->grab().toImage().pixelColor(view.centreOf(item).toPoint());
            };
            QCOMPARE(colourAt({ItemKind::Op, 1, 0, 0}), themes.theme().fill(Role::Forward));
            // Hatched, as the legend is: between the colours of hatch and ground.
            const QColor bubble = colourAt({ItemKind::Bubble, 1, 30, 0});
            QVERIFY(bubble != themes.theme().timeline);
            const auto between = [](int value, int a, int b) {
                return value >= std::min(a, b) && value <= std::max(a, b);
            };
            QVERIFY(between(bubble.red(), themes.theme().bubble_background.red(), themes.theme().bubble_hatch.red()));
        }
    }
};

BUBBLESCOPE_GUI_TEST(CompactRowTest, compact_row_test);
#include "compact_row_test.moc"
