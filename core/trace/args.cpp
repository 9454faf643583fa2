#include "core/trace/args.h"

#include "core/base/json_scanner.h"
#include "core/base/per_thread.h"
#include "core/base/text.h"
#include "core/trace/json_mender.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <unordered_set>
#include <utility>

namespace bubblescope {
namespace {

// An id: 2 bits of kind, then for Stored: the number of its row, from 1; Source: 20 bits of source, 42 of offset; Pair:
// its index; Number: 10 bits of name, 20 of the number of the base's row, 32 of value.
constexpr int kKindShift = 62;
constexpr int kSourceShift = 42;
constexpr int kBaseShift = 32;
constexpr int kNumberShift = 52;

constexpr std::uint64_t lowBits(int count) {
    return (std::uint64_t{1} << count) - 1;
}

constexpr std::uint64_t kindOf(ArgSetId set) {
    return set >> kKindShift;
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

ArgView viewOf(const StoredArg& arg, const StringPool& strings) {
    const std::string_view name = strings.text(arg.name);
    switch (arg.type) {
    case StoredArg::Type::Int: return {name, arg.number};
    case StoredArg::Type::Double: return {name, std::bit_cast<double>(arg.number)};
    case StoredArg::Type::Bool: return {name, arg.number != 0};
    case StoredArg::Type::Text: break;
    }
    return {name, strings.text(static_cast<StringId>(arg.number))};
}

void appendNumber(std::int64_t number, std::string& out) {
    const fmt::format_int digits(number);
    out.append(digits.data(), digits.size());
}
void appendNumber(double real, std::string& out) {
    out += std::isfinite(real) ? nlohmann::json(real).dump() : quotedJson(std::to_string(real));
}
void appendNumber(bool flag, std::string& out) {
    out += flag ? "true" : "false";
}

/// Appends the arg as a field to `object`, an unfinished JSON object.
void appendField(const ArgView& arg, std::string& object) {
    if (object.size() > 1) object += ',';
    appendQuoted(arg.name, object);
    object += ':';
    std::visit(
        [&object](const auto& value) {
            if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string_view>)
                appendQuoted(value, object);
            else
                appendNumber(value, object);
        },
        arg.value);
}

/// For each arg, true if a later one has the same name and therefore replaces it. `later` is one more arg, or null.
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
    constexpr std::size_t kFew = 16; // no real set is larger; comparing all pairs needs no memory
    std::vector<bool> replaced;
    if (args.size() > kFew || !differInName(args, later)) replaced = replacedArgs(args, later);
    std::string object = "{";
    const auto append = [&](const StoredArg& arg) { appendField(viewOf(arg, strings), object); };
    for (std::size_t i = 0; i < args.size(); ++i) {
        if (replaced.empty() || !replaced[i]) append(args[i]);
    }
    std::ranges::for_each(later, append);
    object += '}';
    return object;
}

void store(std::int64_t value, StoredArg& out, StringPool&) {
    out.setInt(value);
}
void store(double value, StoredArg& out, StringPool&) {
    out.setReal(value);
}
void store(bool value, StoredArg& out, StringPool&) {
    out.setBool(value);
}
void store(std::string_view value, StoredArg& out, StringPool& strings) {
    out.setText(strings.intern(value));
}

/// True if a text is strictly valid JSON.
bool isJson(const std::string& text) {
    auto& parser = perThread<simdjson::dom::parser>();
    simdjson::dom::element ignored;
    return parser.parse(text).get(ignored) == simdjson::SUCCESS;
}

/// The args that a reader finds, as a JSON object in one line; empty for none.
std::string objectFrom(const ArgReader& reader, std::string_view text, std::uint64_t offset) {
    constexpr std::size_t kFew = 16; // see objectOf()
    std::string object = "{";
    std::array<std::pair<std::size_t, std::size_t>, kFew> names; // position in the object
    std::size_t count = 0;
    bool simple = true;
    reader.visit(text, offset, [&](const ArgView& arg) {
        const std::size_t begin = object.size() + (object.size() > 1 ? 1 : 0);
        appendField(arg, object);
        const std::string_view written = std::string_view(object).substr(begin);
        const std::string_view name = written.substr(0, written.find("\":") + 2);
        simple = simple && count < kFew && std::none_of(names.begin(), names.begin() + count, [&](const auto& other) {
                     return object.compare(other.first, other.second, name) == 0;
                 });
        if (simple) names[count++] = {begin, name.size()};
        return simple;
    });
    if (simple) return object.size() > 1 ? object + '}' : std::string{};
    StringPool strings;
    std::vector<StoredArg> row;
    reader.visit(text, offset, [&](const ArgView& arg) {
        StoredArg& stored = row.emplace_back();
        stored.name = strings.intern(arg.name);
        std::visit([&](const auto& value) { store(value, stored, strings); }, arg.value);
        return true;
    });
    return objectOf(row, {}, strings);
}

} // namespace

