#pragma once

#include "core/base/result.h"

#include <QApplication>

#include <exception>

namespace bubblescope::gui {

/// The application. Exceptions that nobody else caught, in slots, events and background jobs, end here: the error is
/// shown and the application keeps running. GUI thread only.
///
/// Texts of labels, tool tips and items are plain: names in them come from files, and Qt would take what looks like
/// HTML for it, with pictures from anywhere. A label whose text is HTML says so by its text format, and a tool tip that
/// is HTML is shown with QToolTip by the widget itself.
class Application : public QApplication {
    Q_OBJECT

public:
    /// As QApplication; `argc` and `argv` must outlive it. Background jobs and painting share Qt's pool of threads: Qt
    /// paints large areas with its help and waits for it, so the pool has more threads than jobs ever take.
    Application(int& argc, char** argv);

    bool notify(QObject* receiver, QEvent* event) override;

private:
    static void keepLabelPlain(QObject& receiver);
    static bool showPlainToolTip(QObject& receiver, QEvent& event);

signals:
    void failed(const bubblescope::Error& error);
};

/// Prints the error to standard error and emits failed() of the Application, if there is one.
void reportUnexpected(const std::exception_ptr& exception);

/// What an exception says, as an error of kind Run; out of memory with the way out.
[[nodiscard]] Error unexpectedError(const std::exception_ptr& exception);

} // namespace bubblescope::gui
