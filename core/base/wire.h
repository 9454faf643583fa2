#pragma once

#include "core/base/diagnostic.h"
#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/base/time.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace bubblescope {

// Serialization for other processes of the same program on the same kind of machine, and for files that store the
// version of their layout (core/formats/source/file_extract.h). To make a struct serializable, define `template <class
// Wire> void fields(Wire& wire, ItsType& value)` in its namespace, which passes all members to wire(). Bind the members
// with `auto& [a, b] = value`, so that adding a member causes a compile error until it is serialized too.

/// Maximum distance between a time in a file and the zero of the file's clock. The limit of 73 years lets sums and
/// differences of two such times fit into 64 bits.
inline constexpr TimeNs kFarthestWireTime{INT64_MAX / 4};

/// Appends serialized values to a byte string.
class WireWriter {
public:
    /// Points in time passed to the writer are relative to `origin`; they are written as clock times.
    explicit WireWriter(TimeNs origin = TimeNs{0}) : origin_(origin) {}
    template <class... T>
    void operator()(const T&... values) {
        (put(values), ...);
    }
    /// Points in time; TimeNs::min() and max() mean that a time is missing.
    template <class... Time>
    void instant(const Time&... times) {
        (put(times == TimeNs::max() || times == TimeNs::min() ? times : times + origin_), ...);
    }
    void span(TimeNs start, TimeNs end) { instant(start, end); }
    /// Durations, which must not be negative.
    template <class... Time>
    void duration(const Time&... times) {
        (put(times), ...);
    }
    /// An enumeration with values from 0 to `last`.
    template <class Enum>
    void enumeration(const Enum& value, Enum /*last*/) {
        put(value);
    }
    /// Reserves space for `more` additional bytes.
    void reserve(std::size_t more) { bytes_.reserve(bytes_.size() + more); }
    /// Raw bytes, for example of a matrix; the reader must know their number.
    void block(const void* from, std::size_t count) { raw(from, count); }
    [[nodiscard]] std::string take() { return std::move(bytes_); }

private:
    template <class T>
    void put(const T& value) {
        if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
            raw(&value, sizeof value);
        } else {
            fields(*this, const_cast<T&>(value)); // fields() is also used for reading, but writing modifies nothing
        }
    }
    template <class Rep, class Period>
    void put(const std::chrono::duration<Rep, Period>& value) {
        put(value.count());
    }
    template <class Tag>
    void put(const Id<Tag>& id) {
        put(id.value);
    }
    void put(const std::string& text) {
        put(std::uint64_t{text.size()});
        raw(text.data(), text.size());
    }
    void put(const std::filesystem::path& path) { put(path.string()); }
    template <class T>
    void put(const std::optional<T>& value) {
        put(value.has_value());
        if (value) put(*value);
    }
    template <class T>
    void put(const std::vector<T>& values) {
        put(std::uint64_t{values.size()});
        for (const T& value : values)
            put(value);
    }
    template <class T, std::size_t N>
    void put(const std::array<T, N>& values) {
        for (const T& value : values)
            put(value);
    }
    template <class A, class B>
    void put(const std::pair<A, B>& value) {
        (*this)(value.first, value.second);
    }
    template <class K, class V>
    void put(const std::map<K, V>& values) {
        put(std::uint64_t{values.size()});
        for (const auto& [key, value] : values)
            (*this)(key, value);
    }
    void raw(const void* from, std::size_t count) { bytes_.append(static_cast<const char*>(from), count); }

    std::string bytes_;
    TimeNs origin_;
};

/// Reads values in the order in which they were written. After the end of the input, or after an impossible value, all
/// values are defaults and failed() is true.
class WireReader {
public:
    /// The times read are made relative to `origin`.
    explicit WireReader(std::string_view bytes, TimeNs origin = TimeNs{0}) : rest_(bytes), origin_(origin) {}

