#include "core/formats/snapshot/reader.h"

#include "core/base/time.h"
#include "core/formats/snapshot/pickle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace bubblescope::snapshot {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 50U; // bytes of an event, and of a device

/// A change of a device's allocated memory.
struct Change {
    TimeNs time{0};
    std::int64_t bytes = 0;
};

class Reader {
public:
    Reader(const Pickle& pickle, const std::string& where, TraceBuilder& builder, DiagnosticLog& log)
        : pickle_(pickle), where_(where), builder_(builder), log_(log) {}

    Status run() {
        const auto traces = pickle_.find(pickle_.root(), "device_traces");
        if (!traces || pickle_.kind(*traces) != Pickle::Kind::List)
            return inputError(where_, "is a pickle, but not a PyTorch memory snapshot",
                              "open the file that torch.cuda.memory._dump_snapshot() wrote");
        readSegments();
        std::int64_t device = 0;
        for (const Pickle::Index trace : pickle_.items(*traces))
            addDevice(device++, trace);
        if (lost_ > 0)
            log_.add("bad-event", Sentence(where_), say("skipped memory events without a usable time and size"), lost_);
        return {};
    }

private:
    [[nodiscard]] std::optional<std::int64_t> number(Pickle::Index dict, std::string_view key) const {
        const auto value = pickle_.find(dict, key);
        return value ? pickle_.number(*value) : std::nullopt;
    }

    void readSegments() {
        const auto segments = pickle_.find(pickle_.root(), "segments");
        if (!segments) return;
        for (const Pickle::Index segment : pickle_.items(*segments)) {
            const std::int64_t bytes = number(segment, "allocated_size").value_or(0);
            std::int64_t& held = held_[number(segment, "device").value_or(0)];
            if (bytes >= 0 && bytes < kMost) held = std::min(held + bytes, kMost);
        }
    }

    [[nodiscard]] std::vector<Change> changesOf(Pickle::Index trace) {
        std::vector<Change> changes;
        for (const Pickle::Index event : pickle_.items(trace)) {
            const auto action = pickle_.find(event, "action");
            const std::string_view word = action ? pickle_.text(*action) : std::string_view();
            // A block is in use until "free_completed", which may follow "free_requested" later.
            const int sign = word == "alloc" ? 1 : word == "free_completed" ? -1 : 0;
            if (sign == 0) continue;
            const auto bytes = number(event, "size");
            const auto time = number(event, "time_us");
            constexpr std::int64_t kPerMicrosecond = 1000;
            if (!bytes || !time || *bytes < 0 || *bytes > kMost || *time < 0 ||
                *time > kFarthestTime.count() / kPerMicrosecond) {
                ++lost_;
                continue;
            }
            changes.push_back({TimeNs{*time * kPerMicrosecond}, sign * *bytes});
        }
        std::ranges::stable_sort(changes, {}, &Change::time);
        return changes;
    }

    void addDevice(std::int64_t device, Pickle::Index trace) {
        const std::vector<Change> changes = changesOf(trace);
        if (changes.empty()) return;
        // Sums of many changes could overflow, so they are limited; real ones are far smaller.
        std::int64_t net = 0;
        std::int64_t lowest = 0;
        for (const Change& change : changes) {
            net = std::clamp(net + change.bytes, -kMost, kMost);
            lowest = std::min(lowest, net);
        }
        const auto held = held_.find(device);
        // Without the final state, memory was at least never negative.
        const std::int64_t first = std::max(held == held_.end() ? 0 : held->second - net, -lowest);
        const StringId name =
            builder_.intern(device == 0 ? "allocated memory" : fmt::format("allocated memory (device {})", device));
        std::int64_t bytes = first;
        builder_.addCounter(0, name, changes.front().time, static_cast<double>(bytes));
        for (const Change& change : changes) {
            bytes = std::clamp(bytes + change.bytes, std::int64_t{0}, 2 * kMost);
            builder_.addCounter(0, name, change.time, static_cast<double>(bytes));
        }
    }

    const Pickle& pickle_;
    const std::string& where_;
    TraceBuilder& builder_;
    DiagnosticLog& log_;
    std::map<std::int64_t, std::int64_t> held_; ///< bytes by device, at the end
    std::int64_t lost_ = 0;
};

} // namespace

bool looksLikePickle(std::string_view beginning) {
    return beginning.size() >= 2 && beginning[0] == '\x80' && beginning[1] >= 2 && beginning[1] <= 5;
}

Status readSnapshot(std::string_view bytes, const std::string& where, TraceBuilder& builder, DiagnosticLog& log) {
    BUBBLESCOPE_ASSIGN(const Pickle pickle, Pickle::parse(bytes, where));
    BUBBLESCOPE_TRY(Reader(pickle, where, builder, log).run());
    builder.file(builder.currentFile()).format = "torch-snapshot";
    return {};
}

} // namespace bubblescope::snapshot
