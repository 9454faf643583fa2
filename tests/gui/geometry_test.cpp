#include "app/gui/models/session_queries.h"
#include "app/gui/timeline/geometry.h"
#include "app/gui/timeline/row_shapes.h"
#include "app/gui/timeline/time_axis.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"

#include <QTest>

#include <map>

using namespace bubblescope;
using namespace bubblescope::gui;
using namespace std::chrono_literals;

namespace {

constexpr double kWidth = 1000;
constexpr int kHeight = 400;

QSizeF sevenPixelsALetter(const QString& text) {
    double widest = 0;
    const auto lines = text.split(QLatin1Char('\n'));
    for (const QString& line : lines)
        widest = std::max(widest, 7.0 * static_cast<double>(line.size()));
    return {widest, 15.0 * static_cast<double>(lines.size())};
}

/// All shapes, in drawing order. The parts of columns are separate ones, as high as their shares.
std::vector<TimelineShape> shapesIn(const GeometryInput& input) {
    RowShapes rows = buildShapes(input);
    for (const StackPiece& piece : rows.stacks) {
        for (const Role role : kStackOrder) {
            TimelineShape part;
            part.role = role;
            part.rect = QRectF(piece.begin, 0, piece.end - piece.begin, piece.height(role)); // at a ratio of 1
            if (piece.height(role) > 0) rows.ops.push_back(part);
        }
    }
    std::ranges::move(rows.lanes, std::back_inserter(rows.ops));
    return std::move(rows.ops);
}

struct Scene {
    SessionPtr session;
    RowLayout rows;
    TimeRange range;
    double ratio = 1;
    int scroll = 0;

    explicit Scene(const SampleSpec& spec = {})
        : session(sampleSession(spec)), rows(session->lanes, kHeight), range(session->window(0)) {}

    [[nodiscard]] GeometryInput input() const {
        return {*session, {range, kWidth}, rows, scroll, kHeight, ratio, sevenPixelsALetter};
    }
    [[nodiscard]] std::vector<TimelineShape> shapes() const { return shapesIn(input()); }
};

bool isOp(const TimelineShape& shape) {
    return shape.role <= Role::Optimizer;
}

/// One rank with `count` ops of 1 µs and a gap of `gap` between them.
SessionPtr denseSession(int count, TimeNs gap) {
    Run run;
    run.schedule.pp = 1;
    run.schedule.name = "custom";
    StepTimeline step;
    step.microbatches = count;
    step.ranks.resize(1);
    step.comm.resize(1);
    TimeNs at{0};
    for (int i = 0; i < count; ++i) {
        const OpKind kind = i < count / 2 ? OpKind::Forward : OpKind::Backward;
        step.ranks[0].push_back({{kind, Microbatch(i), Chunk(0)}, at, at + 1us});
        at += 1us + gap;
    }
    step.fitWindow();
    // Only what geometry reads: the diagnosis of this many ops takes a minute.
    auto session = std::make_shared<Session>();
    session->report.steps.resize(1);
    session->report.steps[0].bubbles = findBubbles(step);
    session->report.steps[0].ranks.edit().resize(1);
    session->run = std::move(run);
    session->run.steps.push_back(std::move(step));
    session->lanes = gui::Lanes(session->run.steps, session->report.steps);
    return session;
}

} // namespace

class GeometryTest : public QObject {
    Q_OBJECT

private slots:
    void everyOpAndBubbleHasOneShape() {
        const Scene scene;
        const auto shapes = scene.shapes();
        std::map<ItemKind, std::size_t> count;
        for (const TimelineShape& shape : shapes)
            ++count[shape.item.kind];
        std::size_t bubbles = 0;
        for (const auto& rank : scene.session->analysis(0).bubbles)
            bubbles += rank.size();
        QCOMPARE(count[ItemKind::Op], std::size_t{4 * 16}); // optimizers are after the window
        QCOMPARE(count[ItemKind::Bubble], bubbles);
        QVERIFY(bubbles > 0);
    }

