#include "app/gui/language/language.h"
#include "app/gui/timeline/column_band.h"
#include "app/gui/timeline/compact_row.h"
#include "app/gui/timeline/kept_picture.h"
#include "app/gui/timeline/pixel_canvas.h"
#include "app/gui/timeline/raw_painter.h"
#include "app/gui/timeline/row_painter.h"
#include "app/gui/timeline/timeline_view.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"

#include <QFontMetricsF>
#include <QImage>
#include <QPainter>
#include <QScreen>
#include <QScrollBar>
#include <QTest>

#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <random>

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

constexpr QRgb kGround = 0xff102030;

QImage picture(const QSize& size, double ratio) {
    QImage image((QSizeF(size) * ratio).toSize(), QImage::Format_RGB32);
    image.setDevicePixelRatio(ratio);
    image.fill(kGround);
    return image;
}

/// The picture of a range of a session in a timeline without its frame.
struct BarePlot {
    SessionPtr session;
    RowLayout rows;
    TimeRange range;
    double ratio = 1;
    int scroll = 0;
    const Theme& theme = themeOf(ThemeChoice::Light);
    QRect plot{20, 10, 700, 420};

    /// By pixels, or by a painter as into files.
    template <class Paint>
    [[nodiscard]] QImage drawn(bool by_pixels, const Paint& paint) const {
        QImage image = picture(QSize(740, 440), ratio);
        QPainter painter(&image);
        const QFont font = painter.font();
        const GeometryInput input{
            *session, {range, double(plot.width())}, rows, scroll, plot.height(), ratio, [&font](const QString& text) {
                return QFontMetricsF(font).size(0, text);
            }};
        PixelCanvas pixels(image, plot, ratio);
        LabelCache labels;
        LabelCache smaller;
        labels.setFont(font);
        smaller.setFont(smallFont(font));
        TimelineFrame frame{theme, *session, input, plot, 0, font};
        if (by_pixels) frame.pixels = &pixels;
        frame.labels = &labels;
        frame.smaller = &smaller;
        paint(painter, frame);
        painter.end();
        return image;
    }
    [[nodiscard]] QImage drawnRows(bool by_pixels) const {
        return drawn(by_pixels, [](QPainter& painter, const TimelineFrame& frame) {
            RowPainter(painter, frame).paint();
            // Those of images are written with the rows.
            if (frame.pixels == nullptr) RawPainter(painter, frame).paint(buildRawShapes(frame.geometry));
        });
    }
};

/// How many pixels of each colour there are.
std::map<QRgb, int> colours(const QImage& image) {
    std::map<QRgb, int> count;
    for (int y = 0; y < image.height(); ++y) {
        for (int x = 0; x < image.width(); ++x)
            ++count[image.pixel(x, y)];
    }
    return count;
}

SessionPtr manyOps(int ranks, int steps) {
    SampleSpec spec;
    spec.schedule = {"1f1b", "", ranks, 4 * ranks, 1};
    spec.steps = steps;
    spec.comm = std::chrono::milliseconds(1);
    return sampleSession(spec);
}

/// The device pixel ratios at which a test paints.
void addRatios() {
    QTest::addColumn<double>("ratio");
    for (const double ratio : {1.0, 1.5, 2.0})
        QTest::addRow("%g", ratio) << ratio;
}

} // namespace

class PaintingTest : public QObject {
    Q_OBJECT

private slots:
    void aCanvasFillsAsAPainterDoes_data() { addRatios(); }
    void aCanvasFillsAsAPainterDoes() {
        QFETCH(const double, ratio);
        const QSize size(200, 120);
        const QRect plot(20, 10, 160, 90);
        QImage tile(13, 7, QImage::Format_RGB32);
        for (int y = 0; y < tile.height(); ++y) {
            for (int x = 0; x < tile.width(); ++x)
                tile.setPixel(x, y, qRgb(x * 19, y * 30, 77));
        }
        QImage ours = picture(size, ratio);
        QImage theirs = picture(size, ratio);
        PixelCanvas canvas(ours, plot, ratio);
        QPainter painter(&theirs);
        painter.setClipRect(plot);
        painter.translate(plot.topLeft());
        QPixmap brush = QPixmap::fromImage(tile);
        brush.setDevicePixelRatio(ratio);
        std::mt19937 random(3);
        const auto somewhere = [&](int from, int to) {
            return (from + static_cast<int>(random() % static_cast<unsigned>(to - from))) / ratio;
        };
        for (int i = 0; i < 300; ++i) {
            // On device pixels, partly outside the plot.
            const QRectF rect(somewhere(-30, 350), somewhere(-30, 200), somewhere(0, 60), somewhere(0, 60));
            if (i % 3 == 0) {
                canvas.fillTiledDevice(canvas.boxOf(rect), tile);
                painter.fillRect(rect, QBrush(brush));
            } else {
                const QRgb colour = qRgb(i % 256, 200, (i * 7) % 256);
                canvas.fill(rect, colour);
                painter.fillRect(rect, QColor(colour));
            }
        }
        painter.end();
        QCOMPARE(ours, theirs);
    }

