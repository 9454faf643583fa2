#include "core/analysis/statistics/robust.h"

#include "core/base/median.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <utility>

namespace bubblescope::statistics {

double medianInPlace(std::span<double> values) {
    if (values.empty()) return 0;
    const std::size_t middle = values.size() / 2;
    const std::size_t begin = nthElement(values, middle);
    if (values.size() % 2 == 1) return values[middle];
    // The greatest of those before it is not among the first, unless all are.
    const auto before = values.first(middle);
    return (values[middle] + std::ranges::max(begin < middle ? before.subspan(begin) : before)) / 2;
}

double median(std::vector<double> values) {
    return medianInPlace(values);
}

namespace {

constexpr std::size_t kFewToSample = 1 << 16; ///< are kept
constexpr std::size_t kSampleSize = 1 << 14;
constexpr std::size_t kApart = 256; ///< four standard deviations of the place of a sample's median

} // namespace

MultiPassMedian::MultiPassMedian(std::size_t most) {
    pass_.sampled_ = most > kFewToSample ? UINT64_MAX / most * kSampleSize : Share::kAll;
}

MultiPassMedian::Share MultiPassMedian::share(std::size_t first) const {
    Share share;
    share.sampled_ = pass_.sampled_;
    share.first_ = first;
    share.low_ = pass_.low_;
    share.high_ = pass_.high_;
    return share;
}

void MultiPassMedian::add(Share&& share) {
    count_ += share.count_;
    pass_.below_ += share.below_;
    pass_.equal_low_ += share.equal_low_;
    pass_.equal_high_ += share.equal_high_;
    if (pass_.kept_.empty())
        pass_.kept_ = std::move(share.kept_);
    else
        pass_.kept_.insert(pass_.kept_.end(), share.kept_.begin(), share.kept_.end());
}

void MultiPassMedian::endPass() {
    const auto endWith = [this](double value) {
        value_ = value;
        ended_ = true;
        std::vector<double>().swap(pass_.kept_);
    };
    if (pass_.sampled_ == Share::kAll) return endWith(medianInPlace(pass_.kept_));
    if (pass_.sampled_ > 0) {
        if (count_ == 0) return endWith(0);
        pass_.sampled_ = 0;
        sample_ = std::move(pass_.kept_);
        std::ranges::sort(sample_);
        apart_ = kApart;
        return setRange();
    }
    const std::size_t middle = count_ / 2;
    double upper = 0;
    double lower = 0;
    if (find(middle, upper) && (count_ % 2 == 1 || find(middle - 1, lower)))
        return endWith(count_ % 2 == 1 ? upper : (upper + lower) / 2);
    if (std::isinf(pass_.low_)) return endWith(0); // some are no numbers
    apart_ *= 8;                                   // the sample was not one of all
    setRange();
}

/// The values that the next pass keeps.
void MultiPassMedian::setRange() {
    const std::size_t middle = sample_.size() / 2;
    const bool inside = apart_ < middle && middle + apart_ < sample_.size();
    pass_.low_ = inside ? sample_[middle - apart_] : -std::numeric_limits<double>::infinity();
    pass_.high_ = inside ? sample_[middle + apart_] : std::numeric_limits<double>::infinity();
    pass_.below_ = pass_.equal_low_ = pass_.equal_high_ = 0;
    pass_.kept_.clear();
}

/// The value at a place in sorted order, if it lies in the range of the latest pass.
bool MultiPassMedian::find(std::size_t place, double& value) {
    std::vector<double>& kept = pass_.kept_;
    if (place < pass_.below_) return false;
    place -= pass_.below_;
    if (place < pass_.equal_low_) {
        value = pass_.low_;
        return true;
    }
    place -= pass_.equal_low_;
    if (place < kept.size()) {
        nthElement(std::span(kept), place);
        value = kept[place];
        return true;
    }
    value = pass_.high_;
    return place - kept.size() < pass_.equal_high_;
}

RunningMedian::RunningMedian(std::span<const double> values) : above_(values.begin(), values.end()) {
    const auto middle = static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(above_, above_.begin() + middle);
    below_.assign(above_.begin(), above_.begin() + middle);
    above_.erase(above_.begin(), above_.begin() + middle);
    std::ranges::make_heap(below_);
    std::ranges::make_heap(above_, std::greater());
}

void RunningMedian::add(double value) {
    const auto move = [](std::vector<double>& from, auto from_order, std::vector<double>& to, auto to_order) {
        std::ranges::pop_heap(from, from_order);
        to.push_back(from.back());
        from.pop_back();
        std::ranges::push_heap(to, to_order);
    };
    const bool low = !above_.empty() && value < above_.front();
    (low ? below_ : above_).push_back(value);
    if (low)
        std::ranges::push_heap(below_);
    else
        std::ranges::push_heap(above_, std::greater());
    if (below_.size() > above_.size()) move(below_, std::less(), above_, std::greater());
    if (above_.size() > below_.size() + 1) move(above_, std::greater(), below_, std::less());
}

double RunningMedian::value() const {
    if (above_.empty()) return 0;
    return size() % 2 == 1 ? above_.front() : (above_.front() + below_.front()) / 2;
}

double medianDeviation(std::span<const double> values) {
    std::vector<double> scratch(values.begin(), values.end());
    const double middle = medianInPlace(scratch);
    for (double& value : scratch)
        value = std::abs(value - middle);
    return medianInPlace(scratch);
}

double robustSigma(std::span<const double> values) {
    return kSigmaOfDeviation * medianDeviation(values);
}

double quantile(std::vector<double> values, double share) {
    if (values.empty()) return 0;
    std::ranges::sort(values);
    const double place = std::clamp(share, 0.0, 1.0) * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

Line theilSen(std::span<const double> x, std::span<const double> y) {
    std::vector<double> slopes;
    for (std::size_t i = 0; i < x.size(); ++i) {
        for (std::size_t j = i + 1; j < x.size(); ++j) {
            if (x[i] != x[j]) slopes.push_back((y[j] - y[i]) / (x[j] - x[i]));
        }
    }
    Line line;
    line.slope = median(std::move(slopes));
    line.intercept = median({y.begin(), y.end()}) - line.slope * median({x.begin(), x.end()});
    return line;
}

} // namespace bubblescope::statistics
