#include "app/gui/screenshot.h"

#include "app/gui/main_window.h"

#include <QApplication>
#include <QPixmap>

#include <cstdio>

namespace bubblescope::gui {

namespace {

int fail(const Error& error) {
    std::fprintf(stderr, "bubblescope-gui: %s\n", error.text().c_str());
    return exitCode(error.kind);
}

int write(MainWindow& window, const Options& options) {
    if (options.step && !showStepNumber(window, *options.step))
        return fail(usageError("the trace has no step " + std::to_string(*options.step),
                               "leave out --step to see the default one"));
    if (!options.panel.isEmpty() && !window.showPanel(options.panel))
        return fail(usageError("there is no panel '" + options.panel.toStdString() + "'",
                               "see bubblescope-gui --help for their names"));
    // Docks settle their sizes when the events of the first showing have been handled.
    QApplication::sendPostedEvents();
    const std::string file = options.screenshot.toStdString();
    if (!window.grab().save(options.screenshot, "PNG"))
        return fail(runError("cannot write " + file, "check that its directory exists and is writable"));
    return 0;
}

} // namespace

bool showStepNumber(MainWindow& window, int number) {
    const SessionPtr& session = window.state().session();
    for (int i = 0; session && i < session->stepCount(); ++i) {
        if (session->step(i).index != number) continue;
        window.state().showStep(i);
        return true;
    }
    return false;
}

int takeScreenshot(MainWindow& window, const Options& options) {
    window.setAttribute(Qt::WA_DontShowOnScreen);
    window.resize(options.size);
    window.show();
    QObject::connect(
        &window, &MainWindow::loaded, &window, [&] { QApplication::exit(write(window, options)); },
        Qt::QueuedConnection);
    QObject::connect(&window, &MainWindow::failed, &window,
                     [](const Error& error) { QApplication::exit(fail(error)); });
    window.open(options.files);
    return QApplication::exec();
}

} // namespace bubblescope::gui
