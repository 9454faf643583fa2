#include "core/net/proof.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace bubblescope::net {

Result<Proof> proofOf(std::string_view secret, std::string_view message) {
    Proof proof{};
    unsigned length = 0;
    const unsigned char* const made = ::HMAC(::EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                                             reinterpret_cast<const unsigned char*>(message.data()), message.size(),
                                             reinterpret_cast<unsigned char*>(proof.data()), &length);
    if (made == nullptr || length != proof.size()) return runError("OpenSSL makes no HMAC-SHA256");
    return proof;
}

} // namespace bubblescope::net
