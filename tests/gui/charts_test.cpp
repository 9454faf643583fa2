#include "app/gui/charts/bar_chart.h"
#include "app/gui/charts/heat_map.h"
#include "app/gui/charts/step_chart.h"
#include "app/gui/theme/theme.h"
#include "tests/gui/gui_tests.h"

#include <QApplication>
#include <QHelpEvent>
#include <QImage>
#include <QSignalSpy>
#include <QTest>
#include <QToolTip>

#include <algorithm>
#include <cmath>

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

Bar bar(const char* name, std::vector<int> ms) {
    Bar made{QString::fromLatin1(name), {}};
    for (std::size_t i = 0; i < ms.size(); ++i)
        made.parts.push_back({static_cast<int>(i), TimeNs{ms[i] * 1'000'000}});
    return made;
}

StepChart::Curve curve(std::vector<double> values) {
    return {QStringLiteral("Time"),
            {std::move(values), false},
            [](double value) { return QString::number(value); },
            [](const Theme& theme) { return theme.text; },
            {}};
}

} // namespace

/// Charts as geometry, and as widgets with mouse and keyboard.
class ChartsTest : public QObject {
    Q_OBJECT

private slots:
    void namesOfMarksNeverTouch() {
        // 200 marks of all kinds on 1000 pixels.
        std::vector<MarkPlace> marks;
        for (int i = 0; i < 200; ++i)
            marks.push_back({5.0 * i, 60.0 + i % 7 * 20, i % 3});
        const std::vector<MarkLabel> labels = placeMarkLabels(marks, 0, 1000);
        QVERIFY(labels.size() > 4);
        double end = 0;
        std::size_t worst = 0;
        for (const MarkLabel& label : labels) {
            QVERIFY(label.left >= end);
            QVERIFY(label.width > 0 && label.width <= marks[label.mark].width);
            worst += marks[label.mark].importance == 2;
            end = label.left + label.width;
            QVERIFY(end <= 1000);
        }
        QVERIFY2(2 * worst > labels.size(), "those that matter most go first");
    }

    void namesStandBesideTheirMarks() {
        // One in the middle, one that fits only to the left, and one without room.
        const std::vector<MarkLabel> labels = placeMarkLabels({{100, 80, 0}, {990, 80, 1}, {130, 80, 0}}, 50, 1000);
        QCOMPARE(labels.size(), 2U);
        QCOMPARE(labels[0].mark, 0U); // of equals the first: later ones do not take its name
        QVERIFY(labels[0].left > 100 && labels[0].left < 110);
        QCOMPARE(labels[1].mark, 1U);
        QCOMPARE(labels[1].left + labels[1].width, 986.0);
        // Between two more important labels a long one is elided.
        const auto cut = placeMarkLabels({{100, 300, 0}, {10, 60, 1}, {200, 60, 1}}, 0, 1000);
        QCOMPARE(cut.size(), 3U);
        QCOMPARE(cut[1].mark, 0U);
        QVERIFY(cut[1].width < 100 && cut[1].left + cut[1].width < 204);
        QVERIFY(placeMarkLabels({}, 0, 100).empty());
    }

    void theWorstMarkIsNamed() {
        ThemeManager themes;
        StepChart chart(themes);
        chart.resize(400, 200);
        chart.show();
        std::vector<double> values(100, 10.0);
        StepChart::Mark notice{50, QStringLiteral("something to note"), false, Severity::Notice};
        StepChart::Mark serious{51, QStringLiteral("straggler, rank 2"), true, Severity::Serious};
        serious.all << QStringLiteral("Rank 2 is slow.") << QStringLiteral("And something else.");
        std::vector<int> numbers(100);
        for (int i = 0; i < 100; ++i)
            numbers[static_cast<std::size_t>(i)] = i;
        chart.setCurves({curve(values)}, numbers, {notice, serious});
        const std::vector<MarkLabel> labels = chart.labels();
        QVERIFY(!labels.empty());
        QVERIFY(std::ranges::any_of(labels, [](const MarkLabel& label) { return label.mark == 1; }));
        const QImage picture = chart.grab().toImage();
        const QRgb wanted = severityColour(themes.theme(), Severity::Serious).rgb();
        int found = 0;
        for (int y = 0; y < picture.height(); ++y) {
            for (int x = 0; x < picture.width(); ++x)
                found += picture.pixel(x, y) == wanted;
        }
        QVERIFY2(found > 20, qPrintable(QString::number(found)));
        QHelpEvent help(QEvent::ToolTip, chart.pointOf(51, 0).toPoint(), chart.mapToGlobal(QPoint(10, 10)));
        QApplication::sendEvent(&chart, &help);
        QVERIFY2(QToolTip::text().contains(QStringLiteral("And something else.")), qPrintable(QToolTip::text()));
    }