    void boxesAreClippedToThePlot() {
        QImage boxes = picture({100, 50}, 1);
        QImage rects = picture({100, 50}, 1);
        PixelCanvas a(boxes, {10, 5, 80, 40}, 1);
        PixelCanvas b(rects, {10, 5, 80, 40}, 1);
        a.fillDevice({-5, -3, 4, 17}, 0xffff0000);
        a.fillDevice({4, 4, 9, 17}, 0xff00ff00);
        a.fillDevice({60, 16, 900, 17}, 0xff0000ff);
        a.fillDevice({30, 0, 30, 17}, 0xffffffff); // empty
        a.fillDevice({30, 9, 40, 9}, 0xffffffff);
        b.fill({-5, -3, 9, 20}, 0xffff0000);
        b.fill({4, 4, 5, 13}, 0xff00ff00);
        b.fill({60, 16, 840, 1}, 0xff0000ff);
        QCOMPARE(boxes, rects);
        QCOMPARE(boxes.pixel(9, 20), kGround);
        QCOMPARE(boxes.pixel(90, 20), kGround);
        a.fillDevice({0, 35, 80, 55}, 0xff00ffff); // ends below the plot
        b.fill({0, 35, 80, 5}, 0xff00ffff);
        QCOMPARE(boxes, rects);
    }

    /// Copied or drawn, an image looks the same: at any place, beyond an edge, scaled, clipped, in another format.
    void imagesAreCopiedAsTheyAreDrawn() {
        std::mt19937 random(9);
        for (const double ratio : {1.0, 1.5, 2.0}) {
            for (const QPoint& place : {QPoint(0, 0), QPoint(8, 4), QPoint(-20, 10), QPoint(60, 180)}) {
                for (const bool whole : {true, false}) {
                    for (const QImage::Format format : {QImage::Format_RGB32, QImage::Format_RGB16}) {
                        QImage image = picture({120, 130}, ratio);
                        for (int y = 0; y < image.height(); ++y) {
                            for (int x = 0; x < image.width(); ++x)
                                image.setPixel(x, y, 0xff000000U | static_cast<QRgb>(random()));
                        }
                        QImage ours = picture({200, 300}, ratio).convertToFormat(format);
                        QImage theirs = ours.copy();
                        const auto draw = [&](QImage& on, const auto& how) {
                            QPainter painter(&on);
                            painter.translate(place);
                            if (!whole) painter.setClipRect(30, 20, 50, 60);
                            how(painter);
                        };
                        draw(ours, [&](QPainter& painter) { drawPicture(painter, image, whole); });
                        draw(theirs, [&](QPainter& painter) { painter.drawImage(0, 0, image); });
                        QCOMPARE(ours, theirs);
                    }
                }
            }
        }
    }

