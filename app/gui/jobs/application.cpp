#include "app/gui/jobs/application.h"

#include <fmt/format.h>

#include <QAbstractItemView>
#include <QException>
#include <QHelpEvent>
#include <QLabel>
#include <QTextDocument>
#include <QThreadPool>
#include <QToolTip>

#include <cstdio>
#include <new>

namespace bubblescope::gui {

Application::Application(int& argc, char** argv) : QApplication(argc, argv) {
    constexpr int kMostJobs = 16; // panels have one or two each, and only a few panels are open at a time
    QThreadPool* const pool = QThreadPool::globalInstance();
    pool->setMaxThreadCount(pool->maxThreadCount() + kMostJobs);
}

bool Application::notify(QObject* receiver, QEvent* event) {
    try {
        if (event->type() == QEvent::Polish) keepLabelPlain(*receiver);
        if (event->type() == QEvent::ToolTip && showPlainToolTip(*receiver, *event)) return true;
        return QApplication::notify(receiver, event);
    } catch (...) {
        reportUnexpected(std::current_exception());
    }
    return false;
}

void Application::keepLabelPlain(QObject& receiver) {
    auto* const label = qobject_cast<QLabel*>(&receiver);
    // Qt shows tooltips in a label, whose text comes from showPlainToolTip().
    if (label != nullptr && label->textFormat() == Qt::AutoText && !label->inherits("QTipLabel"))
        label->setTextFormat(Qt::PlainText);
}

/// Used only for texts that Qt would interpret as HTML.
bool Application::showPlainToolTip(QObject& receiver, QEvent& event) {
    auto* const widget = qobject_cast<QWidget*>(&receiver);
    if (widget == nullptr) return false;
    const auto& help = static_cast<const QHelpEvent&>(event);
    QString text = widget->toolTip();
    if (const auto* const view = qobject_cast<QAbstractItemView*>(widget->parentWidget());
        view != nullptr && view->viewport() == widget) {
        const QVariant of_item = view->indexAt(help.pos()).data(Qt::ToolTipRole);
        if (!of_item.toString().isEmpty()) text = of_item.toString();
    }
    if (!Qt::mightBeRichText(text)) return false;
    QToolTip::showText(help.globalPos(), Qt::convertFromPlainText(text), widget);
    return true;
}

void reportUnexpected(const std::exception_ptr& exception) {
    const Error error = unexpectedError(exception);
    std::fprintf(stderr, "bubblescope-gui: %s\n", error.text().c_str());
    auto* const application = qobject_cast<Application*>(QCoreApplication::instance());
    if (application == nullptr) return;
    try {
        emit application->failed(error);
    } catch (...) { // the error is on stderr
    }
}

Error unexpectedError(const std::exception_ptr& exception) {
    try {
        std::rethrow_exception(exception);
    } catch (const QUnhandledException& error) { // thrown in a background job
        if (error.exception()) return unexpectedError(error.exception());
        return runError("an unexpected error", "the application keeps running; please report it");
    } catch (const std::bad_alloc&) {
        return runError("out of memory", "close other traces, or load fewer files");
    } catch (const std::exception& error) {
        return runError(fmt::format("an unexpected error: {}", error.what()),
                        "the application keeps running; please report it");
    } catch (...) {
        return runError("an unexpected error", "the application keeps running; please report it");
    }
}

} // namespace bubblescope::gui