Arg ArgView::kept() const {
    return {std::string(name), std::visit(
                                   [](const auto& held) -> ArgValue {
                                       if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::string_view>)
                                           return std::string(held);
                                       else
                                           return held;
                                   },
                                   value)};
}

ArgSetId ArgStore::add(std::span<const StoredArg> args) {
    constexpr std::size_t kProbedSets = std::size_t{1}
                                        << 16; // number of sets after which to decide whether sets repeat
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
        if (set == 0 || std::ranges::equal(row(set), args)) return set;
    }
}

void ArgStore::growKnown() {
    const std::vector<ArgSetId> before = std::exchange(known_, std::vector<ArgSetId>(2 * known_.size(), 0));
    for (const ArgSetId set : before) {
        if (set != 0) placeOf(row(set)) = set;
    }
}

ArgSetId ArgStore::addRow(std::span<const StoredArg> args) {
    pool_.insert(pool_.end(), args.begin(), args.end());
    ends_.push_back(pool_.size());
    return ends_.size() - 1;
}

ArgSetId ArgStore::addNumber(StringId name, std::int64_t value, ArgSetId base) {
    if (kindOf(base) == static_cast<std::uint64_t>(Kind::Stored)) return addNumberOn(base, name, value);
    return merge(base, addNumberOn(0, name, value));
}

/// `base` is a stored set, or 0.
ArgSetId ArgStore::addNumberOn(ArgSetId base, StringId name, std::int64_t value) {
    const bool fits = value >= 0 && static_cast<std::uint64_t>(value) <= lowBits(kBaseShift) &&
                      name <= lowBits(kKindShift - kNumberShift) && base <= lowBits(kNumberShift - kBaseShift);
    if (fits) {
        return static_cast<std::uint64_t>(Kind::Number) << kKindShift | std::uint64_t{name} << kNumberShift |
               base << kBaseShift | static_cast<std::uint64_t>(value);
    }
    std::vector<StoredArg> args;
    if (base != 0) {
        for (const StoredArg& arg : row(base)) {
            if (arg.name != name) args.push_back(arg);
        }
    }
    args.emplace_back().name = name;
    args.back().setInt(value);
    return addRow(args);
}

StoredArg ArgStore::numberOf(ArgSetId set) {
    StoredArg arg;
    arg.name = static_cast<StringId>((set >> kNumberShift) & lowBits(kKindShift - kNumberShift));
    arg.setInt(static_cast<std::int64_t>(set & lowBits(kBaseShift)));
    return arg;
}

ArgSetId ArgStore::inSource(std::uint32_t source, std::uint64_t offset) {
    if (source >= kMaxSources) return 0;
    return static_cast<std::uint64_t>(Kind::Source) << kKindShift | std::uint64_t{source} << kSourceShift |
           (offset & lowBits(kSourceShift));
}

ArgSetId ArgStore::merge(ArgSetId first, ArgSetId second) {
    if (first == 0 || second == 0) return first | second;
    pairs_.emplace_back(first, second);
    return static_cast<std::uint64_t>(Kind::Pair) << kKindShift | (pairs_.size() - 1);
}

std::uint32_t ArgStore::addSource(ArgSource source) {
    sources_.push_back(std::move(source));
    return static_cast<std::uint32_t>(sources_.size() - 1);
}

std::span<const StoredArg> ArgStore::row(ArgSetId set) const {
    const auto number = static_cast<std::size_t>(set);
    return std::span(pool_).subspan(ends_[number - 1], ends_[number] - ends_[number - 1]);
}

std::span<const StoredArg> ArgStore::below(ArgSetId set) const {
    const std::uint64_t base = (set >> kBaseShift) & lowBits(kNumberShift - kBaseShift);
    return base == 0 ? std::span<const StoredArg>{} : row(base);
}

const ArgSource& ArgStore::sourceOf(ArgSetId set) const {
    return sources_[(set >> kSourceShift) & lowBits(kKindShift - kSourceShift)];
}