    void picturesThatMoveArePaintedWhereTheyAreShown_data() { addRatios(); }
    /// Straight into the window's memory while each is another one, and into memory that is kept where one is shown
    /// twice, in part, or on a device of another kind. They look the same.
    void picturesThatMoveArePaintedWhereTheyAreShown() {
        QFETCH(const double, ratio);
        const QSize size(60, 40);
        QImage window = picture({100, 80}, ratio);
        QImage other = window.convertToFormat(QImage::Format_RGB16);
        KeptPicture kept;
        bool painted = false;
        bool straight = false;
        const auto show = [&](QImage& on, std::uint64_t version, bool whole = true) {
            const uchar* const begin = on.constBits();
            QPainter painter(&on);
            painter.translate(8, 4);
            if (!whole) painter.setClipRect(0, 0, 30, 40);
            painted = straight = false;
            kept.draw(painter, version, size, ratio, whole, [&](QImage& image) {
                painted = true;
                straight = image.constBits() >= begin && image.constBits() < begin + on.sizeInBytes();
                QCOMPARE(image.size(), (QSizeF(size) * ratio).toSize());
                QCOMPARE(image.devicePixelRatio(), ratio);
                for (int y = 0; y < image.height(); ++y) {
                    for (int x = 0; x < image.width(); ++x)
                        image.setPixel(x, y, qRgb(static_cast<int>(version) * 20, x, y));
                }
            });
        };
        const auto shows = [&](const QImage& on, std::uint64_t version) {
            const auto at = [ratio](double x, double y) { return QPoint(qRound(x * ratio), qRound(y * ratio)); };
            const auto version_at = [&](double x, double y) { return qRed(on.pixel(at(x, y))) / 20; };
            const auto expected = static_cast<int>(version);
            return version_at(9, 5) == expected && version_at(66, 42) == expected && on.pixel(at(4, 2)) == kGround &&
                   on.pixel(at(70, 46)) == kGround;
        };
        show(window, 1);
        QVERIFY(painted && !straight);
        show(window, 1);
        QVERIFY(!painted && shows(window, 1));
        show(window, 2); // as the last one was needed twice, this one is kept too
        QVERIFY(painted && !straight && shows(window, 2));
        for (const std::uint64_t version : {3U, 4U}) {
            show(window, version);
            QVERIFY(painted && straight && shows(window, version));
        }
        show(window, 4, false); // now it is needed
        QVERIFY(painted && !straight && shows(window, 4));
        show(window, 4);
        QVERIFY(!painted && shows(window, 4));
        show(window, 5);
        QVERIFY(painted && !straight && shows(window, 5));
        show(window, 6, false); // would be straight, were it not clipped
        QVERIFY(painted && !straight);
        QCOMPARE(qRed(window.pixel(qRound(9 * ratio), qRound(5 * ratio))) / 20, 6);
        QCOMPARE(qRed(window.pixel(qRound(66 * ratio), qRound(42 * ratio))) / 20, 5);
        show(other, 7);
        QVERIFY(painted && !straight);
        show(window, 8);
        QVERIFY(painted && straight && shows(window, 8));
    }

    /// Columns that are gathered look like boxes filled one after another, whatever is drawn over them.
    void bandsOfColumnsLookLikeBoxes() {
        std::mt19937 random(5);
        const auto below = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
        ColumnBand band;
        for (int trial = 0; trial < 60; ++trial) {
            QImage ours = picture({120, 70}, 1);
            QImage theirs = picture({120, 70}, 1);
            const QRect plot(10, 5, 90 + trial % 3, 60);
            PixelCanvas a(ours, plot, 1);
            PixelCanvas b(theirs, plot, 1);
            const int bottom = -2 + below(75); // partly outside
            band.begin(a, bottom, plot.width());
            for (int i = 0; i < 40; ++i) {
                const int begin = -3 + below(plot.width());
                const int end = begin + 1 + below(8);
                const QRgb colour = 0xff000000U | static_cast<QRgb>(random());
                // Whole ones, each in place of the last; then ones of any height over those.
                const int top = i < 15 ? 20 : 1 + below(25);
                if (i >= 15) band.settle(begin, end);
                band.put(begin, end, top, colour);
                b.fillDevice({begin, bottom - top, end, bottom}, colour);
            }
            band.flush();
            band.flush(); // nothing is left
            QCOMPARE(ours, theirs);
        }
        QImage ours = picture({40, 40}, 1);
        PixelCanvas canvas(ours, {0, 0, 40, 40}, 1);
        band.begin(canvas, 30, 40);
        band.put(5, 9, 10, 0xffff0000);
        band.put(6, 7, 0, 0);
        band.flush();
        QCOMPARE(ours.pixel(5, 29), 0xffff0000);
        QCOMPARE(ours.pixel(6, 29), kGround);
        QCOMPARE(ours.pixel(8, 20), 0xffff0000);
        QCOMPARE(ours.pixel(8, 19), kGround);
    }

