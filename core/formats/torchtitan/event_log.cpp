#include "core/formats/torchtitan/event_log.h"

#include "core/formats/chrome/decimal.h"
#include "core/formats/source/slice_pairing.h"
#include "core/trace/args.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace bubblescope::torchtitan {
namespace {

constexpr std::string_view kStart = "_start";
constexpr std::string_view kEnd = "_end";

const Arg* find(const std::vector<Arg>& args, std::string_view name) {
    const auto found = std::find_if(args.begin(), args.end(), [name](const Arg& arg) { return arg.name == name; });
    return found == args.end() ? nullptr : &*found;
}

std::string textOf(const Arg* arg) {
    const std::string* const text = arg == nullptr ? nullptr : std::get_if<std::string>(&arg->value);
    return text == nullptr ? std::string{} : *text;
}

/// Microseconds since 1970, possibly with decimals; a double is accurate to a quarter of a microsecond.
std::optional<TimeNs> timeOf(const Arg* arg) {
    if (arg == nullptr) return std::nullopt;
    if (const auto* const whole = std::get_if<std::int64_t>(&arg->value))
        return chrome::microsecondsToNs(fmt::format("{}", *whole));
    if (const auto* const real = std::get_if<double>(&arg->value))
        return chrome::microsecondsToNs(fmt::format("{:.3f}", *real));
    return std::nullopt;
}

class Reader {
public:
    Reader(const std::string& where, TraceBuilder& builder, DiagnosticLog& log)
        : where_(where), builder_(builder), log_(log), category_(builder.intern("torchtitan")), pairing_(builder) {}

    /// False for a line that is not an event.
    bool line(std::string_view text) {
        const std::vector<Arg> args = parseJsonArgs(text);
        const std::string type = textOf(find(args, "log_type_name"));
        const auto time = timeOf(find(args, "time_us"));
        if (type.empty() || !time || !isWithinReach(*time)) return false;
        const Arg* const rank = find(args, "rank");
        if (rank != nullptr && std::holds_alternative<std::int64_t>(rank->value))
            noteRank(std::get<std::int64_t>(rank->value));
        const TrackId track = trackFor(textOf(find(args, "source")));
        const bool begins = type.ends_with(kStart);
        if (!begins && !type.ends_with(kEnd)) {
            builder_.addInstant({track, *time, builder_.intern(type), category_, storedArgs(args)});
            return true;
        }
        const std::string name = type.substr(0, type.size() - (begins ? kStart.size() : kEnd.size()));
        const StringId id = builder_.intern(name);
        // Events with different names need not nest; those with the same name do.
        pairing_.addAsync({track, !begins, *time, id, category_, storedArgs(args)}, id);
        return true;
    }

    [[nodiscard]] bool finish(const LoadProgress& progress) { return pairing_.finish(log_, where_, progress); }

private:
    void noteRank(std::int64_t rank) {
        TraceFile& file = builder_.file(builder_.currentFile());
        if (rank >= 0 && rank <= INT32_MAX) file.rank = static_cast<std::int32_t>(rank);
    }

    TrackId trackFor(const std::string& source) {
        const auto [known, is_new] = tracks_.try_emplace(source, kNoId);
        if (is_new) {
            known->second = builder_.addTrack(0, static_cast<std::int64_t>(tracks_.size()));
            builder_.track(known->second).thread_name = builder_.intern(source);
            builder_.track(known->second).may_overlap = true;
        }
        return known->second;
    }

    ArgSetId storedArgs(const std::vector<Arg>& args) {
        std::vector<StoredArg> stored;
        for (const Arg& arg : args) {
            if (arg.name != "log_type_name" && arg.name != "time_us") stored.push_back(builder_.stored(arg));
        }
        return builder_.args().add(stored);
    }

    const std::string& where_;
    TraceBuilder& builder_;
    DiagnosticLog& log_;
    StringId category_;
    SlicePairing pairing_;
    std::map<std::string, TrackId> tracks_;
};

} // namespace

bool looksLikeEventLog(std::string_view text) {
    constexpr std::size_t kLongestLine = 64 * 1024; // other files may be one line of gigabytes
    text = text.substr(0, kLongestLine);
    const std::string_view first = text.substr(0, text.find('\n'));
    return first.starts_with('{') && first.find("\"log_type_name\"") != std::string_view::npos &&
           first.find("\"time_us\"") != std::string_view::npos;
}

Status readEventLog(std::string_view text, const std::string& where, TraceBuilder& builder, DiagnosticLog& log,
                    LoadProgress& progress) {
    Reader reader(where, builder, log);
    std::size_t events = 0;
    for (std::size_t at = 0; at < text.size();) {
        if (!progress.reached(at, text.size())) return cancelledError();
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string_view line = text.substr(at, end - at);
        if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
            if (reader.line(line)) {
                ++events;
            } else {
                const bool cut = end == text.size();
                log.add(cut ? "truncated" : "bad-event", say("{}, byte {}", where, at),
                        cut ? say("skipped the truncated last line") : say("skipped lines that are not events"));
            }
        }
        at = end + 1;
    }
    if (events == 0) return inputError(where, "contains no event of torchtitan's structured log");
    if (!reader.finish(progress)) return cancelledError();
    builder.file(builder.currentFile()).format = "torchtitan";
    return {};
}

} // namespace bubblescope::torchtitan