    void halvesOfAPairShareTheLane() {
        SampleSpec spec;
        spec.schedule = {"1f1b-overlap", "combined", 4, 8, 1};
        const Scene scene(spec);
        const GeometryInput input = scene.input();
        int pairs = 0;
        for (const TimelineShape& shape : scene.shapes()) {
            const ItemRef other = otherHalf(*scene.session, shape.item);
            if (!other) continue;
            QCOMPARE(itemRect(input, shape.item), shape.rect);
            const QRectF below = itemRect(input, other);
            QVERIFY(!shape.rect.intersects(below));
            QCOMPARE(below.left(), shape.rect.left());
            QCOMPARE(below.right(), shape.rect.right());
            const bool forward = scene.session->op(shape.item).op.kind == OpKind::Forward;
            QCOMPARE(shape.rect.top() < below.top(), forward);
            const QPointF middle = shape.rect.center();
            QCOMPARE(hitTest(*scene.session, input.scale, scene.rows, scene.scroll, middle.x(), middle.y(), 2),
                     shape.item);
            ++pairs;
        }
        QVERIFY(pairs > 8);
    }

    void shapesLieInsideThePlotOnDevicePixels_data() {
        QTest::addColumn<double>("ratio");
        QTest::addColumn<double>("begin");
        QTest::addColumn<double>("length");
        for (const double ratio : {1.0, 1.5, 2.0}) {
            QTest::addRow("all %g", ratio) << ratio << -0.1 << 1.2;
            QTest::addRow("part %g", ratio) << ratio << 0.313 << 0.211;
            QTest::addRow("deep %g", ratio) << ratio << 0.5 << 0.0001;
        }
    }
    void shapesLieInsideThePlotOnDevicePixels() {
        QFETCH(const double, ratio);
        QFETCH(const double, begin);
        QFETCH(const double, length);
        Scene scene;
        scene.ratio = ratio;
        const auto part = [&](double share) {
            return TimeNs{
                static_cast<std::int64_t>(share * static_cast<double>(scene.session->step(0).wall().count()))};
        };
        const TimeNs from = scene.session->step(0).begin + part(begin);
        scene.range = {from, from + part(length)};
        const auto shapes = scene.shapes();
        QVERIFY(!shapes.empty());
        for (const TimelineShape& shape : shapes) {
            QVERIFY(shape.rect.left() >= 0);
            QVERIFY(shape.rect.right() <= kWidth + 1e-9);
            QVERIFY(shape.rect.width() * ratio >= 1 - 1e-9);
            const double device = shape.rect.left() * ratio;
            QVERIFY(std::abs(device - std::round(device)) < 1e-6);
            if (shape.label.isEmpty()) continue;
            QVERIFY(sevenPixelsALetter(shape.label).width() <= shape.rect.width());
        }
    }

    void opsAndBubblesOfALaneDoNotOverlap() {
        Scene scene;
        scene.range = padded(scene.session->lanes.extent(), 0.01);
        std::map<int, std::map<int, double>> reached; // ops and bubbles per row
        for (const TimelineShape& shape : scene.shapes()) {
            if (!isOp(shape) && shape.role != Role::Bubble) continue;
            double& end = reached[isOp(shape)][static_cast<int>(shape.rect.top())];
            QVERIFY2(shape.rect.left() >= end - 1e-9, qPrintable(QString::number(shape.rect.left())));
            end = shape.rect.right();
        }
        QCOMPARE(reached[1].size(), std::size_t{4});
    }

    void rowsOutOfSightAreLeftOut() {
        SampleSpec spec;
        spec.schedule = {"1f1b", "", 32, 32, 1};
        spec.steps = 1;
        Scene scene(spec);
        scene.rows = RowLayout(scene.session->lanes, kHeight, {.height = RowLayout::kMinReadableHeight});
        QVERIFY(scene.rows.contentHeight() > kHeight);
        scene.scroll = scene.rows.rowTop(10);
        int lowest = 32;
        int highest = 0;
        for (const TimelineShape& shape : scene.shapes()) {
            if (!shape.item) continue;
            lowest = std::min(lowest, static_cast<int>(shape.item.rank));
            highest = std::max(highest, static_cast<int>(shape.item.rank));
        }
        QCOMPARE(lowest, 10);
        QVERIFY(highest < 31);
    }

    void labelsFallBackToShorterOnes() {
        Scene scene;
        const ItemRef bubble{ItemKind::Bubble, 0, 0, 0};
        QCOMPARE(scene.session->bubble(bubble).duration(), TimeNs{30ms});
        const auto labelAt = [&](double pixels) {
            const TimeRange range = scene.session->range(bubble);
            const double share = kWidth / pixels;
            scene.range = {range.begin, range.begin + TimeNs{static_cast<std::int64_t>(
                                                          share * static_cast<double>(range.length().count()))}};
            for (const TimelineShape& shape : scene.shapes()) {
                if (shape.item == bubble) return shape.label;
            }
            return QStringLiteral("missing");
        };
        QCOMPARE(labelAt(300), QStringLiteral("30.0 ms · closed form 30.0 ms"));
        QCOMPARE(labelAt(150), QStringLiteral("30.0 ms\nclosed form 30.0 ms"));
        QCOMPARE(labelAt(60), QStringLiteral("30.0 ms"));
        QCOMPARE(labelAt(30), QString());
    }