std::optional<std::string_view> ArgStore::jsonIn(ArgSetId set, std::string& buffer) const {
    const ArgSource& source = sourceOf(set);
    const std::uint64_t offset = set & lowBits(kSourceShift);
    if (source.reader == nullptr) return jsonObjectAt(source.text, offset);
    auto object = source.reader->object(source.text, offset);
    if (!object) return std::nullopt;
    buffer = *std::move(object);
    return buffer;
}

void ArgStore::visit(ArgSetId set, const StringPool& strings, const ArgVisit& visit) const {
    if (set == 0) return;
    switch (static_cast<Kind>(kindOf(set))) {
    case Kind::Stored:
        for (const StoredArg& arg : row(set)) {
            if (!visit(viewOf(arg, strings))) return;
        }
        return;
    case Kind::Number: {
        const StoredArg number = numberOf(set);
        for (const StoredArg& arg : below(set)) {
            if (arg.name != number.name && !visit(viewOf(arg, strings))) return;
        }
        (void)visit(viewOf(number, strings));
        return;
    }
    case Kind::Source:
        if (const ArgSource& source = sourceOf(set); source.reader != nullptr)
            return source.reader->visit(source.text, set & lowBits(kSourceShift), visit);
        break;
    case Kind::Pair: break;
    }
    for (const Arg& arg : args(set, strings)) {
        const auto value = std::visit([](const auto& held) -> decltype(ArgView::value) { return held; }, arg.value);
        if (!visit({arg.name, value})) return;
    }
}

std::vector<Arg> ArgStore::args(ArgSetId set, const StringPool& strings) const {
    std::vector<Arg> found;
    if (set == 0) return found;
    const auto kind = static_cast<Kind>(kindOf(set));
    if (kind == Kind::Source) {
        std::string buffer;
        if (const auto object = jsonIn(set, buffer)) return parseJsonArgs(*object);
    }
    if (kind != Kind::Pair) {
        visit(set, strings, [&found](const ArgView& arg) {
            found.push_back(arg.kept());
            return true;
        });
        return found;
    }
    const auto [first, second] = pairs_[set & lowBits(kKindShift)];
    found = args(second, strings);
    const std::size_t later = found.size();
    for (Arg& arg : args(first, strings)) {
        const auto end = found.begin() + static_cast<std::ptrdiff_t>(later);
        if (std::none_of(found.begin(), end, [&arg](const Arg& other) { return other.name == arg.name; }))
            found.push_back(std::move(arg));
    }
    return found;
}

std::optional<ArgValue> ArgStore::arg(ArgSetId set, std::string_view name, const StringPool& strings) const {
    if (set == 0) return std::nullopt;
    switch (static_cast<Kind>(kindOf(set))) {
    case Kind::Stored: return find(row(set), name, strings);
    case Kind::Number: {
        const StoredArg number = numberOf(set);
        if (strings.text(number.name) == name) return number.number;
        return find(below(set), name, strings);
    }
    case Kind::Source: {
        std::string buffer;
        if (const auto object = jsonIn(set, buffer)) return findJsonArg(*object, name);
        std::optional<ArgValue> found;
        visit(set, strings, [&found, name](const ArgView& arg) {
            if (arg.name == name) found = arg.kept().value;
            return !found;
        });
        return found;
    }
    case Kind::Pair: break;
    }
    const auto [first, second] = pairs_[set & lowBits(kKindShift)];
    if (auto later = arg(second, name, strings)) return later;
    return arg(first, name, strings);
}

std::string ArgStore::json(ArgSetId set, const StringPool& strings) const {
    if (set == 0) return {};
    switch (static_cast<Kind>(kindOf(set))) {
    case Kind::Stored: return objectOf(row(set), {}, strings);
    case Kind::Number: {
        const StoredArg number = numberOf(set);
        return objectOf(below(set), {&number, 1}, strings);
    }
    case Kind::Pair: return argsToJson(args(set, strings));
    case Kind::Source: break;
    }
    std::string buffer;
    const auto object = jsonIn(set, buffer);
    if (!object) return objectFrom(*sourceOf(set).reader, sourceOf(set).text, set & lowBits(kSourceShift));
    return strictJson(*object);
}

ArgSetId ArgStore::Moved::operator()(ArgSetId set) {
    if (set == 0) return 0;
    switch (static_cast<Kind>(kindOf(set))) {
    case Kind::Stored: return set + rows_;
    case Kind::Pair: return set + pairs_;
    case Kind::Source:
        return inSource(
            static_cast<std::uint32_t>((set >> kSourceShift & lowBits(kKindShift - kSourceShift)) + sources_),
            set & lowBits(kSourceShift));
    case Kind::Number: break;
    }
    const StoredArg number = numberOf(set);
    const std::uint64_t below = (set >> kBaseShift) & lowBits(kNumberShift - kBaseShift);
    // After renumbering for this store, the name or base may not fit any more.
    return store_->addNumberOn(below == 0 ? 0 : below + rows_, strings_[number.name], number.number);
}

