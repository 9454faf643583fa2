#pragma once

#include "core/trace/string_pool.h"

#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace bubblescope {

using ArgSetId = std::uint32_t; ///< 0 = no args

/// What an arg holds. Nested values of JSON files are their JSON text.
using ArgValue = std::variant<std::int64_t, double, bool, std::string>;

struct Arg {
    std::string name;
    ArgValue value;

    friend bool operator==(const Arg&, const Arg&) = default;
};

/// An arg as readers hand it over, with texts interned: 24 bytes.
struct StoredArg {
    enum class Type : std::uint8_t { Int, Double, Bool, Text };

    StringId name = 0;
    Type type = Type::Int;
    std::int64_t number = 0; ///< the value of Int and Bool, the bits of Double, the StringId of Text

    void setInt(std::int64_t value) { type = Type::Int, number = value; }
    void setReal(double value) { type = Type::Double, number = std::bit_cast<std::int64_t>(value); }
    void setBool(bool value) { type = Type::Bool, number = value ? 1 : 0; }
    void setText(StringId value) { type = Type::Text, number = value; }

    friend bool operator==(const StoredArg&, const StoredArg&) = default;
};

/// Text that outlives its reader because args are parsed from it later: a mapped file, or what a packed one unpacked
/// to. `owner` keeps it.
struct ArgSource {
    std::shared_ptr<const void> owner;
    std::string_view text;
};

/// The args of all slices and instants of a trace. A set is a row of stored args, a JSON object in a source, or two
/// sets read as one. Reading is safe from any number of threads while nobody adds.
class ArgStore {
public:
    /// 0 for no args. A set equal to one added before is kept once, as long as many are.
    ArgSetId add(std::span<const StoredArg> args);
    /// The args of `base` and one whole number, which holds where both have the name. Kept in 8 bytes if the number is
    /// 0 to 2^32, its name among the first 2^10 and the base none or among the first 2^20 that add() took.
    ArgSetId addNumber(StringId name, std::int64_t value, ArgSetId base = 0);
    /// The JSON object that begins at `offset` of a source. Sources: up to 16,383; offsets: up to 2^48.
    ArgSetId addJson(std::uint32_t source, std::uint64_t offset);
    /// Both sets as one; where both have a name, the second's value holds.
    ArgSetId merge(ArgSetId first, ArgSetId second);
    std::uint32_t addSource(ArgSource source);

    [[nodiscard]] std::vector<Arg> args(ArgSetId set, const StringPool& strings) const;
    [[nodiscard]] std::optional<ArgValue> arg(ArgSetId set, std::string_view name, const StringPool& strings) const;

    /// The set as a JSON object in one line, empty for no args. What lies in a JSON file is given as it stands there,
    /// but for bytes that are no UTF-8, which become '?'.
    [[nodiscard]] std::string json(ArgSetId set, const StringPool& strings) const;

    [[nodiscard]] bool empty() const { return sets_.size() == 1 && sources_.empty(); }
    /// Takes over all sets of `other`, whose texts have the numbers `strings` gives; the returned number is to be
    /// added to its sets' ids.
    [[nodiscard]] ArgSetId append(ArgStore&& other, std::span<const StringId> strings);

private:
    static constexpr std::size_t kFirstPlaces = 64;

    enum class Kind : std::uint64_t { Stored, Json, Pair, Number };

    [[nodiscard]] static std::uint64_t reference(Kind kind, std::uint64_t high, std::uint64_t low);
    [[nodiscard]] static StoredArg numberOf(std::uint64_t reference);
    /// The stored set below a number.
    [[nodiscard]] std::span<const StoredArg> below(std::uint64_t reference) const;
    /// A set of its own, whatever there is already.
    ArgSetId addRow(std::span<const StoredArg> args);
    [[nodiscard]] ArgSetId& placeOf(std::span<const StoredArg> args);
    void growKnown();
    ArgSetId addNumberOn(std::uint64_t base, StringId name, std::int64_t value);
    ArgSetId addReference(std::uint64_t reference);
    [[nodiscard]] std::span<const StoredArg> row(std::uint64_t number) const;
    [[nodiscard]] std::string_view sourceText(std::uint64_t reference) const;

    std::vector<std::uint64_t> sets_{0}; // kind in the top 2 bits, see args.cpp
    std::vector<std::uint64_t> ends_{0}; // stored set k is pool_[ends_[k], ends_[k + 1])
    std::vector<StoredArg> pool_;
    /// Stored sets by the hash of their args, a power of two of places; empty once sets turn out to differ.
    std::vector<ArgSetId> known_ = std::vector<ArgSetId>(kFirstPlaces, 0);
    std::size_t distinct_ = 0;
    std::size_t repeated_ = 0;
    std::vector<ArgSource> sources_;
};

/// The fields of a JSON object; those that are damaged are left out. Numbers that are whole and fit are whole, the
/// others real; nested values and numbers that fit neither are kept as text; bytes that are no UTF-8 become '?'. Safe
/// from any thread.
[[nodiscard]] std::vector<Arg> parseJsonArgs(std::string_view object);

/// One field of a JSON object; the first that is not damaged if there are several of the name.
[[nodiscard]] std::optional<ArgValue> findJsonArg(std::string_view object, std::string_view name);

/// The reverse: a JSON object in one line. Bytes that are no UTF-8 become the replacement character, numbers that JSON
/// does not have texts.
[[nodiscard]] std::string argsToJson(const std::vector<Arg>& args);

/// A text as a JSON string, with its quotes; bytes that are no UTF-8 become the replacement character.
[[nodiscard]] std::string quotedJson(std::string_view text);

} // namespace bubblescope
