#pragma once

#include "core/base/result.h"

#include <QObject>
#include <QProcess>
#include <QString>
#include <QStringList>

#include <optional>

namespace bubblescope::gui {

/// Traces on another machine: "ssh://user@host:port/path", where a path that begins with "~/" is relative to the user's
/// home.
struct RemoteAddress {
    QString target; ///< host, or user@host
    int port = 0;   ///< 0: the port from ssh's configuration
    QString path;

    [[nodiscard]] static bool matches(const QString& text) { return text.startsWith(QLatin1String("ssh://")); }
    /// Errors: Usage if a part is missing or could be taken for an option of ssh.
    [[nodiscard]] static Result<RemoteAddress> parse(const QString& text);
};

/// Runs `bubblescope extract` over ssh next to the traces, and fetches the extracts, which are much smaller. Reconnects
/// if the connection is lost. If this program ends, the other machine stops and removes its files. GUI thread only.
class RemoteTrace : public QObject {
    Q_OBJECT

public:
    explicit RemoteTrace(QObject* parent = nullptr);
    ~RemoteTrace() override;

    /// Fetches into `folder`, whose content is replaced. Ends with ready() or failed().
    void start(const RemoteAddress& address, const QString& folder);
    /// Stops without emitting ready() or failed().
    void cancel();
    [[nodiscard]] bool running() const { return running_; }

    /// The script that the other machine runs. For tests.
    [[nodiscard]] static QString script(const RemoteAddress& address);

signals:
    /// `text` describes the current activity. `received` of `whole` bytes have arrived; `whole` is 0 while it is
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
    QByteArray error_output_; ///< only its last part
    QByteArray line_;         ///< incomplete
    qint64 received_ = 0;
    qint64 whole_ = 0;
    int attempts_ = 0;
    bool connected_ = false; ///< at least once
    bool running_ = false;
};

} // namespace bubblescope::gui
