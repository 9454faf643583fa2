#include "app/gui/explorer/schedule_explorer.h"
#include "app/gui/key_sheet.h"
#include "app/gui/live/live_dialog.h"
#include "app/gui/live/run_dialog.h"
#include "app/gui/main_window.h"
#include "app/gui/manual_window.h"
#include "app/gui/timeline/timeline_view.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"

#include <QAction>
#include <QComboBox>
#include <QDockWidget>
#include <QLabel>
#include <QMenuBar>
#include <QProcess>
#include <QProcessEnvironment>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

#include <cmath>

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

constexpr QSize kSmallest(1000, 700);

/// The widgets that ask for most, for the message of a failure.
QString widest(const QWidget& parent, int more_than) {
    QStringList names;
    for (const QWidget* widget : parent.findChildren<QWidget*>()) {
        if (!widget->isVisible() || widget->isWindow() || widget->minimumSizeHint().width() <= more_than) continue;
        names << QStringLiteral("%1 %2: %3")
                     .arg(QString::fromLatin1(widget->metaObject()->className()), widget->objectName())
                     .arg(widget->minimumSizeHint().width());
    }
    return names.join(QStringLiteral("; "));
}

QString sizeText(const QSize& size) {
    return QStringLiteral("%1 x %2").arg(size.width()).arg(size.height());
}

