#pragma once

#include "core/trace/string_pool.h"

#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace bubblescope {

/// Location of the args of a slice or an instant (see ArgStore); 0 means no args.
using ArgSetId = std::uint64_t;

/// Value of an arg. Nested JSON values are stored as JSON text.
using ArgValue = std::variant<std::int64_t, double, bool, std::string>;

struct Arg {
    std::string name;
    ArgValue value;

    friend bool operator==(const Arg&, const Arg&) = default;
};

/// An arg as passed by readers, with interned strings. Uses 24 bytes.
struct StoredArg {
    enum class Type : std::uint8_t { Int, Double, Bool, Text };

    StringId name = 0;
    Type type = Type::Int;
    std::int64_t number = 0; ///< value of an Int or Bool, bits of a Double, or StringId of a Text

    void setInt(std::int64_t value) { type = Type::Int, number = value; }
    void setReal(double value) { type = Type::Double, number = std::bit_cast<std::int64_t>(value); }
    void setBool(bool value) { type = Type::Bool, number = value ? 1 : 0; }
    void setText(StringId value) { type = Type::Text, number = value; }

    friend bool operator==(const StoredArg&, const StoredArg&) = default;
};

/// An arg during a visit; its strings are valid only until the callback returns.
struct ArgView {
    std::string_view name;
    std::variant<std::int64_t, double, bool, std::string_view> value;

    [[nodiscard]] Arg kept() const;
};

/// Called for each arg of a set; must return false to end the visit.
using ArgVisit = std::function<bool(const ArgView&)>;

/// Reads args that remain in compressed text or in a file that is not JSON. Thread-safe.
class ArgReader {
public:
    ArgReader() = default;
    ArgReader(const ArgReader&) = delete;
    ArgReader& operator=(const ArgReader&) = delete;
    virtual ~ArgReader() = default;

    /// Visits the args of the event at `offset` of the file's text. `text` may be arbitrary bytes.
    virtual void visit(std::string_view text, std::uint64_t offset, const ArgVisit& visit) const = 0;
    /// The JSON object that contains the args at `offset`; empty if there is none.
    [[nodiscard]] virtual std::optional<std::string> object([[maybe_unused]] std::string_view text,
                                                            [[maybe_unused]] std::uint64_t offset) const {
        return std::nullopt;
    }
};

/// Text from which args are parsed later: a mapped or a decompressed file. `owner` keeps the text
/// alive.
struct ArgSource {
    std::shared_ptr<const void> owner;
    std::string_view text;
    std::shared_ptr<const ArgReader> reader = {}; ///< null if the args are JSON objects
};

/// Args of all slices and instants of a trace. A set is either a row of stored args, a position in a source, or the
/// union of two sets. The set's id encodes its form, so sets in sources and single numbers use no memory here. Reading
/// is thread-safe while nothing is being added.
class ArgStore {
public:
    /// Returns 0 if there are no args. Equal sets are stored once, unless most sets turn out to be different.
    ArgSetId add(std::span<const StoredArg> args);
    /// The args of `base` plus an integer arg, which overrides an arg of the same name in `base`. The id itself
    /// contains the arg if the number is between 0 and 2^32, its name is among the first 2^10, and `base` is 0 or among
    /// the first 2^20 results of add().
    ArgSetId addNumber(StringId name, std::int64_t value, ArgSetId base = 0);
    /// The JSON object or event that starts at `offset` of a source. Offsets must be below 2^42; sources numbered
    /// kMaxSources or higher have no args.
    [[nodiscard]] static ArgSetId inSource(std::uint32_t source, std::uint64_t offset);
    static constexpr std::uint32_t kMaxSources = std::uint32_t{1} << 20;
    /// The union of both sets; args of the second set take precedence.
    ArgSetId merge(ArgSetId first, ArgSetId second);
    std::uint32_t addSource(ArgSource source);
    [[nodiscard]] std::size_t sourceCount() const { return sources_.size(); }

    [[nodiscard]] std::vector<Arg> args(ArgSetId set, const StringPool& strings) const;
    [[nodiscard]] std::optional<ArgValue> arg(ArgSetId set, std::string_view name, const StringPool& strings) const;
    /// Visits all args, in most cases without allocating memory. Each name is visited once, unless the set itself
    /// contains it twice.
    void visit(ArgSetId set, const StringPool& strings, const ArgVisit& visit) const;

