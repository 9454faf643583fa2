#include "core/live/host_clocks.h"

namespace bubblescope::live {
namespace {

// Older pings would mix drift into the present relation of the clocks.
constexpr std::size_t kMaxPings = 4096;
constexpr std::size_t kMaxClocks = 4096;

// The accuracy of NTP, if no better bound is known.
constexpr TimeNs kTimeOfDayBound{1'000'000};

} // namespace

int HostClocks::numberOf(const std::string& clock) {
    if (clock.empty() || numbers_.size() >= kMaxClocks) {
        if (order_.empty()) return numberOf("?");
        const auto known = numbers_.find(clock);
        return known == numbers_.end() ? 0 : known->second;
    }
    const auto [entry, is_new] = numbers_.try_emplace(clock, static_cast<int>(order_.size()));
    if (is_new) {
        order_.push_back(TimeNs{0});
        read_.push_back(false);
        solved_ = false;
    }
    return entry->second;
}

void HostClocks::addReading(const std::string& clock, TimeNs monotonic, TimeNs realtime) {
    const auto number = static_cast<std::size_t>(numberOf(clock));
    order_[number] = realtime - monotonic;
    read_[number] = true;
    if (order_.size() > 1) solved_ = false;
}

void HostClocks::addPing(const std::string& asker, const std::string& replier, const Ping& ping) {
    Ping named = ping;
    named.asker = numberOf(asker);
    named.replier = numberOf(replier);
    if (named.asker == named.replier) return;
    pings_.push_back(named);
    if (pings_.size() > kMaxPings) pings_.pop_front();
    solved_ = false;
}

const ClockFit& HostClocks::fitOf(const std::string& clock) {
    const auto number = static_cast<std::size_t>(numberOf(clock));
    if (!solved_) solve();
    return fits_[number];
}

void HostClocks::solve() {
    std::vector<Precedence> precedences;
    for (const Ping& ping : pings_)
        bubblescope::addPing(ping, precedences);
    const int count = static_cast<int>(order_.size());
    fits_ = pings_.empty() ? std::vector<ClockFit>(order_.size()) : solveClocks(count, precedences, {});
    for (std::size_t clock = 0; clock < fits_.size(); ++clock) {
        const bool related = !pings_.empty() && fits_[clock].group == fits_[0].group;
        if (clock == 0 || related || !read_[clock] || !read_[0]) continue;
        fits_[clock] = {};
        fits_[clock].offset = order_[0] - order_[clock];
        fits_[clock].bound = kTimeOfDayBound;
    }
    solved_ = true;
}

void HostClocks::setPlaces(std::size_t places, int pp) {
    clock_of_place_.assign(places, {});
    pp_ = pp;
}

std::string HostClocks::clockAt(std::size_t place) const {
    return place < clock_of_place_.size() ? clock_of_place_[place] : std::string();
}

RunClocks HostClocks::align(std::vector<StepTimeline>& timelines, std::span<const LiveRank> ranks) {
    RunClocks report;
    if (clocks() < 2) return report;
    report.method = ClockMethod::Aligned;
    report.pings = pings();
    for (StepTimeline& timeline : timelines) {
        std::vector<ClockFit> fits;
        for (std::size_t rank = 0; rank < timeline.ranks.size(); ++rank) {
            const std::size_t place = placeOf(timeline.replica, rank);
            fits.push_back(fitOf(clock_of_place_[place]));
            report.ranks.push_back({timeline.replica, Rank{rank}, ranks[place].host, fits.back()});
        }
        moveToReference(timeline, fits);
    }
    return report;
}

void HostClocks::align(std::vector<CheckRecord>& checks) {
    if (clocks() < 2) return;
    for (CheckRecord& check : checks) {
        const ClockFit& fit = fitOf(clock_of_place_[placeOf(check.replica, check.rank.index())]);
        check.start = fit.toReference(check.start);
        check.end = fit.toReference(check.end);
    }
}

} // namespace bubblescope::live
