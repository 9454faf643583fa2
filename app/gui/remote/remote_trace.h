#pragma once

#include "core/base/result.h"

#include <QObject>
#include <QProcess>
#include <QString>

namespace bubblescope::gui {

/// Location of traces on another machine: "ssh://user@host:port/path", where "~/" at the start of the path is the
/// user's home folder.
struct RemoteAddress {
    QString target; ///< host, or user@host
    int port = 0;   ///< 0 = port from the ssh configuration
    QString path;

    [[nodiscard]] static bool matches(const QString& text) { return text.startsWith(QLatin1String("ssh://")); }
    /// Errors: Usage if a part is missing or looks like an ssh option.
    [[nodiscard]] static Result<RemoteAddress> parse(const QString& text);
};

/// Runs `bubblescope extract` on the other machine over ssh, and fetches the extracts, which are small. Reconnects if
/// the connection is lost. If this program ends, the remote process stops and deletes its files. GUI thread only.
class RemoteTrace : public QObject {
    Q_OBJECT

public:
    explicit RemoteTrace(QObject* parent = nullptr);
    ~RemoteTrace() override;

    /// Fetches the traces into `folder`, whose content is replaced. Emits ready() or failed() at the end.
    void start(const RemoteAddress& address, const QString& folder);
    /// Stops without emitting ready() or failed().
    void cancel();
    [[nodiscard]] bool running() const { return running_; }

    /// Script that runs on the other machine; for tests.
    [[nodiscard]] static QString script(const RemoteAddress& address);

signals:
    /// `text` describes the current activity. `received` of `whole` bytes have arrived; `whole` is 0 while the total is
    /// unknown.
    void progressed(const QString& text, qint64 received, qint64 whole);
    void ready(const QString& folder);
    void failed(const bubblescope::Error& error);

private:
    void connectOnce();
    void readErrors();
    void finishSsh(int code, QProcess::ExitStatus status);
    void finishUnpacking(int code);
    void fail(const Error& error);
    void report(const QString& text);

    RemoteAddress address_;
    QString folder_;
    QProcess ssh_;
    QProcess unpack_;
    QByteArray error_output_; ///< only the end of the output
    QByteArray line_;         ///< incomplete line of output
    qint64 received_ = 0;
    qint64 whole_ = 0;
    int attempts_ = 0;
    bool connected_ = false; ///< true if a connection was established at least once
    bool running_ = false;
};

} // namespace bubblescope::gui
