#pragma once

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace bubblescope {

/// Kinds of errors, distinguished by how callers handle them. The command line maps each kind to an exit code.
enum class ErrorKind {
    Usage,     ///< the request itself makes no sense (exit code 2)
    Input,     ///< a file or stream is unreadable or invalid (exit code 3)
    Run,       ///< a run that was started failed
    Cancelled, ///< the user or a newer request stopped the work; nothing to report
};

/// The one error type, shown to users. `message` describes what happened, `where` names the file and the place in it
/// (may be empty), and `hint` suggests what to do about it (may be empty).
struct Error {
    ErrorKind kind = ErrorKind::Input;
    std::string message;
    std::string where;
    std::string hint;

    /// "where: message (hint)", omitting empty parts.
    [[nodiscard]] std::string text() const;
};

[[nodiscard]] Error usageError(std::string message, std::string hint = {});
[[nodiscard]] Error inputError(std::string where, std::string message, std::string hint = {});
[[nodiscard]] Error runError(std::string message, std::string hint = {});
[[nodiscard]] Error cancelledError();

/// The exit code of an error. 0 is reserved for success, 1 for a finding that `--fail-on` selects.
[[nodiscard]] int exitCode(ErrorKind kind);

/// A value or the Error that prevented it. Exceptions do not cross module boundaries; those of third-party libraries
/// are caught at the call. There is no implicit bool: use `ok()`.
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

/// Success or an Error, for functions without a return value.
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

/// Evaluates a Status or Result and returns its error, if any, from the enclosing function.
#define BUBBLESCOPE_TRY(expression)                                                 \
    do {                                                                            \
        auto bubblescope_status = (expression);                                     \
        if (!bubblescope_status.ok()) return std::move(bubblescope_status).error(); \
    } while (false)

/// `BUBBLESCOPE_ASSIGN(auto x, f());` binds the value of f() or returns its error.
#define BUBBLESCOPE_ASSIGN(target, expression)                                       \
    auto BUBBLESCOPE_CONCAT(bubblescope_result_, __LINE__) = (expression);           \
    if (!BUBBLESCOPE_CONCAT(bubblescope_result_, __LINE__).ok())                     \
        return std::move(BUBBLESCOPE_CONCAT(bubblescope_result_, __LINE__)).error(); \
    target = std::move(BUBBLESCOPE_CONCAT(bubblescope_result_, __LINE__)).value()
