#include "core/formats/perfetto/clock_table.h"

#include "core/formats/perfetto/field_reader.h"
#include "core/formats/perfetto/fields.h"

#include <algorithm>
#include <deque>

namespace bubblescope::perfetto {
namespace {

// Files are not trusted, so sums must stay in range.
constexpr std::int64_t kLimit = INT64_MAX / 4;

// Limit per snapshot, because every pair is related; machines have about ten.
constexpr std::size_t kMaxClocks = 64;

std::int64_t bounded(std::int64_t value) {
    return std::clamp(value, -kLimit, kLimit);
}

std::int64_t scaled(std::int64_t value, std::int64_t unit) {
    return value > kLimit / unit || value < -kLimit / unit ? bounded(value) : value * unit;
}

} // namespace

ClockTable::ClockTable() : trace_(keyOf(0, fields::clock::kBoottime)) {}

ClockTable::Key ClockTable::keyOf(std::uint32_t sequence, std::uint32_t clock) {
    const bool own = clock >= fields::clock::kFirstOfSequence && clock <= fields::clock::kLastOfSequence;
    return {own ? sequence : 0, clock};
}

std::optional<ClockReading> ClockTable::addSnapshot(std::string_view message, std::uint32_t sequence) {
    struct Read {
        Key key;
        std::int64_t time;
    };
    std::vector<Read> together;
    FieldReader snapshot(message);
    while (snapshot.next()) {
        if (snapshot.tag() == fields::clock::kPrimaryClock) {
            const Key stated = keyOf(0, snapshot.uint32());
            if (!trace_clock_stated_) trace_ = stated;
            trace_clock_stated_ = true;
            continue;
        }
        if (snapshot.tag() != fields::clock::kClocks || together.size() == kMaxClocks) {
            snapshot.skip();
            continue;
        }
        FieldReader reading(snapshot.bytes());
        std::uint32_t id = 0;
        std::int64_t timestamp = 0;
        Clock clock;
        while (reading.next()) {
            switch (reading.tag()) {
            case fields::clock::kId: id = reading.uint32(); break;
            case fields::clock::kTimestamp: timestamp = reading.int64(); break;
            case fields::clock::kIsIncremental: clock.counts_on = reading.boolean(); break;
            case fields::clock::kUnitMultiplier:
                clock.unit = std::clamp<std::int64_t>(reading.int64(), 1, kLimit);
                break;
            default: reading.skip();
            }
        }
        clock.now = scaled(timestamp, clock.unit);
        const Key key = keyOf(sequence, id);
        clocks_[key] = clock;
        together.push_back({key, clock.now});
    }
    for (const Read& from : together) {
        for (const Read& to : together) {
            if (from.key != to.key) readings_[from.key][to.key].push_back({from.time, to.time});
        }
    }
    any_snapshot_ = true;
    routes_.clear();
    last_ = nullptr;
    const auto at = [&together](std::uint32_t clock) { return std::ranges::find(together, Key{0, clock}, &Read::key); };
    const auto monotonic = at(fields::clock::kMonotonic);
    const auto realtime = at(fields::clock::kRealtime);
    if (monotonic == together.end() || realtime == together.end()) return std::nullopt;
    return ClockReading{TimeNs{monotonic->time}, TimeNs{realtime->time}};
}

std::vector<ClockTable::Key> ClockTable::routeFrom(Key clock) const {
    std::map<Key, Key> came_from{{clock, clock}};
    std::deque<Key> next{clock};
    for (; !next.empty() && !came_from.contains(trace_); next.pop_front()) {
        const auto neighbours = readings_.find(next.front());
        if (neighbours == readings_.end()) continue;
        for (const auto& [neighbour, readings] : neighbours->second) {
            if (came_from.emplace(neighbour, next.front()).second) next.push_back(neighbour);
        }
    }
    std::vector<Key> way;
    if (!came_from.contains(trace_)) return way;
    for (Key at = trace_; at != clock; at = came_from.at(at))
        way.push_back(at);
    std::reverse(way.begin(), way.end());
    return way;
}

const ClockTable::Route& ClockTable::routeOf(Key key) {
    if (last_ != nullptr && last_->key == key) return *last_;
    const auto [route, is_new] = routes_.try_emplace(key);
    last_ = &route->second;
    if (!is_new) return *last_;
    route->second.key = key;
    if (const auto clock = clocks_.find(key); clock != clocks_.end()) route->second.clock = &clock->second;
    route->second.known = !any_snapshot_ && key.second < fields::clock::kFirstOfSequence;
    if (route->second.known) return *last_;
    Key from = key;
    for (const Key& to : routeFrom(key)) {
        route->second.steps.push_back(&readings_.at(from).at(to));
        from = to;
    }
    route->second.known = !route->second.steps.empty();
    return *last_;
}

bool ClockTable::traceTime(std::uint32_t sequence, std::uint32_t clock, std::int64_t timestamp, TimeNs& out) {
    const Key key = keyOf(sequence, clock);
    if (key == trace_) {
        out = TimeNs{timestamp};
        return true;
    }
    const Route& route = routeOf(key);
    std::int64_t time = timestamp;
    if (route.clock != nullptr) {
        time = scaled(timestamp, route.clock->unit);
        if (route.clock->counts_on) time = route.clock->now = bounded(route.clock->now + bounded(time));
    }
    if (!route.known) return false;
    for (const std::vector<Reading>* const readings : route.steps) {
        // The last snapshot before this time, or the first one.
        const auto after =
            std::upper_bound(readings->begin(), readings->end(), time,
                             [](std::int64_t value, const Reading& reading) { return value < reading.from; });
        const Reading& reading = after == readings->begin() ? *after : *std::prev(after);
        time = bounded(bounded(time) - bounded(reading.from) + bounded(reading.to));
    }
    out = TimeNs{time};
    return true;
}

} // namespace bubblescope::perfetto