    void subPixelOpsCoalesce() {
        // 200 000 ops on 1000 pixels: no more shapes than pixels, each in a colour that occurs there.
        const SessionPtr session = denseSession(200000, TimeNs{0});
        const RowLayout rows(session->lanes, kHeight);
        const auto shapes = shapesIn({*session, {session->window(0), kWidth}, rows, 0, kHeight, 1, sevenPixelsALetter});
        QVERIFY(shapes.size() <= 4);
        double covered = 0;
        for (const TimelineShape& shape : shapes) {
            QVERIFY(!shape.item);
            QCOMPARE(shape.role, shape.rect.center().x() < kWidth / 2 ? Role::Forward : Role::Backward);
            covered += shape.rect.width();
        }
        QCOMPARE(covered, kWidth);
    }

    void subPixelOpsStayVisible() {
        // Three ops a thousandth of a pixel wide, far apart: each shows as one pixel, or as two if it lies on their
        // border.
        const SessionPtr session = denseSession(3, 400ms);
        const RowLayout rows(session->lanes, kHeight);
        const auto shapes = shapesIn({*session, {session->window(0), kWidth}, rows, 0, kHeight, 1, sevenPixelsALetter});
        int ops = 0;
        for (const TimelineShape& shape : shapes) {
            if (!isOp(shape)) continue;
            ++ops;
            QVERIFY(shape.rect.width() == 1 || shape.rect.width() == 2);
        }
        QCOMPARE(ops, 3);
    }