    /// The set as a JSON object on one line; empty if there are no args. Valid JSON in the file is returned unchanged,
    /// except that invalid UTF-8 bytes become '?'; invalid JSON is repaired.
    [[nodiscard]] std::string json(ArgSetId set, const StringPool& strings) const;

    [[nodiscard]] bool empty() const { return ends_.size() == 1 && pairs_.empty() && sources_.empty(); }
    /// Converts set ids of another store, whose content was moved here, to ids of this store.
    class Moved {
    public:
        [[nodiscard]] ArgSetId operator()(ArgSetId set);

    private:
        friend class ArgStore;
        ArgStore* store_ = nullptr;
        std::span<const StringId> strings_;
        std::uint64_t rows_ = 0;
        std::uint64_t pairs_ = 0;
        std::uint64_t sources_ = 0;
    };
    /// Moves all sets of `other` here. `strings` maps its string ids to this trace's and must outlive the result.
    [[nodiscard]] Moved append(ArgStore&& other, std::span<const StringId> strings);

private:
    static constexpr std::size_t kFirstPlaces = 64;

    enum class Kind : std::uint64_t { Stored, Source, Pair, Number };

    [[nodiscard]] static StoredArg numberOf(ArgSetId set);
    /// The stored set that is extended by a number.
    [[nodiscard]] std::span<const StoredArg> below(ArgSetId set) const;
    /// Adds a set without searching for an equal set.
    ArgSetId addRow(std::span<const StoredArg> args);
    [[nodiscard]] ArgSetId& placeOf(std::span<const StoredArg> args);
    void growKnown();
    ArgSetId addNumberOn(std::uint64_t base, StringId name, std::int64_t value);
    [[nodiscard]] std::span<const StoredArg> row(ArgSetId set) const;
    [[nodiscard]] const ArgSource& sourceOf(ArgSetId set) const;
    /// The JSON object of a set in a source, possibly created in `buffer`; empty if the source is not JSON.
    [[nodiscard]] std::optional<std::string_view> jsonIn(ArgSetId set, std::string& buffer) const;

    std::vector<std::uint64_t> ends_{0}; // stored set k is pool_[ends_[k - 1], ends_[k])
    std::vector<StoredArg> pool_;
    std::vector<std::pair<ArgSetId, ArgSetId>> pairs_;
    /// Hash table of stored sets by args; its size is a power of two. Cleared if most sets turn out to differ.
    std::vector<ArgSetId> known_ = std::vector<ArgSetId>(kFirstPlaces, 0);
    std::size_t distinct_ = 0;
    std::size_t repeated_ = 0;
    std::vector<ArgSource> sources_;
};

/// The text of the JSON object that starts at `offset`; empty if there is none.
[[nodiscard]] std::string_view jsonObjectAt(std::string_view text, std::uint64_t offset);

/// The fields of a JSON object. A malformed object is repaired; if this fails, the fields before the error are
/// returned. Numbers become integers if possible, otherwise doubles; nested values, and numbers that are out of range,
/// are stored as text. Invalid UTF-8 bytes become '?'. Thread-safe.
[[nodiscard]] std::vector<Arg> parseJsonArgs(std::string_view object);

/// A field of a JSON object; if several fields have this name, the first well-formed one.
[[nodiscard]] std::optional<ArgValue> findJsonArg(std::string_view object, std::string_view name);

/// Converts a value from a file to valid JSON on one line; empty if it cannot be read. Invalid UTF-8 bytes become '?'.
[[nodiscard]] std::string strictJson(std::string_view value);

/// Inverse of parseJsonArgs(): a JSON object on one line. Invalid UTF-8 bytes become the replacement character;
/// infinities and NaN become strings.
[[nodiscard]] std::string argsToJson(const std::vector<Arg>& args);

/// Text as a quoted JSON string. Invalid UTF-8 bytes become the replacement character.
[[nodiscard]] std::string quotedJson(std::string_view text);

} // namespace bubblescope
