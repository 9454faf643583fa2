#pragma once

#include "core/base/ids.h"
#include "core/base/sentence.h"
#include "core/base/time.h"

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace bubblescope::report {

struct Member;

/// A typed value of a report: JSON contains the data; text, pages and tables display it. Only renderers format values.
class Value {
public:
    using List = std::vector<Value>;
    using Object = std::vector<Member>; ///< members in output order

    /// A member or cell without content. Its key is omitted in JSON.
    struct Absent {};

    Value(); ///< null
    Value(const Value&);
    Value(Value&&) noexcept;
    Value& operator=(const Value&);
    Value& operator=(Value&&) noexcept;
    ~Value();
    Value(Absent absent);
    Value(bool value);
    template <std::integral Number>
    Value(Number value) : data_(static_cast<std::int64_t>(value)) {}
    Value(double value); ///< infinities and NaN are null in JSON
    Value(TimeNs value); ///< an integer number of nanoseconds in JSON
    Value(std::string value);
    Value(std::string_view value);
    Value(const char* value);
    Value(Sentence value); ///< in English in JSON and text; translated by the app
    template <class Tag>
    Value(Id<Tag> value) : data_(std::int64_t{value.value}) {}
    template <class T>
    Value(const std::optional<T>& value) : Value() { // null if there is no value
        if (value) *this = Value(*value);
    }
    Value(List list);
    Value(Object object);
    template <class T>
    Value(const std::vector<T>& list) requires(!std::same_as<T, Value> && !std::same_as<T, Member>) {
        List values;
        values.reserve(list.size());
        for (const auto& value : list)
            values.emplace_back(T(value));
        data_ = std::move(values);
    }

    [[nodiscard]] bool absent() const { return std::holds_alternative<Absent>(data_); }
    /// Text as displayed: "1.5 ms", "3", "rank 2". Empty for null values, lists, objects and booleans.
    [[nodiscard]] std::string text() const;

    /// For renderers only.
    template <class Visitor>
    decltype(auto) visit(Visitor&& visitor) const {
        return std::visit(
            [&visitor](const auto& data) {
                using Stored = std::decay_t<decltype(data)>;
                if constexpr (std::is_same_v<Stored, std::shared_ptr<const Object>> ||
                              std::is_same_v<Stored, std::shared_ptr<const Sentence>>)
                    return visitor(*data);
                else
                    return visitor(data);
            },
            data_);
    }

private:
    // Sentences are stored as shared pointers to constant data, so that the many numbers in a document use little
    // memory. Lists of members are stored as pointers too, because a variant requires complete types, and Member is
    // incomplete here.
    std::variant<std::monostate, Absent, bool, std::int64_t, double, TimeNs, std::string,
                 std::shared_ptr<const Sentence>, List, std::shared_ptr<const Object>>
        data_;
};

struct Member {
    std::string key;
    Value value;
};

// From here on, Member is a complete type.
inline Value::Value() = default;
inline Value::Value(const Value&) = default;
inline Value::Value(Value&&) noexcept = default;
inline Value& Value::operator=(const Value&) = default;
inline Value& Value::operator=(Value&&) noexcept = default;
inline Value::~Value() = default;
inline Value::Value(Absent absent) : data_(absent) {}
inline Value::Value(bool value) : data_(value) {}
inline Value::Value(double value) : data_(value) {}
inline Value::Value(TimeNs value) : data_(value) {}
inline Value::Value(std::string value) : data_(std::move(value)) {}
inline Value::Value(std::string_view value) : data_(std::string(value)) {}
inline Value::Value(const char* value) : data_(std::string(value)) {}
inline Value::Value(Sentence value) : data_(std::make_shared<const Sentence>(std::move(value))) {}
inline Value::Value(List list) : data_(std::move(list)) {}
inline Value::Value(Object object) : data_(std::make_shared<const Object>(std::move(object))) {}

/// A member that exists only if `value` has a value.
template <class T>
[[nodiscard]] Value ifAny(const std::optional<T>& value) {
    return value ? Value(*value) : Value(Value::Absent{});
}

} // namespace bubblescope::report
