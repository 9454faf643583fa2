#include "core/net/tls.h"

// A build without OpenSSL.
namespace bubblescope::net {
namespace {

Error noTls() {
    return usageError("this build has no TLS", "build it with OpenSSL (Debian: libssl-dev), or leave certificates out");
}

} // namespace

Result<TlsSettings> TlsSettings::forListening(const std::string&, const std::string&) {
    return noTls();
}

Result<TlsSettings> TlsSettings::forConnecting(const std::string&, const std::string&) {
    return noTls();
}

Result<std::unique_ptr<TlsSession>> TlsSettings::begin() const {
    return noTls();
}

} // namespace bubblescope::net