    void axisCoversWhatItShows() {
        const std::vector<double> values{10, 12, 11, 13, 12};
        const Axis axis = robustAxis(values, false);
        QVERIFY(!axis.clipped);
        QVERIFY(axis.low < 10 && axis.low > 9);
        QVERIFY(axis.high > 13 && axis.high < 14);
        QCOMPARE(robustAxis(values, true).low, 0.0);
    }

    void outliersDoNotSqueezeTheAxis() {
        std::vector<double> values(50, 100);
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] += static_cast<double>(i % 5);
        values[7] = 5000;
        const Axis axis = robustAxis(values, true);
        QVERIFY(axis.clipped);
        QVERIFY(axis.high < 120);
        QVERIFY(axis.fraction(5000) > 1);
        // Twice the length is an outlier among equal values, half as much again is not.
        QVERIFY(!robustAxis(std::vector<double>{100, 100, 100, 100, 140}, true).clipped);
    }

    void axesOfOddValuesAreNeverEmpty() {
        for (const std::vector<double>& values :
             {std::vector<double>{}, {0}, {0, 0, 0}, {5}, {-3, -3}, {1e18, 1e18}, {1e-12}}) {
            for (const bool from_zero : {false, true}) {
                const Axis axis = robustAxis(values, from_zero);
                QVERIFY(axis.high > axis.low);
                for (const double value : values)
                    QVERIFY(axis.fraction(value) >= 0 && axis.fraction(value) <= 1);
                QVERIFY(niceTicks(axis, 5).size() <= 7);
            }
        }
    }

    void ticksAreRoundAndWithin() {
        const std::vector<double> ticks = niceTicks({0, 96, false}, 5);
        QCOMPARE(ticks, (std::vector<double>{0, 20, 40, 60, 80}));
    }

    void partsOfABarFollowOneAnother() {
        const std::vector<Bar> bars{bar("a", {10, 30, 0, 20}), bar("b", {40, -10, 20})};
        const BarLayout layout(bars, 500, 50, 20);
        const std::vector<BarLayout::Part> parts = layout.parts(0, 200);
        QCOMPARE(parts.size(), 6U); // one has no time
        QCOMPARE(parts[0].rect.right(), parts[1].rect.left());
        QCOMPARE(parts[1].rect.right(), parts[2].rect.left());
        QVERIFY(std::abs(parts[1].rect.width() - 3 * parts[0].rect.width()) <= 3);
        QCOMPARE(parts[4].part, 1);
        QCOMPARE(parts[4].rect.right(), std::round(layout.x(0))); // negative parts are left of 0
        QCOMPARE(layout.at(parts[2].rect.center().x(), layout.rowTop(0) + 10).part, 3);
        QCOMPARE(layout.at(498, layout.rowTop(0) + 10).part, -1);
        QCOMPARE(layout.at(100, layout.rowTop(2) + 1).bar, -1);
    }

    void onlyVisibleBarsAreLaidOut() {
        const std::vector<Bar> bars(5000, bar("x", {1, 2, 3}));
        const BarLayout layout(bars, 500, 50, 20);
        QVERIFY(layout.parts(40000, 40200).size() <= 36);
    }

    void aTornBarEndsAtTheEdge() {
        std::vector<Bar> bars(20, bar("x", {10}));
        bars.push_back(bar("y", {1000}));
        const BarLayout layout(bars, 500, 50, 20);
        const BarLayout::Part last = layout.parts(layout.rowTop(20), layout.rowTop(20) + 1).front();
        QVERIFY(last.clipped);
        QVERIFY(last.rect.right() <= 500);
        QVERIFY(layout.parts(0, 30).front().rect.width() > 300);
    }

    void clickingAPartTellsWhich() {
        ThemeManager themes;
        BarChart chart(themes);
        chart.setLook([](const Theme& theme, int) { return theme.bad; }, [](int, int) { return QString(); });
        chart.resize(500, 200);
        chart.setBars({bar("a", {10, 30}), bar("b", {20, 5})});
        chart.show();
        QSignalSpy clicked(&chart, &BarChart::clicked);
        QTest::mouseClick(chart.viewport(), Qt::LeftButton, {}, chart.partRect(1, 0).center().toPoint());
        QCOMPARE(clicked.size(), 1);
        QCOMPARE(clicked[0], (QVariantList{1, 0}));
        chart.setMarked(1, 0);
        QTest::keyClick(&chart, Qt::Key_Right);
        QCOMPARE(clicked.back(), (QVariantList{1, 1}));
        QTest::keyClick(&chart, Qt::Key_Up);
        QCOMPARE(clicked.back(), (QVariantList{0, 0}));
        QVERIFY(chart.grab().toImage().pixelColor(chart.partRect(0, 1).center().toPoint()) == themes.theme().bad);
    }

    void stepsAreFoundByPlace() {
        const StepLayout layout({{{1, 2, 3, 4}, true}, {{4, 3, 2, 1}, true}}, QRectF(50, 0, 400, 200), 16);
        QCOMPARE(layout.curves(), 2U);
        QVERIFY(layout.plot(0).bottom() < layout.plot(1).top());
        for (std::size_t step = 0; step < 4; ++step)
            QCOMPARE(layout.stepAt(layout.x(step)), static_cast<int>(step));
        QCOMPARE(layout.stepAt(-100), 0);
        QCOMPARE(layout.stepAt(9000), 3);
        QVERIFY(layout.y(0, 4) < layout.y(0, 1));
        QCOMPARE(layout.y(0, 1e9), layout.plot(0).top());
    }

    void aClickChoosesAStepAndADragSeveral() {
        ThemeManager themes;
        StepChart chart(themes);
        chart.resize(600, 200);
        chart.setCurves({curve({5, 6, 5, 7, 50, 5, 6, 5})}, {10, 11, 12, 13, 14, 15, 16, 17},
                        {{4, QStringLiteral("+9 %"), true}});
        chart.show();
        QSignalSpy chosen(&chart, &StepChart::stepChosen);
        QSignalSpy range(&chart, &StepChart::rangeChosen);
        const auto at = [&](int step) { return chart.pointOf(step, 0).toPoint(); };
        QTest::mouseClick(&chart, Qt::LeftButton, {}, at(3));
        QCOMPARE(chosen.back(), QVariantList{3});
        QTest::mousePress(&chart, Qt::LeftButton, {}, at(6));
        QTest::mouseMove(&chart, at(4));
        QTest::mouseMove(&chart, at(2));
        QTest::mouseRelease(&chart, Qt::LeftButton, {}, at(2));
        QCOMPARE(range.back(), (QVariantList{2, 6}));
        QCOMPARE(chosen.size(), 1);
        chart.setCurrent(5);
        QTest::keyClick(&chart, Qt::Key_Left);
        QCOMPARE(chosen.back(), QVariantList{4});
        QTest::keyClick(&chart, Qt::Key_End);
        QCOMPARE(chosen.back(), QVariantList{7});
    }

    /// Values that differ by little have colours that do, whatever is slow, and a key says what they stand for.
    void coloursOfAHeatMapAreContinuous() {
        ThemeManager themes;
        HeatMap map(themes);
        map.resize(500, 140);
        using Cell = HeatMap::Cell;
        const auto slow = [](double value) { return Cell{Cell::State::Slow, value, {}, {}}; };
        map.setScale(QStringLiteral("1.00"), QStringLiteral("1.36"));
        map.setCells({QStringLiteral("Rank 0")}, {QString(), QString(), QString(), QString()},
                     {slow(0), slow(0.49), slow(0.51), slow(1)});
        const QImage picture = map.grab().toImage();
        const auto colour = [&](int column) { return picture.pixelColor(map.cellRect(0, column).center().toPoint()); };
        const auto distance = [](const QColor& a, const QColor& b) {
            return std::abs(a.red() - b.red()) + std::abs(a.green() - b.green()) + std::abs(a.blue() - b.blue());
        };
        QCOMPARE(colour(3), themes.theme().bad);
        QVERIFY(distance(colour(1), colour(2)) < 20);
        QVERIFY(distance(colour(0), colour(3)) > 100);
        // The key below runs from the colour of the best to that of the worst.
        const int below = static_cast<int>(map.cellRect(0, 0).bottom()) + 16;
        int best = 0;
        int worst = 0;
        for (int x = 0; x < picture.width(); ++x) {
            best += picture.pixelColor(x, below) == colour(0);
            worst += picture.pixelColor(x, below) == colour(3);
        }
        QVERIFY(best > 0 && worst > 0);
    }

    void anEmptyStepChartTakesClicks() {
        ThemeManager themes;
        StepChart chart(themes);
        QSignalSpy chosen(&chart, &StepChart::stepChosen);
        QTest::mouseClick(&chart, Qt::LeftButton, {}, {50, 50});
        QTest::keyClick(&chart, Qt::Key_Home);
        QVERIFY(chosen.isEmpty());
    }
};

BUBBLESCOPE_GUI_TEST(ChartsTest, charts_test);
#include "charts_test.moc"
