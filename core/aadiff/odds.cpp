#include "core/aadiff/odds.h"

namespace bubblescope {

std::span<const PublishedRate> publishedRates() {
    static constexpr std::array kRates{PublishedRate{"Llama 3", 6, 54.0 * 24 * 16'384},
                                       PublishedRate{"AEGIS", 18, 3.5e7}};
    return kRates;
}

FaultOdds faultOdds(int devices, double share) {
    const double low = publishedRates().front().perDay(devices);
    const double high = publishedRates().back().perDay(devices);
    return {{low, high}, {share * low, share * high}};
}

} // namespace bubblescope
