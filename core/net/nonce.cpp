#include "core/net/proof.h"

#include <sys/random.h>

#include <cerrno>

namespace bubblescope::net {

Result<Nonce> makeNonce() {
    Nonce nonce{};
    for (std::size_t filled = 0; filled < nonce.size();) {
        const ssize_t got = ::getrandom(nonce.data() + filled, nonce.size() - filled, 0);
        if (got > 0)
            filled += static_cast<std::size_t>(got);
        else if (errno != EINTR)
            return runError("the system gives no random bytes");
    }
    return nonce;
}

} // namespace bubblescope::net
