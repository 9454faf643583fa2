#pragma once

#include "core/base/result.h"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

/// Secrets that two processes share, and how one shows the other that it knows one without sending it.
namespace bubblescope::net {

/// The environment variable that holds a token where no file is given.
inline constexpr const char* kTokenVariable = "BUBBLESCOPE_TOKEN";

/// The token that both sides of a stream know: the first line of `file`, or the environment variable if `file` is
/// empty. Errors: Usage if there is neither; Input if the file cannot be read, if other users can read it, or if the
/// token is empty or longer than 1024 bytes.
[[nodiscard]] Result<std::string> readToken(const std::string& file);

inline constexpr std::size_t kProofBytes = 32;
using Proof = std::array<char, kProofBytes>;
using Nonce = std::array<char, kProofBytes>;

/// HMAC-SHA256 of the message under the secret.
[[nodiscard]] Proof proofOf(std::string_view secret, std::string_view message);

/// Bytes that nobody can foresee and that never come again.
[[nodiscard]] Nonce makeNonce();

/// Whether two texts are equal, in time that does not depend on where they differ.
[[nodiscard]] bool equalSecrets(std::string_view a, std::string_view b);

[[nodiscard]] inline std::string_view bytesOf(const std::array<char, kProofBytes>& bytes) {
    return {bytes.data(), bytes.size()};
}

} // namespace bubblescope::net
