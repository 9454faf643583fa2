#pragma once

#include "core/base/result.h"

#include <string>

namespace bubblescope::net {

/// The environment variable that holds a token where no file is given.
inline constexpr const char* kTokenVariable = "BUBBLESCOPE_TOKEN";

/// The token that both sides of a stream know: the first line of `file`, or the environment variable if `file` is
/// empty. Errors: Usage if there is neither; Input if the file cannot be read, if other users can read it, or if the
/// token is empty or longer than 1024 bytes.
[[nodiscard]] Result<std::string> readToken(const std::string& file);

} // namespace bubblescope::net
