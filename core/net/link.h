#pragma once

#include "core/net/frame.h"
#include "core/net/socket.h"
#include "core/net/tls.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace bubblescope::net {

/// A connection that carries frames, encrypted or not. Never waits. One thread at a time.
class Link {
public:
    Link(Socket socket, std::unique_ptr<TlsSession> tls) : socket_(std::move(socket)), tls_(std::move(tls)) {}

    void send(const Frame& frame);
    /// Sends and reads what goes at once; calls `take` for each frame that is whole. Not to be called again once the
    /// link is over.
    void turn(const std::function<void(const Frame&)>& take);
    /// No more is sent than what waits already. The link is over when the other end, which learns of the end behind
    /// that, closes it: to close it first would take away what is still under way.
    void endAfterSending() { ends_ = true; }

    [[nodiscard]] bool over() const { return over_; }
    [[nodiscard]] const std::string& why() const { return why_; } ///< of the end; empty where the other end closed it
    [[nodiscard]] std::size_t waiting() const { return out_.size() - sent_; } ///< bytes to be sent
    [[nodiscard]] std::size_t received() const { return received_; }
    [[nodiscard]] int descriptor() const { return socket_.descriptor(); }

private:
    void fail(std::string why);
    void sendSome();
    void readSome(const std::function<void(const Frame&)>& take);

    Socket socket_;
    std::unique_ptr<TlsSession> tls_; ///< null where nothing is encrypted
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
