#include "app/gui/jobs/application.h"
#include "app/gui/main_window.h"

#include <QStandardPaths>

#include <chrono>
#include <cstdio>
#include <cstdlib>

// How long after a trace is opened in the app a user sees its first steps, or its first slices as they were recorded,
// and all of them: until the window has painted them, by the clock. Prints "first steps, ms: N" or "first slices, ms:
// N", where they came first, and "all steps, ms: N".
//
//   bench_open FILE...
namespace bubblescope::gui {
namespace {

using Clock = std::chrono::steady_clock;

class Opening : public QObject {
public:
    Opening(MainWindow& window, const QStringList& files) : window_(window) {
        connect(&window_.state(), &ViewState::sessionChanged, this, [this] {
            if (!window_.loading()) return;
            if (window_.state().session()) report(window_.state().pipeline() ? "first steps" : "first slices");
        });
        connect(&window_, &MainWindow::loaded, this, [this] {
            report("all steps");
            QCoreApplication::exit(0);
        });
        connect(&window_, &MainWindow::failed, this, [](const Error& error) {
            std::fprintf(stderr, "%s\n", error.text().c_str());
            QCoreApplication::exit(3);
        });
        begin_ = Clock::now();
        window_.open(files);
    }

private:
    void report(const char* what) {
        (void)window_.grab();
        std::printf("%s, ms: %.0f\n", what, std::chrono::duration<double, std::milli>(Clock::now() - begin_).count());
    }

    MainWindow& window_;
    Clock::time_point begin_;
};

int run(int argc, char** argv) {
    const Application application(argc, argv);
    QStandardPaths::setTestModeEnabled(true); // notes and settings of the user are left alone
    MainWindow window([](const auto& paths, JobControl& control,
                         const LoadOptions& options) { return loadTrace(paths, control, options); },
                      false);
    window.resize(1920, 1080);
    window.show();
    QCoreApplication::processEvents();
    const Opening opening(window, QCoreApplication::arguments().mid(1));
    return QCoreApplication::exec();
}

} // namespace
} // namespace bubblescope::gui

int main(int argc, char** argv) {
    setenv("QT_QPA_PLATFORM", "offscreen", 0);
    return bubblescope::gui::run(argc, argv);
}