    /// Columns that wide ops share with a narrow bubble between them, or a narrow op with wide bubbles around it,
    /// belong to one of them: stacks of their shares would be notches in the edges.
    void edgesAmongWideItemsAreSharp() {
        for (const auto& [ops, gap] :
             {std::pair(20, TimeNs{20}), std::pair(20, TimeNs{50}), std::pair(6, TimeNs{80'000})}) {
            const SessionPtr session = denseSession(ops, gap);
            const RowLayout rows(session->lanes, kHeight);
            double covered = 0;
            double end = 0;
            std::vector<TimelineShape> shapes =
                shapesIn({*session, {session->window(0), kWidth}, rows, 0, kHeight, 1, sevenPixelsALetter});
            std::ranges::sort(shapes, {}, [](const TimelineShape& shape) { return shape.rect.left(); });
            for (const TimelineShape& shape : shapes) {
                QVERIFY(shape.item);
                QCOMPARE(shape.rect.height(), double(rows.bands().front().height));
                QCOMPARE(shape.rect.left(), end);
                end = shape.rect.right();
                covered += shape.rect.width();
            }
            QCOMPARE(covered, kWidth);
        }
    }

    /// Ops of one to three pixels: what is drawn of each kind is its exact share, at any zoom.
    void narrowOpsAreDrawnInTheirShares() {
        for (const double width : {300.0, 700.0, 1000.0}) {
            const SessionPtr session = denseSession(600, TimeNs{500});
            const RowLayout rows(session->lanes, kHeight);
            const TimeRange range = session->window(0);
            double forward = 0;
            double backward = 0;
            double bubble = 0;
            for (const TimelineShape& shape :
                 shapesIn({*session, {range, width}, rows, 0, kHeight, 1, sevenPixelsALetter})) {
                const double area = shape.rect.width() * shape.rect.height();
                (shape.role == Role::Forward ? forward : shape.role == Role::Backward ? backward : bubble) += area;
            }
            const double all = width * rows.bands().front().height;
            QVERIFY(std::abs(forward / all - 1.0 / 3) < 0.01); // 600 times 1 µs and 0.5 µs, half of them forwards
            QVERIFY(std::abs(backward / all - 1.0 / 3) < 0.01);
            QVERIFY(std::abs(bubble / all - 1.0 / 3) < 0.01);
        }
    }

    void manyOpsAreFast() {
        const SessionPtr session = denseSession(300000, TimeNs{300});
        const RowLayout rows(session->lanes, kHeight);
        std::size_t shapes = 0;
        QBENCHMARK {
            shapes = shapesIn({*session, {session->window(0), kWidth}, rows, 0, kHeight, 1, sevenPixelsALetter}).size();
        }
        QVERIFY(shapes <= 2 * static_cast<std::size_t>(kWidth));
    }

    void hitTestFindsWhatIsDrawn() {
        const Scene scene;
        const TimeScale scale{scene.range, kWidth};
        for (const TimelineShape& shape : scene.shapes()) {
            if (shape.item.kind != ItemKind::Op && shape.item.kind != ItemKind::Bubble) continue;
            const QPointF at = shape.rect.center();
            QCOMPARE(hitTest(*scene.session, scale, scene.rows, 0, at.x(), at.y()), shape.item);
            QCOMPARE(itemRect(scene.input(), shape.item), shape.rect);
        }
        QVERIFY(!hitTest(*scene.session, scale, scene.rows, 0, 10, -5));
        QVERIFY(!hitTest(*scene.session, scale, scene.rows, 0, 10, scene.rows.contentHeight() + 5));
    }

    void thinTransfersCanBeHit() {
        const Scene scene;
        const TimeScale scale{scene.range, kWidth};
        const auto& sends = scene.session->lanes.lane(0, gui::LaneKind::Send).spans();
        QVERIFY(!sends.empty());
        const ItemRef send{ItemKind::Comm, sends[2].step, 0, sends[2].index};
        const QRectF rect = itemRect(scene.input(), send);
        QCOMPARE(hitTest(*scene.session, scale, scene.rows, 0, rect.left() + 1.5, rect.center().y()), send);
    }

    void rowsGrowAndShrinkWithTheView() {
        const SessionPtr session = sampleSession();
        const RowLayout low(session->lanes, 50);
        const RowLayout high(session->lanes, 4000);
        QVERIFY(low.contentHeight() > 50); // readable rather than fitting: the view scrolls
        QVERIFY(high.contentHeight() < 4000);
        QVERIFY(low.rowHeight() < high.rowHeight());
        for (const RowLayout& rows : {low, high}) {
            int end = 0;
            for (const LaneBand& band : rows.bands()) {
                QVERIFY(band.top >= end);
                end = band.top + band.height;
            }
            QVERIFY(end <= rows.rowHeight());
            QCOMPARE(rows.rowAt(-1), -1);
            QCOMPARE(rows.rowAt(rows.contentHeight()), -1);
            QCOMPARE(rows.rowAt(rows.rowTop(2)), 2);
        }
    }

    /// Few ranks on a large screen leave no room empty, with the rows of a reference or without.
    void fewRowsFillTheView() {
        const SessionPtr session = sampleSession();
        const auto lines = static_cast<int>(session->lanes.lineCount());
        QCOMPARE(lines, 4);
        for (const bool reference : {false, true}) {
            for (const int height : {500, 700, 1000, 1300, 1600}) {
                const RowLayout rows(session->lanes, height, {.reference = reference});
                QVERIFY2(rows.contentHeight() <= height, qPrintable(QString::number(height)));
                QVERIFY2(rows.contentHeight() > height - 2 * lines, qPrintable(QString::number(height)));
            }
            const RowLayout most(session->lanes, 9000, {.reference = reference});
            QCOMPARE(most.bands().front().height, RowLayout::kMaxBandHeight);
        }
    }

    void ticksAreRoundAndApart_data() {
        QTest::addColumn<qint64>("length");
        for (const qint64 length : {100LL, 999LL, 12'345LL, 1'000'000LL, 7'654'321LL, 165'000'000LL, 90'000'000'000LL})
            QTest::addRow("%lld ns", static_cast<long long>(length)) << length;
    }
    void ticksAreRoundAndApart() {
        QFETCH(const qint64, length);
        const TimeNs origin = 5h;
        const TimeScale scale{{origin - TimeNs{length / 10}, origin - TimeNs{length / 10} + TimeNs{length}}, kWidth};
        const auto ticks = makeTicks(scale, origin, 90);
        double last = -1e9;
        int majors = 0;
        QStringList labels;
        for (const Tick& tick : ticks) {
            if (!tick.major) {
                QVERIFY(tick.label.isEmpty());
                continue;
            }
            QVERIFY(!tick.label.isEmpty());
            QVERIFY(tick.x - last >= 89);
            QVERIFY2(!labels.contains(tick.label), qPrintable(tick.label));
            labels << tick.label;
            last = tick.x;
            ++majors;
        }
        QVERIFY(majors >= 3);
        QVERIFY(majors <= 12);
    }
};

BUBBLESCOPE_GUI_TEST(GeometryTest, geometry_test);
#include "geometry_test.moc"
