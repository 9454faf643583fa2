#include "core/trace/args.h"

#include "core/base/json_scanner.h"
#include "core/base/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <unordered_set>
#include <utility>

namespace bubblescope {
namespace {

// A reference: 2 bits of kind, then for Stored: the number of its row; Json: 14 bits of source, 48 of offset; Pair: 31
// bits each for the two sets; Number: 10 bits of name, 20 of the base set plus one, 32 of value.
constexpr int kKindShift = 62;
constexpr int kSourceShift = 48;
constexpr int kPairShift = 31;
constexpr int kBaseShift = 32;
constexpr int kNumberShift = 52;

constexpr std::uint64_t lowBits(int count) {
    return (std::uint64_t{1} << count) - 1;
}

ArgValue valueOf(const StoredArg& arg, const StringPool& strings) {
    switch (arg.type) {
    case StoredArg::Type::Int: return arg.number;
    case StoredArg::Type::Double: return std::bit_cast<double>(arg.number);
    case StoredArg::Type::Bool: return arg.number != 0;
    case StoredArg::Type::Text: break;
    }
    return std::string(strings.text(static_cast<StringId>(arg.number)));
}

Arg argOf(const StoredArg& arg, const StringPool& strings) {
    return {std::string(strings.text(arg.name)), valueOf(arg, strings)};
}

std::optional<ArgValue> find(std::span<const StoredArg> args, std::string_view name, const StringPool& strings) {
    const StringId wanted = strings.find(name);
    for (const StoredArg& arg : args) {
        if (arg.name == wanted && wanted != 0) return valueOf(arg, strings);
    }
    return std::nullopt;
}

void appendQuoted(std::string_view text, std::string& out) {
    const auto is_plain = [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte >= ' ' && byte < 0x80 && c != '"' && c != '\\';
    };
    if (!std::ranges::all_of(text, is_plain)) {
        out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
        return;
    }
    out += '"';
    out += text;
    out += '"';
}

void appendValue(const StoredArg& arg, const StringPool& strings, std::string& out) {
    switch (arg.type) {
    case StoredArg::Type::Int: {
        const fmt::format_int digits(arg.number);
        out.append(digits.data(), digits.size());
        return;
    }
    case StoredArg::Type::Double: {
        const auto real = std::bit_cast<double>(arg.number);
        out += std::isfinite(real) ? nlohmann::json(real).dump() : quotedJson(std::to_string(real));
        return;
    }
    case StoredArg::Type::Bool: out += arg.number != 0 ? "true" : "false"; return;
    case StoredArg::Type::Text: appendQuoted(strings.text(static_cast<StringId>(arg.number)), out); return;
    }
}

/// For each arg whether a later one has its name, and so its place. `later` is one more arg, or none.
std::vector<bool> replacedArgs(std::span<const StoredArg> args, std::span<const StoredArg> later) {
    std::vector<bool> replaced(args.size(), false);
    std::unordered_set<StringId> seen;
    for (const StoredArg& arg : later)
        seen.insert(arg.name);
    for (std::size_t i = args.size(); i-- > 0;)
        replaced[i] = !seen.insert(args[i].name).second;
    return replaced;
}

bool differInName(std::span<const StoredArg> args, std::span<const StoredArg> later) {
    for (std::size_t i = 0; i < args.size(); ++i) {
        const auto has_name = [name = args[i].name](const StoredArg& other) { return other.name == name; };
        if (std::ranges::any_of(args.subspan(i + 1), has_name) || std::ranges::any_of(later, has_name)) return false;
    }
    return true;
}

/// Two rows as one JSON object in one line.
std::string objectOf(std::span<const StoredArg> args, std::span<const StoredArg> later, const StringPool& strings) {
    constexpr std::size_t kFew = 16; // as all real sets have: comparing each with each takes no memory
    std::vector<bool> replaced;
    if (args.size() > kFew || !differInName(args, later)) replaced = replacedArgs(args, later);
    std::string object = "{";
    const auto append = [&](const StoredArg& arg) {
        if (object.size() > 1) object += ',';
        appendQuoted(strings.text(arg.name), object);
        object += ':';
        appendValue(arg, strings, object);
    };
    for (std::size_t i = 0; i < args.size(); ++i) {
        if (replaced.empty() || !replaced[i]) append(args[i]);
    }
    std::ranges::for_each(later, append);
    object += '}';
    return object;
}

} // namespace

std::uint64_t ArgStore::reference(Kind kind, std::uint64_t high, std::uint64_t low) {
    const int shift = kind == Kind::Pair ? kPairShift : kind == Kind::Number ? kNumberShift : kSourceShift;
    return static_cast<std::uint64_t>(kind) << kKindShift | high << shift | low;
}

ArgSetId ArgStore::addReference(std::uint64_t reference) {
    sets_.push_back(reference);
    return static_cast<ArgSetId>(sets_.size() - 1);
}

ArgSetId ArgStore::add(std::span<const StoredArg> args) {
    constexpr std::size_t kProbedSets = std::size_t{1} << 16; // sets after which it is decided whether they repeat
    if (args.empty()) return 0;
    if (known_.empty()) return addRow(args);
    if (2 * (distinct_ + 1) > known_.size()) growKnown();
    ArgSetId& place = placeOf(args);
    if (place != 0) {
        ++repeated_;
        return place;
    }
    const ArgSetId set = place = addRow(args);
    if (++distinct_ >= kProbedSets && repeated_ < distinct_ / 4) std::vector<ArgSetId>().swap(known_);
    return set;
}

/// The entry of the set with these args, or the empty entry for it.
ArgSetId& ArgStore::placeOf(std::span<const StoredArg> args) {
    std::uint64_t hash = 0;
    for (const StoredArg& arg : args) {
        const std::uint64_t kind = std::uint64_t{arg.name} << 8 | static_cast<std::uint64_t>(arg.type);
        hash = (hash ^ kind ^ static_cast<std::uint64_t>(arg.number)) * 0x9e3779b97f4a7c15U; // Fibonacci hashing
        hash ^= hash >> 32;
    }
    for (std::size_t at = hash & (known_.size() - 1);; at = (at + 1) & (known_.size() - 1)) {
        ArgSetId& set = known_[at];
        if (set == 0 || std::ranges::equal(row(sets_[set] & lowBits(kKindShift)), args)) return set;
    }
}

void ArgStore::growKnown() {
    const std::vector<ArgSetId> before = std::exchange(known_, std::vector<ArgSetId>(2 * known_.size(), 0));
    for (const ArgSetId set : before) {
        if (set != 0) placeOf(row(sets_[set] & lowBits(kKindShift))) = set;
    }
}

ArgSetId ArgStore::addRow(std::span<const StoredArg> args) {
    pool_.insert(pool_.end(), args.begin(), args.end());
    ends_.push_back(pool_.size());
    return addReference(reference(Kind::Stored, 0, ends_.size() - 2));
}

ArgSetId ArgStore::addNumber(StringId name, std::int64_t value, ArgSetId base) {
    if (base == 0) return addNumberOn(0, name, value);
    const std::uint64_t below = sets_[base];
    if (static_cast<Kind>(below >> kKindShift) == Kind::Stored)
        return addNumberOn((below & lowBits(kKindShift)) + 1, name, value);
    return merge(base, addNumberOn(0, name, value));
}

ArgSetId ArgStore::addNumberOn(std::uint64_t base, StringId name, std::int64_t value) {
    const bool fits = value >= 0 && static_cast<std::uint64_t>(value) <= lowBits(kBaseShift) &&
                      name <= lowBits(kKindShift - kNumberShift) && base <= lowBits(kNumberShift - kBaseShift);
    if (fits)
        return addReference(reference(Kind::Number, name, base << kBaseShift | static_cast<std::uint64_t>(value)));
    std::vector<StoredArg> args;
    if (base != 0) {
        for (const StoredArg& arg : row(base - 1)) {
            if (arg.name != name) args.push_back(arg);
        }
    }
    args.emplace_back().name = name;
    args.back().setInt(value);
    return addRow(args); // one reference, as append() relies on
}

StoredArg ArgStore::numberOf(std::uint64_t reference) {
    StoredArg arg;
    arg.name = static_cast<StringId>((reference >> kNumberShift) & lowBits(kKindShift - kNumberShift));
    arg.setInt(static_cast<std::int64_t>(reference & lowBits(kBaseShift)));
    return arg;
}

ArgSetId ArgStore::addJson(std::uint32_t source, std::uint64_t offset) {
    return addReference(reference(Kind::Json, source, offset));
}

ArgSetId ArgStore::merge(ArgSetId first, ArgSetId second) {
    if (first == 0 || second == 0) return first | second;
    return addReference(reference(Kind::Pair, first, second));
}

std::uint32_t ArgStore::addSource(ArgSource source) {
    sources_.push_back(std::move(source));
    return static_cast<std::uint32_t>(sources_.size() - 1);
}

std::span<const StoredArg> ArgStore::row(std::uint64_t number) const {
    const auto at = static_cast<std::size_t>(number);
    return std::span(pool_).subspan(ends_[at], ends_[at + 1] - ends_[at]);
}

std::span<const StoredArg> ArgStore::below(std::uint64_t reference) const {
    const std::uint64_t base = (reference >> kBaseShift) & lowBits(kNumberShift - kBaseShift);
    return base == 0 ? std::span<const StoredArg>{} : row(base - 1);
}

std::string_view ArgStore::sourceText(std::uint64_t reference) const {
    const std::string_view text = sources_[(reference >> kSourceShift) & lowBits(kKindShift - kSourceShift)].text;
    const auto offset = static_cast<std::size_t>(reference & lowBits(kSourceShift));
    // A mapped file may have been truncated since: args beyond its end are empty.
    return offset < text.size() ? JsonScanner(text.substr(offset)).value().value_or(std::string_view{})
                                : std::string_view{};
}

std::vector<Arg> ArgStore::args(ArgSetId set, const StringPool& strings) const {
    if (set == 0) return {};
    const std::uint64_t reference = sets_[set];
    switch (static_cast<Kind>(reference >> kKindShift)) {
    case Kind::Json: return parseJsonArgs(sourceText(reference));
    case Kind::Stored: {
        std::vector<Arg> found;
        for (const StoredArg& arg : row(reference & lowBits(kKindShift)))
            found.push_back(argOf(arg, strings));
        return found;
    }
    case Kind::Number: {
        const StoredArg number = numberOf(reference);
        std::vector<Arg> found;
        for (const StoredArg& arg : below(reference)) {
            if (arg.name != number.name) found.push_back(argOf(arg, strings));
        }
        found.push_back(argOf(number, strings));
        return found;
    }
    case Kind::Pair: break;
    }
    std::vector<Arg> merged = args(static_cast<ArgSetId>(reference & lowBits(kPairShift)), strings);
    const std::size_t later = merged.size();
    for (Arg& arg : args(static_cast<ArgSetId>((reference >> kPairShift) & lowBits(kPairShift)), strings)) {
        const auto end = merged.begin() + static_cast<std::ptrdiff_t>(later);
        if (std::none_of(merged.begin(), end, [&arg](const Arg& other) { return other.name == arg.name; }))
            merged.push_back(std::move(arg));
    }
    return merged;
}

std::optional<ArgValue> ArgStore::arg(ArgSetId set, std::string_view name, const StringPool& strings) const {
    if (set == 0) return std::nullopt;
    const std::uint64_t reference = sets_[set];
    switch (static_cast<Kind>(reference >> kKindShift)) {
    case Kind::Json: return findJsonArg(sourceText(reference), name);
    case Kind::Stored: return find(row(reference & lowBits(kKindShift)), name, strings);
    case Kind::Number: {
        const StoredArg number = numberOf(reference);
        if (strings.text(number.name) == name) return number.number;
        return find(below(reference), name, strings);
    }
    case Kind::Pair: break;
    }
    if (auto later = arg(static_cast<ArgSetId>(reference & lowBits(kPairShift)), name, strings)) return later;
    return arg(static_cast<ArgSetId>((reference >> kPairShift) & lowBits(kPairShift)), name, strings);
}

std::string ArgStore::json(ArgSetId set, const StringPool& strings) const {
    if (set == 0) return {};
    const std::uint64_t reference = sets_[set];
    switch (static_cast<Kind>(reference >> kKindShift)) {
    case Kind::Stored: return objectOf(row(reference & lowBits(kKindShift)), {}, strings);
    case Kind::Number: {
        const StoredArg number = numberOf(reference);
        return objectOf(below(reference), {&number, 1}, strings);
    }
    case Kind::Pair: return argsToJson(args(set, strings));
    case Kind::Json: break;
    }
    std::string text(sourceText(reference));
    replaceInvalidUtf8(text.data(), text.size());
    // Line ends occur between values only: inside strings they are escaped.
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    return text;
}

ArgSetId ArgStore::append(ArgStore&& other, std::span<const StringId> strings) {
    const auto base = static_cast<ArgSetId>(sets_.size() - 1);
    const std::uint64_t rows = ends_.size() - 1;
    const std::uint64_t sources = sources_.size();
    const std::uint64_t pool = pool_.size();
    for (std::size_t i = 1; i < other.ends_.size(); ++i)
        ends_.push_back(pool + other.ends_[i]);
    for (StoredArg& arg : other.pool_) {
        arg.name = strings[arg.name];
        if (arg.type == StoredArg::Type::Text) arg.number = strings[static_cast<std::size_t>(arg.number)];
        pool_.push_back(arg);
    }
    for (std::size_t i = 1; i < other.sets_.size(); ++i) {
        std::uint64_t moved = other.sets_[i];
        switch (static_cast<Kind>(moved >> kKindShift)) {
        case Kind::Stored: moved += rows; break;
        case Kind::Json: moved += sources << kSourceShift; break;
        case Kind::Number: {
            const StoredArg number = numberOf(moved);
            const std::uint64_t below = (moved >> kBaseShift) & lowBits(kNumberShift - kBaseShift);
            // Renumbered for this store, the name or base may not fit any more.
            addNumberOn(below == 0 ? 0 : below + rows, strings[number.name], number.number);
            continue;
        }
        case Kind::Pair: moved += std::uint64_t{base} << kPairShift | base; break;
        }
        sets_.push_back(moved);
    }
    for (ArgSource& source : other.sources_)
        sources_.push_back(std::move(source));
    return base;
}

namespace {

namespace ondemand = simdjson::ondemand;

std::string_view trimmed(std::string_view token) {
    const std::size_t end = token.find_last_not_of(" \t\r\n");
    return token.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

ArgValue numberOf(ondemand::value value) {
    const std::string_view token = trimmed(value.raw_json_token());
    if (const auto whole = parseNumber<std::int64_t>(token)) return *whole;
    double real = 0;
    if (value.get_double().get(real) == simdjson::SUCCESS) return real;
    return std::string(token);
}

std::optional<ArgValue> valueOf(ondemand::value value) {
    ondemand::json_type type{};
    if (value.type().get(type) != simdjson::SUCCESS) return std::nullopt;
    std::string_view text;
    switch (type) {
    case ondemand::json_type::number: return numberOf(value);
    case ondemand::json_type::boolean: {
        bool flag = false;
        if (value.get_bool().get(flag) != simdjson::SUCCESS) return std::nullopt;
        return flag;
    }
    case ondemand::json_type::string:
        if (value.get_string().get(text) != simdjson::SUCCESS) return std::nullopt;
        break;
    case ondemand::json_type::array: {
        ondemand::array array;
        if (value.get_array().get(array) != simdjson::SUCCESS || array.raw_json().get(text) != simdjson::SUCCESS)
            return std::nullopt;
        break;
    }
    case ondemand::json_type::object: {
        ondemand::object object;
        if (value.get_object().get(object) != simdjson::SUCCESS || object.raw_json().get(text) != simdjson::SUCCESS)
            return std::nullopt;
        break;
    }
    default: text = trimmed(value.raw_json_token());
    }
    return std::string(text);
}

/// Calls `visit` with each field's name and value until it returns false. simdjson reads beyond the end of its input,
/// so it gets a padded copy.
template <class Visit>
void forEachField(std::string_view json, const Visit& visit) {
    thread_local ondemand::parser parser;
    thread_local std::vector<char> padded;
    padded.resize(json.size() + simdjson::SIMDJSON_PADDING);
    if (!json.empty()) std::memcpy(padded.data(), json.data(), json.size());
    std::memset(padded.data() + json.size(), 0, simdjson::SIMDJSON_PADDING);
    ondemand::document document;
    ondemand::object object;
    const auto iterate = [&] { return parser.iterate(padded.data(), json.size(), padded.size()).get(document); };
    auto failed = iterate();
    if (failed == simdjson::UTF8_ERROR) {
        replaceInvalidUtf8(padded.data(), json.size());
        failed = iterate();
    }
    if (failed != simdjson::SUCCESS) return;
    if (document.get_object().get(object) != simdjson::SUCCESS) return;
    for (auto field_result : object) {
        ondemand::field field;
        std::string_view name;
        if (std::move(field_result).get(field) != simdjson::SUCCESS) return;
        if (field.unescaped_key().get(name) != simdjson::SUCCESS) return;
        if (!visit(name, field.value())) return;
    }
}

} // namespace

std::vector<Arg> parseJsonArgs(std::string_view object) {
    std::vector<Arg> args;
    forEachField(object, [&args](std::string_view name, ondemand::value value) {
        std::string kept(name); // the parser may reuse the name's buffer for the value
        if (auto found = valueOf(value)) args.push_back({std::move(kept), std::move(*found)});
        return true;
    });
    return args;
}

std::optional<ArgValue> findJsonArg(std::string_view object, std::string_view name) {
    std::optional<ArgValue> found;
    forEachField(object, [&found, name](std::string_view key, ondemand::value value) {
        if (key == name) found = valueOf(value);
        return !found;
    });
    return found;
}

std::string quotedJson(std::string_view text) {
    std::string quoted;
    appendQuoted(text, quoted);
    return quoted;
}

std::string argsToJson(const std::vector<Arg>& args) {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (const Arg& arg : args) {
        std::visit(
            [&](const auto& value) {
                if constexpr (std::is_same_v<std::decay_t<decltype(value)>, double>) {
                    if (!std::isfinite(value)) {
                        object[arg.name] = std::to_string(value);
                        return;
                    }
                }
                object[arg.name] = value;
            },
            arg.value);
    }
    return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace bubblescope
