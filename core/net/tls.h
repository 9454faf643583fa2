#pragma once

#include "core/base/result.h"

#include <memory>
#include <string>
#include <string_view>

namespace bubblescope::net {

/// One end of an encrypted connection: encrypts text for the network and decrypts bytes from it. Knows no socket.
class TlsSession {
public:
    virtual ~TlsSession() = default;
    /// Bytes that came from the other end; the text in them is appended to `said`. Error: Input, when the connection
    /// cannot be trusted or is damaged.
    [[nodiscard]] virtual Status receive(std::string_view bytes, std::string& said) = 0;
    /// Text to send. Kept until the two ends have agreed on keys.
    [[nodiscard]] virtual Status say(std::string_view text) = 0;
    /// Bytes for the other end since the last call.
    [[nodiscard]] virtual std::string takeBytes() = 0;
};

/// What sessions of one side have in common.
class TlsSettings {
public:
    /// Who listens: shows this certificate (PEM, with those above it), whose key this is. Errors: Input, naming the
    /// file; Usage, in a build without OpenSSL.
    [[nodiscard]] static Result<TlsSettings> forListening(const std::string& certificate, const std::string& key);
    /// Who connects: trusts what these certificates (PEM) vouch for and no others, and `host` must be the name in the
    /// certificate that is shown.
    [[nodiscard]] static Result<TlsSettings> forConnecting(const std::string& trusted, const std::string& host);

    [[nodiscard]] Result<std::unique_ptr<TlsSession>> begin() const;

private:
    std::shared_ptr<void> context_;
    std::string host_; ///< empty for who listens
};

} // namespace bubblescope::net