double luminance(const QColor& colour) {
    const auto linear = [](double c) { return c <= 0.03928 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
    return 0.2126 * linear(colour.redF()) + 0.7152 * linear(colour.greenF()) + 0.0722 * linear(colour.blueF());
}

double contrast(const QColor& a, const QColor& b) {
    const double first = luminance(a);
    const double second = luminance(b);
    return (std::max(first, second) + 0.05) / (std::min(first, second) + 0.05);
}

/// As people see a colour who lack a kind of cones (Viénot, Brettel and Mollon 1999, in linear light).
QColor withoutCones(const QColor& colour, bool red) {
    const auto linear = [](double c) { return std::pow(c, 2.2); };
    const double r = linear(colour.redF());
    const double g = linear(colour.greenF());
    const double b = linear(colour.blueF());
    const double mixed = red ? 0.11238 * r + 0.88762 * g : 0.29275 * r + 0.70725 * g;
    const double blue = red ? 0.00401 * r - 0.00401 * g + b : -0.02234 * r + 0.02234 * g + b;
    const auto back = [](double c) { return std::pow(std::clamp(c, 0.0, 1.0), 1 / 2.2); };
    return QColor::fromRgbF(static_cast<float>(back(mixed)), static_cast<float>(back(mixed)),
                            static_cast<float>(back(blue)));
}

/// Distance in a space where equal distances look about equally different.
double distance(const QColor& a, const QColor& b) {
    const auto lab = [](const QColor& colour) {
        const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
        const auto linear = [](double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
        const double r = linear(colour.redF());
        const double g = linear(colour.greenF());
        const double bl = linear(colour.blueF());
        const double x = f((0.4124 * r + 0.3576 * g + 0.1805 * bl) / 0.9505);
        const double y = f(0.2126 * r + 0.7152 * g + 0.0722 * bl);
        const double z = f((0.0193 * r + 0.1192 * g + 0.9505 * bl) / 1.089);
        return std::array{116 * y - 16, 500 * (x - y), 200 * (y - z)};
    };
    const auto p = lab(a);
    const auto q = lab(b);
    return std::sqrt(std::pow(p[0] - q[0], 2) + std::pow(p[1] - q[1], 2) + std::pow(p[2] - q[2], 2));
}

} // namespace

/// Windows fit on small screens, in both languages, and themes can be read by all.
class FitsTest : public GuiTest {
    Q_OBJECT

private slots:
    void theWindowFitsOnASmallScreen_data() {
        QTest::addColumn<int>("language");
        QTest::addColumn<bool>("replicas");
        QTest::newRow("English") << static_cast<int>(Language::English) << false;
        QTest::newRow("Chinese") << static_cast<int>(Language::Chinese) << false;
        QTest::newRow("replicas") << static_cast<int>(Language::English) << true;
    }

    void theWindowFitsOnASmallScreen() {
        QFETCH(int, language);
        QFETCH(bool, replicas);
        MainWindow window(
            [replicas](const auto& paths, JobControl& control) {
                Result<Run> run = loadSample(paths, control);
                for (std::size_t step = 1; run.ok() && step < run.value().steps.size(); ++step) {
                    for (TimelineOp& op : run.value().steps[step].ranks[2]) // something to find
                        op.end += op.duration() / 4;
                }
                for (std::size_t step = 0; replicas && run.ok() && step < run.value().steps.size(); step += 2) {
                    StepTimeline other = run.value().steps[step];
                    other.replica = 1;
                    run.value().steps.insert(run.value().steps.begin() + static_cast<std::ptrdiff_t>(step) + 1, other);
                }
                return run;
            },
            false);
        window.languages().choose(static_cast<Language>(language));
        QCoreApplication::processEvents();
        window.resize(kSmallest);
        window.show();
        QSignalSpy loaded(&window, &MainWindow::loaded);
        window.open({QStringLiteral("a-trace-with-a-rather-long-name-as-jobs-have.pftrace")});
        QVERIFY(loaded.wait());
        window.showIdeal(true);
        for (const QDockWidget* dock : window.findChildren<QDockWidget*>()) {
            window.showPanel(dock->objectName().chopped(4)); // "bubblesDock"
            QCoreApplication::processEvents();
            const QSize least = window.minimumSizeHint();
            QVERIFY2(least.width() <= kSmallest.width() && least.height() <= kSmallest.height(),
                     qPrintable(dock->objectName() + QLatin1String(" in front: ") + sizeText(least) +
                                QLatin1String(" for ") + widest(window, 900)));
            QCOMPARE(window.size(), kSmallest);
        }
        // The timeline keeps a useful part of it.
        QVERIFY2(child<TimelineView>(window, "timeline").height() >= 160,
                 qPrintable(QString::number(child<TimelineView>(window, "timeline").height())));
    }

    /// In a large window panels get their share, as long as the user has not arranged them.
    void panelsGrowWithTheWindow() {
        const auto heightIn = [](const QSize& size) {
            MainWindow window(loadSample, false);
            window.resize(size);
            window.show();
            QSignalSpy loaded(&window, &MainWindow::loaded);
            window.open({QStringLiteral("sample.pftrace")});
            if (!loaded.wait()) qFatal("the sample did not load");
            QCoreApplication::processEvents();
            return window.findChild<QDockWidget*>(QStringLiteral("detailsDock"))->height();
        };
        QVERIFY2(heightIn(kSmallest) < 300, qPrintable(QString::number(heightIn(kSmallest))));
        QVERIFY2(heightIn({3840, 2160}) > 500, qPrintable(QString::number(heightIn({3840, 2160}))));
    }

    void dialogsFitOnASmallScreen_data() { theWindowFitsOnASmallScreen_data(); }

    void dialogsFitOnASmallScreen() {
        QFETCH(int, language);
        MainWindow window(loadSample, false);
        window.languages().choose(static_cast<Language>(language));
        QCoreApplication::processEvents();
        window.show();
        RunDialog run(window.themes(), QStringLiteral("/tmp/a-folder"), &window);
        LiveDialog live(&window);
        KeySheet keys(*window.menuBar(), &window);
        ScheduleExplorer lab(window.themes(), &window);
        ManualWindow manual(window.themes(), static_cast<Language>(language), &window);
        for (QWidget* dialog : std::initializer_list<QWidget*>{&run, &live, &keys, &lab, &manual}) {
            dialog->show();
            QCoreApplication::processEvents();
            const QSize least = dialog->minimumSizeHint();
            QVERIFY2(least.width() <= kSmallest.width() && least.height() <= kSmallest.height(),
                     qPrintable(dialog->objectName() + QLatin1String(": ") + sizeText(least)));
            dialog->resize(900, 600);
            QVERIFY2(dialog->width() <= kSmallest.width() && dialog->height() <= kSmallest.height(),
                     qPrintable(dialog->objectName() + QLatin1String(": ") + sizeText(dialog->size())));
            dialog->hide();
        }
    }

    void theLabShowsItsFieldsWhole_data() { theWindowFitsOnASmallScreen_data(); }

    /// Also if the window is low, so that the fields scroll, and all of them and a long message are shown.
    void theLabShowsItsFieldsWhole() {
        QFETCH(int, language);
        MainWindow window(loadSample, false);
        window.languages().choose(static_cast<Language>(language));
        ScheduleExplorer lab(window.themes(), &window);
        QSignalSpy computed(&lab, &ScheduleExplorer::computed);
        lab.resize(900, 500);
        lab.show();
        child<QToolButton>(lab, "explorerTransfers").click();
        child<QComboBox>(lab, "explorerCommunicators").setCurrentIndex(1); // one for all
        child<QComboBox>(lab, "explorerReceives").setCurrentIndex(1);      // posted just before their op
        auto& problem = child<QLabel>(lab, "explorerProblem");
        QTRY_VERIFY_WITH_TIMEOUT(!problem.text().isEmpty(), 20000);
        QCOMPARE(problem.text().back(), QChar(static_cast<Language>(language) == Language::Chinese ? 0x3002 : '.'));
        QCoreApplication::processEvents();
        auto& form = *lab.findChild<LabForm*>();
        QVERIFY2(
            form.widget()->width() <= form.viewport()->width(),
            qPrintable(sizeText(form.widget()->size()) + QLatin1String(" in ") + sizeText(form.viewport()->size())));
    }

    void picturesObeyTheirSize_data() {
        QTest::addColumn<QString>("panel");
        QTest::addColumn<QString>("scale");
        for (const char* panel : {"bubbles", "compare", "lab", "manual", "keys", "run", "watch"}) {
            for (const char* scale : {"1", "2", "3"})
                QTest::newRow(qPrintable(QStringLiteral("%1 at %2").arg(QLatin1String(panel), QLatin1String(scale))))
                    << QString::fromLatin1(panel) << QString::fromLatin1(scale);
        }
    }

    void picturesObeyTheirSize() {
        QFETCH(QString, panel);
        QFETCH(QString, scale);
        const QTemporaryDir folder;
        const QString picture = folder.filePath(QStringLiteral("picture.png"));
        QStringList arguments{QStringLiteral("--panel"),      panel,
                              QStringLiteral("--size"),       QStringLiteral("1000x700"),
                              QStringLiteral("--screenshot"), picture};
        const bool alone =
            panel == QLatin1String("keys") || panel == QLatin1String("run") || panel == QLatin1String("watch");
        // Its summary and legend are the longest.
        if (!alone) arguments << QStringLiteral("--demo") << QStringLiteral("checked-zb-h1");
        QProcess process;
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        environment.insert(QStringLiteral("QT_SCALE_FACTOR"), scale);
        environment.insert(QStringLiteral("QT_QPA_PLATFORM"), QStringLiteral("offscreen"));
        process.setProcessEnvironment(environment);
        process.start(QStringLiteral(BUBBLESCOPE_GUI_PROGRAM), arguments);
        QVERIFY(process.waitForFinished(60000));
        QCOMPARE(process.exitCode(), 0);
        const QImage image(picture);
        QCOMPARE(image.size() / scale.toInt(), kSmallest);
    }

    void contrastIsHigh() {
        const Theme& theme = themeOf(ThemeChoice::HighContrast);
        QVERIFY(contrast(theme.text, theme.timeline) >= 7); // WCAG's AAA
        QVERIFY(contrast(theme.text_dim, theme.header) >= 7);
        QVERIFY(contrast(theme.good, theme.timeline) >= 7);
        QVERIFY(contrast(theme.bad, theme.timeline) >= 7);
        QVERIFY(contrast(theme.selection, theme.timeline) >= 4.5);
        for (const QPalette::ColorRole role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
            QVERIFY(contrast(theme.palette.color(role), theme.palette.color(QPalette::Window)) >= 7);
        QVERIFY(contrast(theme.palette.color(QPalette::HighlightedText), theme.palette.color(QPalette::Highlight)) >=
                7);
    }

    void colourBlindPeopleTellWhatDiffers() {
        for (const ThemeChoice choice : {ThemeChoice::ColourBlind, ThemeChoice::ColourBlindDark}) {
            const Theme& theme = themeOf(choice);
            for (const bool red : {true, false}) {
                const auto seen = [&](const QColor& colour) { return withoutCones(colour, red); };
                QVERIFY2(distance(seen(theme.good), seen(theme.bad)) >= 25, "good and bad");
                const std::vector<Role> roles{Role::Forward,        Role::Backward,  Role::BackwardInput,
                                              Role::BackwardWeight, Role::Optimizer, Role::Check};
                for (std::size_t a = 0; a < roles.size(); ++a) {
                    for (std::size_t b = a + 1; b < roles.size(); ++b) {
                        const double apart = distance(seen(theme.fill(roles[a])), seen(theme.fill(roles[b])));
                        QVERIFY2(apart >= 15, qPrintable(QStringLiteral("%1 and %2: %3").arg(a).arg(b).arg(apart)));
                    }
                }
            }
        }
    }

    void themesHaveKeysAndComeBack() {
        for (const ThemeChoice choice :
             {ThemeChoice::HighContrast, ThemeChoice::ColourBlind, ThemeChoice::ColourBlindDark}) {
            QVERIFY(themeFromKey(themeKey(choice)) == choice);
            ThemeManager themes;
            themes.choose(choice);
            QVERIFY(&themes.theme() == &themeOf(choice));
        }
    }

    void focusIsVisibleInTheTimeline() {
        ThemeManager themes;
        ViewState state;
        QWidget frame;
        auto* view = new TimelineView(state, themes, &frame);
        auto* other = new QComboBox(&frame);
        view->resize(800, 300);
        frame.resize(820, 380);
        other->move(0, 340);
        frame.show();
        state.setSession(sampleSession());
        QVERIFY(QTest::qWaitForWindowActive(&frame));
        view->setFocus();
        QTRY_VERIFY(view->hasFocus());
        const QImage with = view->grab().toImage();
        other->setFocus();
        QTRY_VERIFY(!view->hasFocus());
        QVERIFY(view->grab().toImage() != with);
    }
};

BUBBLESCOPE_GUI_TEST(FitsTest, fits_test);
#include "fits_test.moc"