    void namesAreShownWhereTheyWereKept() {
        for (const double ratio : {1.0, 1.5, 2.0, 1.25}) {
            const QSize size(60, 40);
            QImage image = picture(size, ratio);
            for (int y = 0; y < image.height(); ++y) {
                for (int x = 0; x < image.width(); ++x)
                    image.setPixel(x, y, qRgb(x, y, 7));
            }
            KeptNames names({0, 14}, 20);
            QVERIFY(!names.show(image, 1));
            names.keep(image, 1);
            QImage other = picture(size, ratio);
            if (ratio == 1.25) { // the corner lies between device pixels
                QVERIFY(!names.show(other, 1));
                continue;
            }
            QPainter painter(&other);
            QVERIFY(names.show(other, 1));
            for (int y = 0; y < image.height(); ++y) {
                for (int x = 0; x < image.width(); ++x)
                    QCOMPARE(other.pixel(x, y), x < 20 * ratio && y >= 14 * ratio ? image.pixel(x, y) : kGround);
            }
            painter.end();
            QVERIFY(!names.show(other, 2));
            QImage lower = picture({60, 39}, ratio);
            QVERIFY(!names.show(lower, 1));
            QImage sharper(image.size(), image.format());
            sharper.setDevicePixelRatio(3);
            QVERIFY(!names.show(sharper, 1));
            names.keep(image, 2);
            QVERIFY(names.show(other, 2) && !names.show(other, 1));
        }
    }

    /// Names are kept while time moves. Whatever else changes, a view that was changed and then moved looks like one
    /// that is so from the start.
    void keptNamesFollowEveryChange() {
        SampleSpec spec;
        spec.trace = true;
        spec.schedule = {"1f1b", "", 8, 16, 1};
        const SessionPtr session = sampleSession(spec);
        using Change = std::function<void(TimelineView&, ThemeManager&)>;
        const auto rows = [](const std::function<void(RowChoice&)>& change) {
            return Change([change](TimelineView& view, ThemeManager&) {
                RowChoice choice = view.state().rows();
                change(choice);
                view.state().setRows(choice);
            });
        };
        const std::vector<Change> changes{
            [](TimelineView&, ThemeManager& themes) { themes.choose(ThemeChoice::Dark); },
            [](TimelineView& view, ThemeManager&) { view.setUnfolded(1, true); },
            [](TimelineView& view, ThemeManager&) { view.verticalScrollBar()->setValue(9); },
            [](TimelineView& view, ThemeManager&) {
                QFont font = view.font();
                font.setPointSizeF(font.pointSizeF() * 1.5);
                view.setFont(font);
            },
            [](TimelineView& view, ThemeManager&) { view.resize(820, 410); },
            [](TimelineView& view, ThemeManager&) { view.setRowHeight(40); },
            [](TimelineView& view, ThemeManager&) { view.setUnfolded(1, false); },
            rows([](RowChoice& choice) { choice.setPinned(3, true); }),
            rows([](RowChoice& choice) { choice.group = MeshAxis::Pipeline; }),
            rows([](RowChoice& choice) { choice.setFolded(2, true); }),
            [](TimelineView& view, ThemeManager&) { view.setRowHeight(8); },
            rows([](RowChoice& choice) { choice.group.reset(); }),
            [](TimelineView& view, ThemeManager&) { view.state().showStep(2); },
            [](TimelineView&, ThemeManager& themes) { themes.choose(ThemeChoice::Light); },
            [](TimelineView& view, ThemeManager&) { view.setRowHeight(36); },
        };
        struct Window {
            ThemeManager themes;
            ViewState state;
            TimelineView view{state, themes};

            explicit Window(const SessionPtr& session) {
                themes.choose(ThemeChoice::Light);
                view.resize(900, 500);
                view.setFocusPolicy(Qt::NoFocus); // it would be framed
                view.show();
                state.setSession(session);
                if (!QTest::qWaitForWindowExposed(&view)) qFatal("the window is not shown");
            }
            [[nodiscard]] QImage shown(const TimeRange& range) {
                state.range().show(range);
                QApplication::processEvents(); // scroll bars appear and disappear
                view.viewport()->repaint();
                return view.screen()->grabWindow(view.winId()).toImage();
            }
        };
        Window changed(session);
        const TimeRange all = changed.state.range().limits();
        const TimeRange parts[]{{all.begin, all.begin + all.length() / 2}, {all.begin + all.length() / 3, all.end}};
        (void)changed.shown(parts[0]);
        for (std::size_t count = 1; count <= changes.size(); ++count) {
            changes[count - 1](changed.view, changed.themes);
            (void)changed.shown(parts[0]);
            Window fresh(session);
            for (std::size_t i = 0; i < count; ++i)
                changes[i](fresh.view, fresh.themes);
            (void)fresh.shown(parts[0]); // a step may become the current one
            QCOMPARE(changed.shown(parts[1]), fresh.shown(parts[1]));
        }
        const QImage english = changed.shown(parts[0]);
        {
            LanguageManager languages;
            languages.choose(Language::Chinese);
            const QImage chinese = changed.shown(parts[1]);
            Window fresh(session);
            for (const Change& change : changes)
                change(fresh.view, fresh.themes);
            (void)fresh.shown(parts[0]);
            QCOMPARE(chinese, fresh.shown(parts[1]));
        }
        QCOMPARE(changed.shown(parts[0]), english);
    }