    template <class... T>
    void operator()(T&... values) {
        (get(values), ...);
    }
    /// Reads `count` raw bytes. Copies nothing if fewer bytes are left.
    void block(void* to, std::size_t count) {
        if (have(count) && count != 0) std::memcpy(to, take(count).data(), count);
    }
    template <class... Time>
    void instant(Time&... times) {
        (getInstant(times), ...);
    }
    /// Rejects an interval whose end is before its start.
    void span(TimeNs& start, TimeNs& end) {
        instant(start, end);
        if (end < start) reject();
        if (failed_) start = end = TimeNs{0};
    }
    template <class... Time>
    void duration(Time&... times) {
        (getDuration(times), ...);
    }
    template <class Enum>
    void enumeration(Enum& value, Enum last) {
        get(value);
        if (value > last) value = Enum{}, reject();
    }
    [[nodiscard]] std::size_t left() const { return rest_.size(); }
    /// Marks the input as malformed.
    void reject() { failed_ = true; }
    [[nodiscard]] bool failed() const { return failed_; }
    [[nodiscard]] bool done() const { return !failed_ && rest_.empty(); }

private:
    template <class T>
    void get(T& value) {
        if constexpr (std::is_same_v<T, bool>) {
            std::uint8_t byte = 0; // bytes other than 0 and 1 are not valid for a bool
            get(byte);
            value = byte == 1;
            if (byte > 1) reject();
        } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
            if (have(sizeof value)) std::memcpy(&value, take(sizeof value).data(), sizeof value);
        } else {
            fields(*this, value);
        }
    }
    template <class Rep, class Period>
    void get(std::chrono::duration<Rep, Period>& value) {
        Rep count{};
        get(count);
        value = std::chrono::duration<Rep, Period>(count);
    }
    template <class Tag>
    void get(Id<Tag>& id) {
        get(id.value);
    }
    void get(std::string& text) {
        const std::size_t count = length(1);
        text = take(count);
    }
    void get(std::filesystem::path& path) {
        std::string text;
        get(text);
        path = text;
    }
    template <class T>
    void get(std::optional<T>& value) {
        bool there = false;
        get(there);
        value.reset();
        if (there) get(value.emplace());
    }
    template <class T>
    void get(std::vector<T>& values) {
        values.clear();
        const std::size_t count = length(1);
        for (std::size_t i = 0; i < count && !failed_; ++i)
            get(values.emplace_back());
    }
    template <class T, std::size_t N>
    void get(std::array<T, N>& values) {
        for (T& value : values)
            get(value);
    }
    template <class A, class B>
    void get(std::pair<A, B>& value) {
        (*this)(value.first, value.second);
    }
    template <class K, class V>
    void get(std::map<K, V>& values) {
        values.clear();
        const std::size_t count = length(1);
        for (std::size_t i = 0; i < count && !failed_; ++i) {
            K key{};
            get(key);
            get(values[std::move(key)]);
        }
    }

    void getInstant(TimeNs& time) {
        get(time);
        if (time == TimeNs::max() || time == TimeNs::min()) return;
        if (time > kFarthestWireTime || time < -kFarthestWireTime) reject();
        time = failed_ ? TimeNs{0} : time - origin_;
    }
    void getDuration(TimeNs& time) {
        get(time);
        if (time < TimeNs{0}) time = TimeNs{0}, reject();
    }

    /// Number of elements that follow; each has at least `least` bytes.
    [[nodiscard]] std::size_t length(std::size_t least) {
        std::uint64_t count = 0;
        get(count);
        return count <= rest_.size() / least ? count : (failed_ = true, 0);
    }
    [[nodiscard]] bool have(std::size_t count) { return rest_.size() >= count || !(failed_ = true); }
    std::string_view take(std::size_t count) {
        const std::string_view taken = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return taken;
    }

    std::string_view rest_;
    TimeNs origin_;
    bool failed_ = false;
};

template <class Wire>
void fields(Wire& wire, Error& value) {
    auto& [kind, message, where, hint] = value;
    wire(kind, message, where, hint);
}
/// Other processes print sentences only in English, so only the text is sent.
inline void fields(WireWriter& wire, const Sentence& value) {
    wire(value.text());
}
inline void fields(WireReader& wire, Sentence& value) {
    std::string text;
    wire(text);
    value = std::move(text);
}
template <class Wire>
void fields(Wire& wire, Diagnostic& value) {
    auto& [kind, count, where, message] = value;
    wire(kind, count, where, message);
}

} // namespace bubblescope
