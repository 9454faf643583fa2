#include "app/gui/screenshot.h"

#include "app/gui/central_area.h"
#include "app/gui/explorer/schedule_explorer.h"
#include "app/gui/jobs/application.h"
#include "app/gui/key_sheet.h"
#include "app/gui/live/live_dialog.h"
#include "app/gui/live/run_dialog.h"
#include "app/gui/main_window.h"
#include "app/gui/manual_window.h"
#include "app/gui/preferences_dialog.h"
#include "app/gui/remote/remote_dialog.h"
#include "app/gui/timeline/timeline_view.h"
#include "core/formats/source/existing_results.h"
#include "core/formats/source/replacing_file.h"

#include <QAction>
#include <QApplication>
#include <QBuffer>
#include <QDialog>
#include <QMenuBar>
#include <QPixmap>
#include <QThreadPool>
#include <QTimer>

#include <cstdio>

namespace bubblescope::gui {

namespace {

constexpr int kPauseMs = 20; ///< interval between checks if background jobs have finished
const QString kExplorer = QStringLiteral("lab");
const QString kManual = QStringLiteral("manual");

int fail(const Error& error) {
    std::fprintf(stderr, "bubblescope-gui: %s\n", error.text().c_str());
    return exitCode(error.kind);
}

bool showStepNumber(MainWindow& window, int number) {
    const SessionPtr& session = window.state().session();
    for (int i = 0; session && i < session->stepCount(); ++i) {
        if (session->step(i).index != number) continue;
        window.state().showStep(i);
        return true;
    }
    return false;
}

/// The action that opens a dialog about the open trace; null for other panels.
QAction* dialogAction(const MainWindow& window, const QString& panel) {
    const char* const name = panel == kRanksPanel    ? "ranksOfFiles"
                             : panel == kModelPanel  ? "modelOfRun"
                             : panel == kFigurePanel ? "exportTimeline"
                                                     : nullptr;
    return name == nullptr ? nullptr : window.findChild<QAction*>(QString::fromLatin1(name));
}

Status selectAt(MainWindow& window, const Options::Place& place) {
    ViewState& state = window.state();
    const Session& session = *state.session();
    const TimeNs time = session.window(state.step()).begin + place.time;
    if (place.rank < static_cast<int>(session.lanes.rankCount())) {
        for (const LaneKind kind : {LaneKind::Check, LaneKind::Compute, LaneKind::Bubble}) {
            const Lane& lane = session.lanes.lane(static_cast<std::size_t>(place.rank), kind);
            const std::size_t at = lane.firstEndingAfter(time);
            if (at == lane.spans().size() || lane.spans()[at].start > time) continue;
            state.select({itemKind(kind), lane.spans()[at].step, place.rank, lane.spans()[at].index});
            return {};
        }
    }
    return usageError("nothing found on rank " + std::to_string(place.rank) + " at " + formatTime(place.time),
                      "write --select RANK@TIME, with the time relative to the step's start");
}

int write(QWidget& widget, const Options& options) {
    // Docks get their final sizes only after the events of the first showing have been handled.
    QApplication::sendPostedEvents();
    QByteArray png;
    QBuffer buffer(&png);
    const bool drawn = buffer.open(QIODevice::WriteOnly) && widget.grab().save(&buffer, "PNG");
    ReplacingFile file(options.screenshot.toStdString());
    file.write({png.data(), static_cast<std::size_t>(png.size())});
    if (drawn && file.commit().ok()) return 0;
    return fail(runError("cannot write " + file.target().string(), "check that its directory exists and is writable"));
}

/// Saves a picture and quits once there is no background work left.
void writeWhenIdle(QWidget& widget, const Options& options) {
    auto* timer = new QTimer(&widget);
    QObject::connect(timer, &QTimer::timeout, &widget, [&widget, timer, options] {
        if (QThreadPool::globalInstance()->activeThreadCount() > 0) return;
        timer->stop();
        // Handles results that were just posted first.
        QTimer::singleShot(kPauseMs, &widget, [&widget, options] { QApplication::exit(write(widget, options)); });
    });
    timer->start(kPauseMs);
}

QWidget& firstPageOrDialog(MainWindow& window, const Options& options) {
    if (options.panel == kWelcomePanel) return window;
    QDialog* dialog = nullptr;
    if (options.panel == kRunPanel) {
        dialog = new RunDialog(window.themes(), QStringLiteral("my-run"), &window);
    } else if (options.panel == kPreferencesPanel) {
        dialog = new PreferencesDialog(window.preferences(), &window);
    } else if (options.panel == kRemotePanel) {
        dialog = new RemoteDialog(false, &window);
    } else if (options.panel == kKeysPanel) {
        dialog = new KeySheet(*window.menuBar(), &window);
    } else {
        dialog = new LiveDialog(&window);
    }
    if (options.sized) dialog->resize(options.size);
    dialog->setAttribute(Qt::WA_DontShowOnScreen);
    dialog->show();
    return *dialog;
}

} // namespace

Status showAsAsked(MainWindow& window, const Options& options) {
    if (options.step && !showStepNumber(window, *options.step))
        return usageError("the trace has no step " + std::to_string(*options.step),
                          "omit --step to see the default one");
    if (options.panel == kExplorer) {
        window.openExplorer();
    } else if (options.panel == kManual) {
        window.openManual();
    } else if (options.panel == kTeachPanel) {
        window.findChild<CentralArea*>()->teach(false);
    } else if (QAction* const dialog = dialogAction(window, options.panel)) {
        dialog->trigger();
    } else if (!options.panel.isEmpty() && !window.showPanel(options.panel)) {
        return usageError("there is no panel '" + options.panel.toStdString() + "'",
                          "see bubblescope-gui --help for their names");
    }
    const bool of_pipeline =
        options.counters || !options.compare.isEmpty() || options.ideal || !options.flows.empty() || options.select;
    if (!window.state().pipeline() && of_pipeline)
        return usageError("the trace has no pipeline", "omit the options that select or draw ops");
    if (options.unfold) {
        const SessionPtr& session = window.state().session();
        if (!session || *options.unfold >= static_cast<int>(session->lanes.rankCount()))
            return usageError("the trace has no rank " + std::to_string(*options.unfold),
                              "ranks are numbered from 0 to the number of ranks minus 1");
        window.findChild<TimelineView*>(QStringLiteral("timeline"))->setUnfolded(*options.unfold, true);
    }
    if (options.counters) window.findChild<TimelineView*>(QStringLiteral("timeline"))->run(Command::Counters);
    if (!options.compare.isEmpty()) window.compareWith({options.compare});
    if (options.ideal) window.showIdeal(true);
    for (const FlowOverlay flow : options.flows)
        window.state().showFlow(flow, true);
    if (options.select) BUBBLESCOPE_TRY(selectAt(window, *options.select));
    return {};
}

void openAsAsked(MainWindow& window, const Options& options) {
    if (options.live) return window.watch(*options.live);
    if (!options.demo.isEmpty()) return window.openDemo(options.demo);
    QStringList local;
    for (const QString& file : options.files) {
        if (RemoteAddress::matches(file))
            window.openRemote(file);
        else
            local << file;
    }
    if (!local.isEmpty() || options.files.isEmpty()) window.open(local);
}

int takeScreenshot(MainWindow& window, const Options& options) {
    if (const Status fresh = options.force ? Status() : mustBeNew(options.screenshot.toStdString()); !fresh.ok())
        return fail(fresh.error());
    window.setAttribute(Qt::WA_DontShowOnScreen);
    window.resize(options.size);
    window.show();
    QObject::connect(
        &window, &MainWindow::loaded, &window,
        [&] {
            const Status shown = showAsAsked(window, options);
            if (!shown.ok()) return QApplication::exit(fail(shown.error()));
            QWidget* const dialog =
                dialogAction(window, options.panel) == nullptr ? nullptr : window.findChild<QDialog*>();
            QWidget& picture = options.panel == kExplorer ? static_cast<QWidget&>(window.openExplorer())
                               : options.panel == kManual ? static_cast<QWidget&>(window.openManual())
                               : dialog != nullptr        ? *dialog
                                                          : window;
            if (dialog == nullptr || options.sized) picture.resize(options.size);
            writeWhenIdle(picture, options);
        },
        Qt::QueuedConnection);
    QObject::connect(&window, &MainWindow::failed, &window,
                     [](const Error& error) { QApplication::exit(fail(error)); });
    if (const auto* const application = qobject_cast<Application*>(QCoreApplication::instance()))
        QObject::connect(application, &Application::failed, &window, // the application has printed the error
                         [](const Error& error) { QApplication::exit(exitCode(error.kind)); });
    // No trace is opened, so no signal will follow.
    if (needsNoTrace(options.panel)) {
        QApplication::sendPostedEvents(); // for menus in the selected language
        writeWhenIdle(firstPageOrDialog(window, options), options);
        return QApplication::exec();
    }
    // Called from an event, so that the application reports exceptions.
    QTimer::singleShot(0, &window, [&] { openAsAsked(window, options); });
    return QApplication::exec();
}

} // namespace bubblescope::gui