    /// The next step may begin on a rank before this one's bubble at its end is over.
    void labelsOfBubblesKeepClearOfOps() {
        const auto shape = [](Role role, const QRectF& rect) {
            TimelineShape out;
            out.role = role;
            out.rect = rect;
            return out;
        };
        const TimelineShape bubble = shape(Role::Bubble, {100, 20, 200, 16});
        const auto clear = [&](std::vector<TimelineShape> others) {
            others.push_back(bubble);
            return RowPainter::clearOf(bubble, others).rect;
        };
        QCOMPARE(clear({}), bubble.rect);
        QCOMPARE(clear({shape(Role::Forward, {250, 20, 90, 16})}), QRectF(100, 20, 150, 16));
        QCOMPARE(clear({shape(Role::Backward, {60, 20, 70, 16})}), QRectF(130, 20, 170, 16));
        QCOMPARE(clear({shape(Role::Forward, {250, 20, 90, 16}), shape(Role::Backward, {60, 20, 70, 16})}),
                 QRectF(130, 20, 120, 16));
        QCOMPARE(clear({shape(Role::Forward, {90, 20, 300, 16})}).width(), 0.0);
        // Ops of other rows, ops that only touch it, and other bubbles cover nothing.
        QCOMPARE(clear({shape(Role::Forward, {250, 36, 90, 16}), shape(Role::Forward, {300, 20, 90, 16}),
                        shape(Role::Bubble, {150, 20, 20, 16})}),
                 bubble.rect);
    }

    void rowsShowTheirLanes_data() {
        QTest::addColumn<double>("ratio");
        for (const double ratio : {1.0, 2.0})
            QTest::addRow("%g", ratio) << ratio;
    }
    /// Raw lanes are written with their rows, wherever these are scrolled to: as painted after them.
    void rowsShowTheirLanes() {
        QFETCH(const double, ratio);
        SampleSpec spec;
        spec.trace = true;
        spec.schedule = {"1f1b", "", 6, 32, 1};
        spec.steps = 12;
        const SessionPtr session = sampleSession(spec);
        const TimeRange all = session->lanes.extent();
        RowExtras extras;
        extras.raw_lanes = {someLanes(2), {}, someLanes(1, 1), someLanes(2), someLanes(2), someLanes(1)};
        for (const int height : {3, 12, 40}) {
            extras.height = height;
            BarePlot drawing{session, RowLayout(session->lanes, 420, extras), {}, ratio};
            for (const int part : {1, 3, 40, 400}) { // pixels, then slices with their names
                drawing.range = {all.begin + all.length() / 5, all.begin + all.length() / 5 + all.length() / part};
                for (const int scroll : {0, 21, 60, 120}) {
                    drawing.scroll = scroll;
                    QCOMPARE(drawing.drawnRows(true), drawing.drawnRows(false));
                }
            }
        }
    }

