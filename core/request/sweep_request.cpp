#include "core/request/sweep_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <tuple>
#include <utility>

namespace bubblescope {
namespace {

/// More would be a search, not a comparison.
constexpr std::size_t kMostPoints = 10'000;

/// Advances to the next combination, the last axis first. False after the last one.
bool advance(std::vector<std::size_t>& at, const std::vector<SweepAxis>& axes) {
    for (std::size_t i = axes.size(); i-- > 0;) {
        if (++at[i] < axes[i].settings.size()) return true;
        at[i] = 0;
    }
    return false;
}

/// Points with the same order and otherwise equal values appear once: some families fix the number of chunks, and files
/// have their own sizes.
using Identity = std::tuple<std::string, std::string, int, int, int, std::vector<std::string>>;

Identity identityOf(const SweepPoint& point, const std::vector<SweepAxis>& axes, bool from_file) {
    const Schedule& order = point.planned->schedule;
    std::vector<std::string> others;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const bool of_order = axes[i].field == Field("vpp") || (from_file && axes[i].makesOrders());
        if (!of_order) others.push_back(point.settings[i]);
    }
    return {order.name, order.flavor, order.pp, order.microbatches, order.vpp, std::move(others)};
}

} // namespace

bool SweepAxis::makesOrders() const {
    constexpr std::array kMakers{
        Field("schedule"), Field("schedule_file"), Field("pp"),           Field("microbatches"),    Field("vpp"),
        Field("flavor"),   Field("group_size"),    Field("memory_limit"), Field("sequence_slices"), Field("encoders")};
    return std::ranges::find(kMakers, field) != kMakers.end();
}

void nameSchedule(ScheduleRequest& request, std::string_view text) {
    request.file.clear();
    if (text.ends_with(".json") || text.ends_with(".csv")) {
        request.file = text;
        return;
    }
    const std::size_t slash = text.find('/');
    if (slash != 0) request.spec.name = text.substr(0, slash);
    if (slash != std::string_view::npos) request.spec.flavor = text.substr(slash + 1);
}

SweepPoint SweepRequest::point(const ScheduleRequest& request, TimeNs usual_forward) const {
    SweepPoint made;
    Result<Planned> planned = request.planShare(usual_forward, chunks_of_times);
    if (!planned.ok() && request.vpp && usualChunks(request.spec.name, request.spec.flavor) != *request.vpp) {
        // A family with a fixed number of chunks uses that number.
        ScheduleRequest own = request;
        own.vpp.reset();
        if (Result<Planned> with_own = own.planShare(usual_forward, chunks_of_times); with_own.ok())
            planned = std::move(with_own);
    }
    if (!planned.ok()) {
        made.reason = planned.error().message;
        return made;
    }
    made.planned = std::move(planned).value();
    ScheduleRequest rest = request;
    const Schedule& order = made.planned->schedule;
    if (request.spec.encoders.ranks() > 0 && encodersOf(order.placement).ranks() == 0) {
        made.unused.push_back(request.spec.encoders.second > 0
                                  ? fmt::format("{} runs both encoders and the trunk as one chain", orderName(order))
                                  : fmt::format("{} runs the encoder and the trunk as one chain", orderName(order)));
        rest.spec.encoders = {};
    }
    if (const Status used = rest.checkUsed({&order, 1}); !used.ok()) made.unused.push_back(used.error().message);
    return made;
}

Result<std::vector<SweepPoint>> SweepRequest::points(TimeNs usual_forward) const {
    std::size_t count = 1;
    for (const SweepAxis& axis : axes)
        count = std::min(kMostPoints + 1, count * axis.settings.size());
    if (count > kMostPoints)
        return usageError(fmt::format("there are more than {} combinations", kMostPoints), "use fewer values");
    std::vector<SweepPoint> points;
    std::vector<Schedule> orders;
    std::set<Identity> seen;
    std::optional<Error> first_error;
    std::vector<std::size_t> at(axes.size(), 0);
    ScheduleRequest last = base;
    do {
        ScheduleRequest request = base;
        std::vector<std::string> settings;
        for (std::size_t i = 0; i < axes.size(); ++i) {
            axes[i].settings[at[i]].apply(request);
            settings.push_back(axes[i].settings[at[i]].text);
        }
        SweepPoint made = point(request, usual_forward);
        made.settings = std::move(settings);
        if (!made.planned) {
            if (!first_error) first_error = request.planShare(usual_forward, chunks_of_times).error();
            points.push_back(std::move(made));
            continue;
        }
        const bool from_file = !request.file.empty();
        if (!seen.insert(identityOf(made, axes, from_file)).second) continue;
        orders.push_back(made.planned->schedule);
        if (!from_file) last = std::move(request);
        points.push_back(std::move(made));
    } while (advance(at, axes));
    if (orders.empty()) return *first_error;
    BUBBLESCOPE_TRY(last.checkUsed(orders));
    return points;
}

} // namespace bubblescope
