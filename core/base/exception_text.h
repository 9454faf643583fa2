#pragma once

#include <exception>
#include <new>
#include <string>

namespace bubblescope {

/// The message of an exception, worded for users.
[[nodiscard]] inline std::string exceptionText(const std::exception& exception) {
    return dynamic_cast<const std::bad_alloc*>(&exception) != nullptr ? "there is not enough memory" : exception.what();
}

} // namespace bubblescope