    /// A view that was moved, whose picture is painted straight into the window, looks like one that shows its range
    /// from the start, also when it is then shown from memory.
    void movedViewsLookLikeFreshOnes() {
        ThemeManager themes;
        SampleSpec spec;
        spec.trace = true;
        const SessionPtr session = sampleSession(spec);
        struct Window {
            ViewState state;
            QWidget widget;
            TimelineView view;

            Window(ThemeManager& themes, const SessionPtr& session) : view(state, themes, &widget) {
                widget.resize(960, 520);
                view.setGeometry(40, 11, 900, 500);
                view.setFocusPolicy(Qt::NoFocus); // it would be framed
                widget.show();
                state.setSession(session);
                view.setUnfolded(1, true);
                if (!QTest::qWaitForWindowExposed(&widget)) qFatal("the window is not shown");
            }
            [[nodiscard]] QImage shown() const { return widget.screen()->grabWindow(widget.winId()).toImage(); }
        };
        Window moved(themes, session);
        const TimeRange all = moved.state.range().limits();
        for (const double share : {0.6, 0.59, 0.58, 0.05}) {
            const TimeNs length{static_cast<std::int64_t>(share * static_cast<double>(all.length().count()))};
            const TimeRange range{all.begin + length / 3, all.begin + length / 3 + length};
            moved.state.range().show(range);
            moved.view.viewport()->repaint();
            Window fresh(themes, session);
            fresh.state.range().show(range);
            fresh.view.viewport()->repaint();
            QVERIFY(!moved.shown().isNull());
            QCOMPARE(moved.shown(), fresh.shown());
        }
        const QImage before = moved.shown();
        moved.view.viewport()->repaint();
        QCOMPARE(moved.shown(), before);
    }

    void cachedLabelsAreForgottenWithTheFont() {
        QImage image = picture({200, 40}, 1);
        QPainter painter(&image);
        LabelCache cache;
        cache.setFont(painter.font());
        for (int i = 0; i < 3; ++i)
            cache.draw(painter, {0, 0, 200, 40}, QStringLiteral("F3.1"));
        QCOMPARE(cache.size(), 1);
        QVERIFY(image != picture({200, 40}, 1)); // something was drawn
        cache.setFont(painter.font());
        QCOMPARE(cache.size(), 1);
        QFont other = painter.font();
        other.setPointSizeF(other.pointSizeF() * 2);
        cache.setFont(other);
        QCOMPARE(cache.size(), 0);
    }

    void rowsOfPixelsLookLikePaintedOnes_data() {
        QTest::addColumn<double>("ratio");
        QTest::addColumn<double>("share");
        for (const double ratio : {1.0, 1.5, 2.0}) {
            for (const double share : {1.0, 0.3, 0.05, 0.004})
                QTest::addRow("%g of all, ratio %g", share, ratio) << ratio << share;
        }
    }
    /// Rows are filled as pixels on all cores, and by a painter for files: to the pixel the same, at any height and
    /// wherever they are scrolled to.
    void rowsOfPixelsLookLikePaintedOnes() {
        QFETCH(const double, ratio);
        QFETCH(const double, share);
        const SessionPtr session = manyOps(12, 3);
        const TimeRange all = session->lanes.extent();
        const auto part = [&](double of_all) {
            return TimeNs{static_cast<std::int64_t>(of_all * static_cast<double>(all.length().count()))};
        };
        for (const ThemeChoice choice : {ThemeChoice::Light, ThemeChoice::Dark}) {
            const Theme& theme = themeOf(choice);
            for (const int height : {12, 30, 90}) {
                BarePlot drawing{session, RowLayout(session->lanes, 420, {.height = height}), {}, ratio, 0, theme};
                const TimeNs from = all.begin + part(0.2 - 0.21 * share);
                drawing.range = {from, from + part(share)};
                for (const int scroll : {0, 7, 300}) {
                    drawing.scroll = scroll;
                    QCOMPARE(drawing.drawnRows(true), drawing.drawnRows(false));
                }
            }
        }
    }

    /// A third of the work is forward, and a third of what the picture shows of it.
    void stripsOfGroupsShowTheShares() {
        const SessionPtr session = manyOps(6, 60);
        RowExtras extras{.height = 60};
        extras.rows = {{-1, 0, 3, true, false, {0, 1, 2}}, {-1, 1, 3, true, false, {3, 4, 5}}};
        BarePlot drawing{session, RowLayout(session->lanes, 420, extras), session->lanes.extent()};
        drawing.plot.setHeight(std::min(drawing.plot.height(), drawing.rows.contentHeight()));
        auto count = colours(drawing.drawn(true, [&](QPainter& painter, const TimelineFrame& frame) {
            RowPainter(painter, frame).paint();
            CompactRowPainter(painter, frame).paint();
            CompactRowPainter(painter, frame).paintStrips();
        }));
        const double forward = count[drawing.theme.fill(Role::Forward).rgb()];
        const double backward = count[drawing.theme.fill(Role::Backward).rgb()];
        QVERIFY(forward + backward > 3000);
        QVERIFY2(std::abs(forward / (forward + backward) - 1.0 / 3) < 0.02,
                 qPrintable(QString::number(forward / (forward + backward))));
    }

