#pragma once

#include "core/base/result.h"

#include <QApplication>

#include <exception>

namespace bubblescope::gui {

/// The application object. Exceptions in slots, events and background jobs that no other code caught end up here: the
/// error is shown and the application continues. GUI thread only.
///
/// Texts of labels, tooltips and items are plain, because names in them come from files: Qt would interpret text that
/// looks like HTML, and load pictures from any address. A label with HTML must set its text format, and a widget with
/// an HTML tooltip must show it with QToolTip itself.
class Application : public QApplication {
    Q_OBJECT

public:
    /// Like QApplication; `argc` and `argv` must outlive it. Background jobs and painting share Qt's thread pool: Qt
    /// paints large areas on it and waits for the result, so the pool has more threads than jobs ever use.
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

/// An exception as an error of kind Run; if memory is exhausted, the error says what to do.
[[nodiscard]] Error unexpectedError(const std::exception_ptr& exception);

} // namespace bubblescope::gui
