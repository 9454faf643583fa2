#pragma once

#include "core/base/result.h"

#include <QApplication>

#include <exception>

namespace bubblescope::gui {

/// The application object. The object catches exceptions that slots, events and background jobs do not handle, shows
/// the error, and lets the application continue. GUI thread only.
///
/// Text in labels, tooltips and items is shown as plain text, because it contains names from files. If a name looked
/// like HTML, Qt would interpret it and load images from any address. A label with HTML must set its text format; a
/// widget with an HTML tooltip must display it with QToolTip.
class Application : public QApplication {
    Q_OBJECT

public:
    /// As in QApplication, `argc` and `argv` must outlive the object. Enlarges Qt's thread pool so that background jobs
    /// never occupy all its threads, because Qt uses the same pool to paint large areas.
    Application(int& argc, char** argv);

    bool notify(QObject* receiver, QEvent* event) override;

private:
    static void keepLabelPlain(QObject& receiver);
    static bool showPlainToolTip(QObject& receiver, QEvent& event);

signals:
    void failed(const bubblescope::Error& error);
};

/// Prints the error to stderr and emits Application::failed() if an Application exists.
void reportUnexpected(const std::exception_ptr& exception);

/// Converts an exception to an error of kind Run. If memory is exhausted, the error includes advice.
[[nodiscard]] Error unexpectedError(const std::exception_ptr& exception);

} // namespace bubblescope::gui
