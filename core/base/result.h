#pragma once

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace bubblescope {

/// Kinds of errors that callers handle differently. The command line maps each kind to an exit code.
enum class ErrorKind {
    Usage,     ///< the request itself is invalid (exit code 2)
    Input,     ///< a file or stream is unreadable or invalid (exit code 3)
    Run,       ///< a run failed after it was started
    Cancelled, ///< stopped by the user or by a newer request; there is nothing to report
};

/// The only error type; errors are shown to users. `message` describes the problem, `where` names the file and the
/// position in it (may be empty), and `hint` suggests a remedy (may be empty).
struct Error {
    ErrorKind kind = ErrorKind::Input;
    std::string message;
    std::string where;
    std::string hint;

    /// The text "where: message (hint)", without empty parts.
    [[nodiscard]] std::string text() const;
};

[[nodiscard]] Error usageError(std::string message, std::string hint = {});
[[nodiscard]] Error inputError(std::string where, std::string message, std::string hint = {});
[[nodiscard]] Error runError(std::string message, std::string hint = {});
[[nodiscard]] Error cancelledError();

/// Exit code for an error of this kind. 0 is reserved for success, and 1 for findings that `--fail-on` selects.
[[nodiscard]] int exitCode(ErrorKind kind);

/// Either a value or the Error that prevented it. Exceptions do not cross module boundaries; exceptions from
/// third-party libraries are caught where the library is called. There is no implicit conversion to bool; use `ok()`.
template <class T>
class [[nodiscard]] Result {
public:
    Result(T value) : state_(std::move(value)) {}
    Result(Error error) : state_(std::move(error)) {}

    [[nodiscard]] bool ok() const { return std::holds_alternative<T>(state_); }

    [[nodiscard]] const T& value() const& {
        assert(ok());
        return *std::get_if<T>(&state_);
    }
    [[nodiscard]] T& value() & {
        assert(ok());
        return *std::get_if<T>(&state_);
    }
    [[nodiscard]] T&& value() && {
        assert(ok());
        return std::move(*std::get_if<T>(&state_));
    }

    [[nodiscard]] const Error& error() const& {
        assert(!ok());
        return *std::get_if<Error>(&state_);
    }
    [[nodiscard]] Error&& error() && {
        assert(!ok());
        return std::move(*std::get_if<Error>(&state_));
    }

private:
    std::variant<T, Error> state_;
};

/// Either success or an Error, for functions without a return value.
template <>
class [[nodiscard]] Result<void> {
public:
    Result() = default;
    Result(Error error) : error_(std::move(error)), failed_(true) {}

    [[nodiscard]] bool ok() const { return !failed_; }
    [[nodiscard]] const Error& error() const& {
        assert(failed_);
        return error_;
    }
    [[nodiscard]] Error&& error() && {
        assert(failed_);
        return std::move(error_);
    }

private:
    Error error_;
    bool failed_ = false;
};

using Status = Result<void>;

} // namespace bubblescope

#define BUBBLESCOPE_CONCAT_IMPL(a, b) a##b
#define BUBBLESCOPE_CONCAT(a, b) BUBBLESCOPE_CONCAT_IMPL(a, b)

/// Evaluates a Status or Result; on error, returns the error from the enclosing function.
#define BUBBLESCOPE_TRY(expression)                                                 \
    do {                                                                            \
        auto bubblescope_status = (expression);                                     \
        if (!bubblescope_status.ok()) return std::move(bubblescope_status).error(); \
    } while (false)

/// `BUBBLESCOPE_ASSIGN(auto x, f());` binds the value of f() or returns the error of f().
#define BUBBLESCOPE_ASSIGN(target, expression)                                       \
    auto BUBBLESCOPE_CONCAT(bubblescope_result_, __LINE__) = (expression);           \
    if (!BUBBLESCOPE_CONCAT(bubblescope_result_, __LINE__).ok())                     \
        return std::move(BUBBLESCOPE_CONCAT(bubblescope_result_, __LINE__)).error(); \
    target = std::move(BUBBLESCOPE_CONCAT(bubblescope_result_, __LINE__)).value()
