#include "core/net/proof.h"
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

Result<Proof> proofOf(std::string_view, std::string_view) {
    return usageError("this build cannot check who joins a job over TCP, since it has no OpenSSL",
                      "build it with OpenSSL (Debian: libssl-dev), or start the job with mpirun");
}

} // namespace bubblescope::net
