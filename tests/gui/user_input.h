#pragma once

#include "app/gui/main_window.h"

#include <QApplication>
#include <QProcess>
#include <QSignalSpy>
#include <QStandardPaths>
#include <QStringList>
#include <QTest>
#include <QWidget>

#include <cstdio>

namespace bubblescope::gui {

/// Simulates user input through an X server that moves the pointer and presses keys. Functions return before the events
/// arrive, so tests must wait for their effects.
class UserInput {
public:
    static void moveTo(const QWidget& widget, const QPoint& at) {
        const QPoint place = widget.mapToGlobal(at);
        send({QStringLiteral("mousemove"), QString::number(place.x()), QString::number(place.y())});
    }
    static void click(const QWidget& widget, const QPoint& at, int button = 1, int times = 1) {
        moveTo(widget, at);
        if (button < 4) ++clicks();
        send({QStringLiteral("click"), QStringLiteral("--repeat"), QString::number(times), QStringLiteral("--delay"),
              QStringLiteral("50"), QString::number(button)});
    }
    /// `up` means away from the user.
    static void wheel(const QWidget& widget, const QPoint& at, bool up) { click(widget, at, up ? 4 : 5); }
    static void drag(const QWidget& widget, const QPoint& from, const QPoint& to) {
        moveTo(widget, from);
        ++clicks();
        send({QStringLiteral("mousedown"), QStringLiteral("1")});
        for (int part = 1; part <= 8; ++part)
            moveTo(widget, from + (to - from) * part / 8);
        send({QStringLiteral("mouseup"), QStringLiteral("1")});
    }
    /// `keys` are named as in xdotool, such as "ctrl+shift+p".
    static void press(const char* keys) { send({QStringLiteral("key"), QString::fromLatin1(keys)}); }
    static void hold(const char* key, bool down) {
        send({down ? QStringLiteral("keydown") : QStringLiteral("keyup"), QString::fromLatin1(key)});
    }
    static void type(const char* text) {
        send({QStringLiteral("type"), QStringLiteral("--delay"), QStringLiteral("20"), QString::fromLatin1(text)});
    }

    /// Number of button presses since the counter was last reset. A double click counts once; the wheel does not count.
    static int& clicks() {
        static int count = 0;
        return count;
    }

private:
    static void send(const QStringList& arguments) {
        QProcess tool;
        tool.start(QStringLiteral("xdotool"), arguments);
        if (!tool.waitForFinished(20000) || tool.exitCode() != 0) qFatal("xdotool failed");
        QCoreApplication::processEvents();
    }
};

/// Shows a window in the corner of the screen, focuses it, and opens a trace in it.
inline void openOnScreen(MainWindow& window, const QString& trace) {
    window.resize(1400, 860);
    window.move(0, 0);
    window.show();
    window.activateWindow();
    if (!QTest::qWaitForWindowActive(&window)) qFatal("the window is not active");
    QSignalSpy loaded(&window, &MainWindow::loaded);
    window.open({trace});
    if (!loaded.wait(60000)) qFatal("the trace did not load");
}

/// Starts a separate X server, which reports its display and ends with the program.
inline bool startDisplay(QProcess& server) {
    server.start(QStringLiteral("Xvfb"),
                 {QStringLiteral("-displayfd"), QStringLiteral("1"), QStringLiteral("-screen"), QStringLiteral("0"),
                  QStringLiteral("1440x900x24"), QStringLiteral("-nolisten"), QStringLiteral("tcp")});
    if (!server.waitForStarted(20000)) return false;
    QByteArray display;
    while (!display.contains('\n') && server.waitForReadyRead(20000))
        display += server.readAllStandardOutput();
    if (!display.contains('\n')) return false;
    qputenv("DISPLAY", ":" + display.trimmed());
    return true;
}

/// Equivalent of QTEST_MAIN's main() on a separate display. Skips the tests if Xvfb or xdotool is missing.
template <class Test>
int runOnOwnDisplay(int argc, char** argv) {
    for (const char* program : {"Xvfb", "xdotool"}) {
        if (QStandardPaths::findExecutable(QString::fromLatin1(program)).isEmpty()) {
            std::printf("skipped: no %s (Debian: xvfb xdotool)\n", program);
            return 0;
        }
    }
    QProcess server;
    if (!startDisplay(server)) {
        std::printf("FAIL: Xvfb did not start: %s\n", server.readAllStandardError().constData());
        return 1;
    }
    qputenv("QT_QPA_PLATFORM", "xcb");
    int failed = 0;
    {
        const QApplication app(argc, argv);
        QStandardPaths::setTestModeEnabled(true);
        Test test;
        failed = QTest::qExec(&test, argc, argv);
    }
    server.terminate();
    server.waitForFinished(5000);
    return failed;
}

} // namespace bubblescope::gui
