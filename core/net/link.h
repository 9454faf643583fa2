#pragma once

#include "core/net/frame.h"
#include "core/net/socket.h"
#include "core/net/tls.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace bubblescope::net {

/// A connection that carries frames, encrypted or not. Never blocks. One thread at a time.
class Link {
public:
    Link(Socket socket, std::unique_ptr<TlsSession> tls) : socket_(std::move(socket)), tls_(std::move(tls)) {}

    void send(const Frame& frame);
    /// Sends and reads what is possible at once; calls `take` for each complete frame. Do not call again once the link
    /// is over.
    void turn(const std::function<void(const Frame&)>& take);
    /// Sends what is queued and nothing more. The other end then closes the connection: closing it first would lose
    /// what is still in transit.
    void endAfterSending() { ends_ = true; }

    [[nodiscard]] bool over() const { return over_; }
    [[nodiscard]] const std::string& why() const { return why_; }             ///< empty if the other end closed it
    [[nodiscard]] std::size_t waiting() const { return out_.size() - sent_; } ///< bytes queued for sending
    [[nodiscard]] std::size_t received() const { return received_; }
    [[nodiscard]] int descriptor() const { return socket_.descriptor(); }

private:
    void fail(std::string why);
    void sendSome();
    void readSome(const std::function<void(const Frame&)>& take);

    Socket socket_;
    std::unique_ptr<TlsSession> tls_; ///< null if the connection is not encrypted
    FrameReader frames_;
    std::string out_;
    std::size_t sent_ = 0;
    std::size_t received_ = 0;
    bool ends_ = false;
    bool told_end_ = false;
    bool over_ = false;
    std::string why_;
};

} // namespace bubblescope::net
