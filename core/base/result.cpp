#include "core/base/result.h"

#include <utility>

namespace bubblescope {

std::string Error::text() const {
    std::string out;
    if (!where.empty()) out += where + ": ";
    out += message;
    if (!hint.empty()) out += " (" + hint + ")";
    return out;
}

Error usageError(std::string message, std::string hint) {
    return {ErrorKind::Usage, std::move(message), {}, std::move(hint)};
}

Error inputError(std::string where, std::string message, std::string hint) {
    return {ErrorKind::Input, std::move(message), std::move(where), std::move(hint)};
}

Error runError(std::string message, std::string hint) {
    return {ErrorKind::Run, std::move(message), {}, std::move(hint)};
}

Error cancelledError() {
    return {ErrorKind::Cancelled, "cancelled", {}, {}};
}

int exitCode(ErrorKind kind) {
    switch (kind) {
    case ErrorKind::Usage: return 2;
    case ErrorKind::Input: return 3;
    case ErrorKind::Run: return 4;
    case ErrorKind::Cancelled: return 4;
    }
    return 4;
}

} // namespace bubblescope