ArgStore::Moved ArgStore::append(ArgStore&& other, std::span<const StringId> strings) {
    Moved moved;
    moved.store_ = this;
    moved.strings_ = strings;
    moved.rows_ = ends_.size() - 1;
    moved.pairs_ = pairs_.size();
    moved.sources_ = sources_.size();
    const std::uint64_t pool = pool_.size();
    for (std::size_t i = 1; i < other.ends_.size(); ++i)
        ends_.push_back(pool + other.ends_[i]);
    for (StoredArg& arg : other.pool_) {
        arg.name = strings[arg.name];
        if (arg.type == StoredArg::Type::Text) arg.number = strings[static_cast<std::size_t>(arg.number)];
        pool_.push_back(arg);
    }
    for (ArgSource& source : other.sources_)
        sources_.push_back(std::move(source));
    // Numbers in pairs may become rows, but the rows of `other` already have their numbers.
    pairs_.reserve(pairs_.size() + other.pairs_.size());
    for (const auto& [first, second] : other.pairs_)
        pairs_.emplace_back(moved(first), moved(second));
    return moved;
}

namespace {

namespace ondemand = simdjson::ondemand;

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

enum class Visited { All, Enough, Damaged };

struct FieldParser {
    ondemand::parser parser;
    std::vector<char> padded;
};

/// Calls `visit` with each field's name and value while it returns All. simdjson reads past the end of its input, so it
/// gets a padded copy.
template <class Visit>
Visited forEachField(std::string_view json, const Visit& visit) {
    auto& here = perThread<FieldParser>();
    ondemand::parser& parser = here.parser;
    std::vector<char>& padded = here.padded;
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
    if (failed != simdjson::SUCCESS) return Visited::Damaged;
    if (document.get_object().get(object) != simdjson::SUCCESS) return Visited::Damaged;
    for (auto field_result : object) {
        ondemand::field field;
        std::string_view name;
        if (std::move(field_result).get(field) != simdjson::SUCCESS) return Visited::Damaged;
        if (field.unescaped_key().get(name) != simdjson::SUCCESS) return Visited::Damaged;
        if (const Visited now = visit(name, field.value()); now != Visited::All) return now;
    }
    return Visited::All;
}

} // namespace

// A mapped file may have been truncated since then; args past its end are empty.
std::string_view jsonObjectAt(std::string_view text, std::uint64_t offset) {
    return offset < text.size() ? JsonScanner(text.substr(offset)).value().value_or(std::string_view{})
                                : std::string_view{};
}

namespace {

Visited parseArgs(std::string_view object, std::vector<Arg>& args) {
    return forEachField(object, [&args](std::string_view name, ondemand::value value) {
        std::string kept(name); // the parser may reuse the name's buffer for the value
        auto found = valueOf(value);
        if (!found) return Visited::Damaged;
        args.push_back({std::move(kept), std::move(*found)});
        return Visited::All;
    });
}

Visited findArg(std::string_view object, std::string_view name, std::optional<ArgValue>& found) {
    return forEachField(object, [&](std::string_view key, ondemand::value value) {
        if (key != name) return Visited::All;
        found = valueOf(value);
        return found ? Visited::Enough : Visited::Damaged;
    });
}

} // namespace

std::vector<Arg> parseJsonArgs(std::string_view object) {
    std::vector<Arg> args;
    if (parseArgs(object, args) != Visited::Damaged) return args;
    const auto mended = mendJson(object);
    if (!mended) return args;
    args.clear();
    (void)parseArgs(mended->text, args);
    return args;
}

std::optional<ArgValue> findJsonArg(std::string_view object, std::string_view name) {
    std::optional<ArgValue> found;
    if (findArg(object, name, found) != Visited::Damaged) return found;
    if (const auto mended = mendJson(object)) (void)findArg(mended->text, name, found);
    return found;
}

std::string strictJson(std::string_view value) {
    std::string text(value);
    replaceInvalidUtf8(text.data(), text.size());
    if (!isJson(text)) {
        auto mended = mendJson(text);
        return mended ? std::move(mended->text) : std::string{};
    }
    // Line breaks only occur between values: inside strings they are escaped.
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    return text;
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