    void rowsMixColours_data() {
        QTest::addColumn<int>("height");
        QTest::addColumn<bool>("pixels");
        QTest::newRow("low rows") << 12 << true;
        QTest::newRow("rows") << 60 << true;
        QTest::newRow("rows in files") << 60 << false;
    }
    /// Rows of any height mix the colours of a column by their shares: stacks look like letters, and at the edges of
    /// ops like notches.
    void rowsMixColours() {
        QFETCH(const int, height);
        QFETCH(const bool, pixels);
        const SessionPtr session = manyOps(6, 60);
        BarePlot drawing{session, RowLayout(session->lanes, 420, {.height = height}), session->lanes.extent()};
        QCOMPARE(drawing.rows.compact(), height < 24);
        const QImage image = drawing.drawnRows(pixels);
        const RoleTimes shares = sharesOf(session->lanes, 0, session->lanes.extent());
        std::array<double, 3> wanted{};
        double busy = 0;
        const auto add = [&](const QColor& colour, double share) {
            wanted[0] += share * colour.red();
            wanted[1] += share * colour.green();
            wanted[2] += share * colour.blue();
            busy += share;
        };
        for (const Role role : kStackOrder) {
            const double share = static_cast<double>(shares[static_cast<std::size_t>(role)].count()) /
                                 static_cast<double>(session->lanes.extent().length().count());
            add(role == Role::Bubble ? drawing.theme.bubble_background : drawing.theme.fill(role), share);
        }
        add(drawing.theme.timeline, 1 - busy);
        // One colour from the top of a column to its bottom, and on average that of the shares.
        const LaneBand& band = drawing.rows.bands().front();
        const int top = drawing.plot.top() + drawing.rows.rowTop(0) + band.top;
        std::array<double, 3> mean{};
        int uneven = 0;
        for (int x = drawing.plot.left(); x <= drawing.plot.right(); ++x) {
            const QColor colour = image.pixelColor(x, top + 1);
            uneven += colour != image.pixelColor(x, top + band.height - 2) ? 1 : 0;
            mean[0] += colour.red() / static_cast<double>(drawing.plot.width());
            mean[1] += colour.green() / static_cast<double>(drawing.plot.width());
            mean[2] += colour.blue() / static_cast<double>(drawing.plot.width());
        }
        QVERIFY2(uneven < drawing.plot.width() / 20, qPrintable(QString::number(uneven))); // whole bubbles are hatched
        for (std::size_t i = 0; i < mean.size(); ++i)
            QVERIFY2(std::abs(mean[i] - wanted[i]) < 4,
                     qPrintable(QStringLiteral("%1: %2").arg(mean[i]).arg(wanted[i])));
    }

    void theScreenShowsWhatFilesShow_data() {
        QTest::addColumn<int>("height");
        QTest::newRow("rows") << 40;
        QTest::newRow("strips") << 8;
    }
    /// The pixel canvas and the painter agree except for the edges of letters.
    void theScreenShowsWhatFilesShow() {
        QFETCH(const int, height);
        ThemeManager themes;
        ViewState state;
        TimelineView view(state, themes);
        view.resize(900, 500);
        view.show();
        SampleSpec spec;
        spec.trace = true;
        spec.comm = std::chrono::milliseconds(1);
        state.setSession(sampleSession(spec));
        view.setRowHeight(height);
        view.setUnfolded(1, true);
        const QImage screen = view.viewport()->grab().toImage().convertToFormat(QImage::Format_RGB32);
        QImage file(screen.size(), QImage::Format_RGB32);
        QPainter painter(&file);
        view.draw(painter);
        painter.end();
        int differ = 0;
        for (int y = 0; y < screen.height(); ++y) {
            for (int x = 0; x < screen.width(); ++x)
                differ += screen.pixel(x, y) != file.pixel(x, y) ? 1 : 0;
        }
        QVERIFY2(differ < screen.width() * screen.height() / 50, qPrintable(QString::number(differ)));
    }
};

BUBBLESCOPE_GUI_TEST(PaintingTest, painting_test);
#include "painting_test.moc"
