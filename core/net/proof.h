#pragma once

#include "core/base/result.h"

#include <array>
#include <cstddef>
#include <string_view>

/// Shows that one knows a secret without sending it.

namespace bubblescope::net {

inline constexpr std::size_t kProofBytes = 32;
using Proof = std::array<char, kProofBytes>;
using Nonce = std::array<char, kProofBytes>;

/// HMAC-SHA256 of the message under the secret. Error: Usage, in a build without OpenSSL.
[[nodiscard]] Result<Proof> proofOf(std::string_view secret, std::string_view message);

/// Bytes that nobody can foresee and that never come again. Error: Run, if the system has none.
[[nodiscard]] Result<Nonce> makeNonce();

[[nodiscard]] inline std::string_view bytesOf(const std::array<char, kProofBytes>& bytes) {
    return {bytes.data(), bytes.size()};
}

} // namespace bubblescope::net
