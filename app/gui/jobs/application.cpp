#include "app/gui/jobs/application.h"

#include <fmt/format.h>

#include <cstdio>
#include <new>

namespace bubblescope::gui {

bool Application::notify(QObject* receiver, QEvent* event) {
    try {
        return QApplication::notify(receiver, event);
    } catch (...) {
        reportUnexpected(std::current_exception());
    }
    return false;
}

void reportUnexpected(const std::exception_ptr& exception) {
    const Error error = unexpectedError(exception);
    std::fprintf(stderr, "bubblescope-gui: %s\n", error.text().c_str());
    auto* const application = qobject_cast<Application*>(QCoreApplication::instance());
    if (application == nullptr) return;
    try {
        emit application->failed(error);
    } catch (...) { // standard error has it
    }
}

Error unexpectedError(const std::exception_ptr& exception) {
    try {
        std::rethrow_exception(exception);
    } catch (const std::bad_alloc&) {
        return runError("the memory is used up", "close other traces, or load fewer files");
    } catch (const std::exception& error) {
        return runError(fmt::format("an unexpected error: {}", error.what()),
                        "the application goes on; please report it");
    } catch (...) {
        return runError("an unexpected error", "the application goes on; please report it");
    }
}

} // namespace bubblescope::gui
