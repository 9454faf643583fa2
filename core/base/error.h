#pragma once

#include <string>

namespace bubblescope {

/// What went wrong, in the terms a caller has to act on. The command line turns each into an exit code.
enum class ErrorKind {
    Usage,     ///< the request itself makes no sense (exit code 2)
    Input,     ///< a file or stream is unreadable or invalid (exit code 3)
    Run,       ///< a run that was started failed (exit code 4)
    Cancelled, ///< the user or a newer request stopped the work; nothing to report
};

/// The one error type. User-facing: `message` says what, `where` names the file and the place in it
/// (may be empty), `hint` says what to do about it (may be empty).
struct Error {
    ErrorKind kind = ErrorKind::Input;
    std::string message;
    std::string where;
    std::string hint;

    /// "where: message (hint)", leaving out what is empty.
    [[nodiscard]] std::string text() const;
};

[[nodiscard]] Error usageError(std::string message, std::string hint = {});
[[nodiscard]] Error inputError(std::string where, std::string message, std::string hint = {});
[[nodiscard]] Error runError(std::string message, std::string hint = {});
[[nodiscard]] Error cancelledError();

/// 0 is reserved for success, 1 for a finding that `--fail-on` asked to fail on.
[[nodiscard]] int exitCode(ErrorKind kind);

} // namespace bubblescope
