#include "app/gui/crash_notice.h"
#include "app/gui/jobs/application.h"
#include "app/gui/jobs/crash_report.h"
#include "app/gui/language/text.h"
#include "app/gui/main_window.h"
#include "app/gui/options.h"
#include "app/gui/preferences_file.h"
#include "app/gui/screenshot.h"

#include <QApplication>
#include <QIcon>
#include <QScreen>
#include <QTimer>

#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace gui = bubblescope::gui;

namespace {

constexpr int kUsage = 2;

int complain(const QString& message, const char* hint) {
    std::fprintf(stderr, "bubblescope-gui: %s\n%s\n", qUtf8Printable(message), hint);
    return kUsage;
}

constexpr const char* kNoDisplayHint =
    "Run it in a desktop session or with ssh -X, or use --screenshot OUT.png to get a picture without a display.";

/// Qt aborts if it cannot connect to the display named in the environment; this prints a readable message.
void reportFatal(QtMsgType type, const QMessageLogContext&, const QString& message) {
    if (type == QtFatalMsg)
        std::_Exit(complain(QStringLiteral("cannot open a window: the display does not respond"), kNoDisplayHint));
    // Qt's messages about a missing screen are not helpful for a screenshot.
    if (type == QtCriticalMsg) std::fprintf(stderr, "%s\n", qUtf8Printable(message));
}

QStringList toArguments(int argc, char** argv) {
    QStringList out;
    for (int i = 0; i < argc; ++i)
        out << QString::fromLocal8Bit(argv[i]);
    return out;
}

int show(gui::MainWindow& window, const gui::Options& options) {
    QObject::connect(
        &window, &gui::MainWindow::loaded, &window,
        [&window, options] {
            const bubblescope::Status shown = gui::showAsAsked(window, options);
            for (QWidget* other : QApplication::topLevelWidgets()) {
                if (options.sized && other->isWindow() && other->isVisible() && other != &window)
                    other->resize(options.size.boundedTo(other->screen()->availableSize()));
            }
            if (!shown.ok()) std::fprintf(stderr, "bubblescope-gui: %s\n", shown.error().text().c_str());
        },
        Qt::SingleShotConnection);
    if (options.sized) window.resize(options.size);
    // A requested size, or a size stored for another screen, must not move controls off the screen.
    window.resize(window.size().boundedTo(window.screen()->availableSize()));
    window.show();
    gui::offerCrashReport(window, gui::crashFolder());
    // Called from an event, so that the application reports exceptions.
    QTimer::singleShot(0, &window, [&window, options] { gui::openAsAsked(window, options); });
    return QApplication::exec();
}

} // namespace

int main(int argc, char** argv) {
    bubblescope::setFieldWords(gui::fieldLabels());
    std::signal(SIGXFSZ, [](int) {}); // exceeding the shell's limit for file sizes is an error like a full disk
    // Parsed before the application object exists, because help and version require no display.
    QString error;
    const auto early = gui::parseOptions(toArguments(argc, argv), error);
    if (early && early->help) {
        std::fputs(qUtf8Printable(gui::helpText()), stdout);
        return EXIT_SUCCESS;
    }
    if (early && early->version) {
        std::printf("bubblescope-gui %s (Qt %s)\n", gui::kVersion, qVersion());
        return EXIT_SUCCESS;
    }
    if (!early) return complain(error, "Try bubblescope-gui --help.");
    gui::reportCrashes(gui::crashFolder(), QStringLiteral("bubblescope-gui %1").arg(QString::fromUtf8(gui::kVersion)));
    const gui::Options& options = *early;
    if (!gui::displayAvailable()) {
        if (options.screenshot.isEmpty())
            return complain(QStringLiteral("no display to open a window on"), kNoDisplayHint);
        qputenv("QT_QPA_PLATFORM", "offscreen");
    }

    const auto previous = qInstallMessageHandler(reportFatal);
    const gui::Application app(argc, argv);
    if (options.screenshot.isEmpty()) qInstallMessageHandler(previous);
    QApplication::setOrganizationName(QStringLiteral("bubblescope"));
    QApplication::setApplicationName(QStringLiteral("bubblescope-gui"));
    QApplication::setApplicationDisplayName(QStringLiteral("Bubblescope"));
    QApplication::setApplicationVersion(QString::fromUtf8(gui::kVersion));
    QApplication::setWindowIcon(QIcon(QStringLiteral(":/icons/bubblescope.png")));

    const bool picture = !options.screenshot.isEmpty();
    if (!picture) gui::usePreferencesFile();
    gui::MainWindow window(gui::loaderOf(options), !picture);
    if (picture || options.language) window.languages().choose(options.language.value_or(gui::Language::English));
    if (picture || options.theme) window.themes().choose(options.theme.value_or(gui::ThemeChoice::Light));
    return picture ? gui::takeScreenshot(window, options) : show(window, options);
}
