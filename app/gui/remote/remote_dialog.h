#pragma once

#include "app/gui/remote/remote_trace.h"

#include <QDialog>

class QComboBox;
class QLabel;
class QProgressBar;
class QPushButton;

namespace bubblescope::gui {

/// Dialog that asks for an address, fetches the traces from it, and offers a retry after a failure. Addresses that
/// worked are stored.
class RemoteDialog : public QDialog {
    Q_OBJECT

public:
    explicit RemoteDialog(bool remember, QWidget* parent = nullptr);

    /// Fetches the traces without asking for an address.
    void openAddress(const QString& address);
    [[nodiscard]] QString status() const;

signals:
    /// Requests that the fetched folder be opened as a trace.
    void fetched(const QStringList& paths);

private:
    void start();
    void showRunning(bool running);
    void showProgress(const QString& text, qint64 received, qint64 whole);
    void showError(const Error& error);
    void finish(const QString& folder);

    const bool remember_;
    RemoteTrace trace_;
    QComboBox* address_;
    QLabel* status_;
    QProgressBar* progress_;
    QPushButton* start_;
};

} // namespace bubblescope::gui
