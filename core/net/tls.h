#pragma once

#include "core/base/result.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace bubblescope::net {

/// One end of an encrypted connection: encrypts text for the network and decrypts bytes from it. Performs no I/O.
class TlsSession {
public:
    struct State; ///< OpenSSL's

    explicit TlsSession(std::shared_ptr<State> state) : state_(std::move(state)) {}
    /// Processes bytes from the other end and appends the decrypted text to `said`. Error: Input if the data is corrupt
    /// or the other end cannot be trusted.
    [[nodiscard]] Status receive(std::string_view bytes, std::string& said);
    /// Encrypts text for the other end. The text is queued until the handshake is complete.
    [[nodiscard]] Status say(std::string_view text);
    /// Returns the bytes produced since the last call, to be sent to the other end.
    [[nodiscard]] std::string takeBytes();

private:
    std::shared_ptr<State> state_;
};

/// Settings shared by all sessions of one side.
class TlsSettings {
public:
    /// Settings for the listening side, which presents this certificate (PEM, with its chain) with this private key.
    /// Errors: Input, with the file name; Usage in a build without OpenSSL.
    [[nodiscard]] static Result<TlsSettings> forListening(const std::string& certificate, const std::string& key);
    /// Settings for the connecting side, which trusts only certificates signed by those in `trusted` (PEM) and requires
    /// a certificate for `host`.
    [[nodiscard]] static Result<TlsSettings> forConnecting(const std::string& trusted, const std::string& host);

    [[nodiscard]] Result<TlsSession> begin() const;

private:
    std::shared_ptr<void> context_;
    std::string host_; ///< empty on the listening side
};

} // namespace bubblescope::net
