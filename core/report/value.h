#pragma once

#include "core/base/ids.h"
#include "core/base/sentence.h"
#include "core/base/time.h"

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace bubblescope::report {

struct Member;

/// A typed value of a report: what its JSON document holds, and what text, pages and tables show in words.
/// Renderers format it; whoever makes it does not.
class Value {
public:
    using List = std::vector<Value>;
    using Object = std::vector<Member>; ///< members in the order in which they are written

    /// Where a member or cell holds nothing at all. JSON leaves the key out.
    struct Absent {};

    Value() = default; ///< null
    Value(Absent absent) : data_(absent) {}
    Value(bool value) : data_(value) {}
    template <std::integral Number>
    Value(Number value) : data_(static_cast<std::int64_t>(value)) {}
    Value(double value) : data_(value) {} ///< JSON has null for infinities and NaN
    Value(TimeNs value) : data_(value) {} ///< JSON has integer nanoseconds
    Value(std::string value) : data_(std::move(value)) {}
    Value(std::string_view value) : data_(std::string(value)) {}
    Value(const char* value) : data_(std::string(value)) {}
    Value(Sentence value) : data_(std::move(value)) {} ///< JSON and text have it in English, the app translates it
    template <class Tag>
    Value(Id<Tag> value) : data_(std::int64_t{value.value}) {}
    template <class T>
    Value(const std::optional<T>& value) { // null if there is none
        if (value) *this = Value(*value);
    }
    Value(List list) : data_(std::move(list)) {}
    Value(Object object) : data_(std::move(object)) {}
    template <class T>
    Value(const std::vector<T>& list) requires(!std::same_as<T, Value> && !std::same_as<T, Member>) {
        List values;
        values.reserve(list.size());
        for (const auto& value : list)
            values.emplace_back(T(value));
        data_ = std::move(values);
    }

    [[nodiscard]] bool absent() const { return std::holds_alternative<Absent>(data_); }
    /// In words: "1.500 ms", "3", "rank 2". Nothing of null; lists, objects and truth values have no words.
    [[nodiscard]] std::string text() const;

    /// For renderers.
    template <class Visitor>
    decltype(auto) visit(Visitor&& visitor) const {
        return std::visit(std::forward<Visitor>(visitor), data_);
    }

private:
    std::variant<std::monostate, Absent, bool, std::int64_t, double, TimeNs, std::string, Sentence, List, Object> data_;
};

struct Member {
    std::string key;
    Value value;
};

/// A member that is there only where `value` is.
template <class T>
[[nodiscard]] Value ifAny(const std::optional<T>& value) {
    return value ? Value(*value) : Value(Value::Absent{});
}

} // namespace bubblescope::report
