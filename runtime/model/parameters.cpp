#include "runtime/model/parameters.h"

#include "runtime/accelerator/work_queue.h"
#include "runtime/model/synthetic.h"
#include "runtime/model/update_rules.h"

#include <cmath>
#include <stdexcept>
#include <type_traits>

namespace bubblescope::runtime {
namespace {

/// The position of a rank's part of a matrix in the whole matrix, both column-major.
struct Runs {
    std::int64_t first = 0;
    std::int64_t length = 0;
    std::int64_t stride = 0; ///< distance between the beginnings of two runs
};

Runs runsOf(const PartLayout& whole, const FlatPart& own, const TensorShard& shard) {
    if (own.cut == PartLayout::Cut::Rows) return {shard.index * own.rows, own.rows, whole.rows};
    const std::int64_t group = own.weightSize() / whole.groups;
    return {own.cut == PartLayout::Cut::Columns ? shard.index * group : 0, group,
            whole.rows * whole.columns / whole.groups};
}

} // namespace

FlatLayout flatLayout(const ModelConfig& config, const StageTask& task, std::int64_t alignment) {
    FlatLayout flat;
    const auto aligned = [&](std::int64_t place) { return (place + alignment - 1) / alignment * alignment; };
    for (const PartLayout& part : stageLayout(config, task)) {
        FlatPart& own = flat.parts.emplace_back();
        own.cut = part.cut;
        own.rows = part.cut == PartLayout::Cut::Rows ? part.rows / task.shard.size : part.rows;
        own.columns = part.cut == PartLayout::Cut::Columns ? part.columns / task.shard.size : part.columns;
        own.decays = part.decays;
        own.groups = part.groups;
        own.hidden = part.decays && part.cut != PartLayout::Cut::Whole;
        own.weight = flat.size;
        own.bias = aligned(own.weight + own.weightSize());
        own.bias_size = biasesOf(part, task.shard);
        flat.size = aligned(own.bias + own.bias_size);
    }
    return flat;
}

FlatRun runOf(std::span<const FlatPart> parts) {
    const FlatPart& last = parts.back();
    return {parts.front().weight, last.bias + last.bias_size - parts.front().weight};
}

void zeroGaps(WorkQueue& on, std::span<const FlatPart> parts, float* column) {
    std::int64_t end = parts.front().weight;
    const auto clearTo = [&](std::int64_t begin) {
        if (begin > end) on.device().zero(column + end, (begin - end) * bytesOf(Storage::Float), on.stream());
    };
    for (const FlatPart& part : parts) {
        clearTo(part.weight);
        end = part.weight + part.weightSize();
        if (part.bias_size == 0) continue;
        clearTo(part.bias);
        end = part.bias + part.bias_size;
    }
    const FlatRun run = runOf(parts);
    clearTo(run.first + run.size);
}

template <class T>
StageParameters<T>::StageParameters(ComputeQueue& queue, const ModelConfig& config, const StageTask& task)
    : queue_(queue), optimizer_(config.optimizer) {
    FlatLayout flat = flatLayout(config, task, queue.traits().alignment);
    parts_ = std::move(flat.parts);
    size_ = flat.size;
    const std::vector<PartLayout> layout = stageLayout(config, task);
    exact_ = queue_.pool().take(size_ * bytesOf(Storage::Float));
    queue_.device().zero(exact_.as<void>(), exact_.bytes(), queue_.stream());
    if (!std::is_same_v<T, float>) rounded_ = queue_.pool().take(size_ * static_cast<std::int64_t>(sizeof(T)));
    for (std::size_t i = 0; i < layout.size(); ++i) {
        float* const weights = exact_.as<float>() + parts_[i].weight;
        if (layout[i].ones) {
            queue_.launch(FillKernel{weights, parts_[i].weightSize(), 1.0F});
        } else {
            const std::uint64_t base = Synthetic(config.seed).number(Synthetic::Stream::Weights, layout[i].name);
            const Runs runs = runsOf(layout[i], parts_[i], task.shard);
            queue_.launch(UniformKernel{weights, parts_[i].weightSize(), base + static_cast<std::uint64_t>(runs.first),
                                        layout[i].scale, runs.length, runs.stride});
        }
    }
    round();
}

template <class T>
T* StageParameters<T>::rounded() const {
    if constexpr (std::is_same_v<T, float>) {
        return exact_.as<float>();
    } else {
        return rounded_.as<T>();
    }
}

template <class T>
void StageParameters<T>::round() {
    if constexpr (std::is_same_v<T, Bf16>) queue_.launch(RoundKernel{rounded_.as<Bf16>(), exact_.as<float>(), size_});
}

template <class T>
void StageParameters<T>::prepareSteps() {
    if (!first_.empty() || size_ == 0) return;
    const bool second = optimizer_.rule != OptimizerConfig::Rule::Sgd;
    for (Buffer* const moments : {&first_, second ? &second_ : nullptr}) {
        if (moments == nullptr) continue;
        *moments = queue_.pool().take(size_ * bytesOf(Storage::Float));
        queue_.device().zero(moments->as<void>(), moments->bytes(), queue_.stream());
    }
}

template <class T>
void StageParameters<T>::step(const float* sum, int microbatches) {
    prepareSteps();
    ++steps_;
    for (const FlatPart& part : parts_) {
        const bool other = optimizer_.rule == OptimizerConfig::Rule::Sgd ||
                           (optimizer_.rule == OptimizerConfig::Rule::Muon && part.hidden);
        if (other) {
            stepOther(sum, microbatches, part);
        } else {
            stepAdamW(sum, microbatches, part.weight, part.weightSize(), part.decays);
            stepAdamW(sum, microbatches, part.bias, part.bias_size, false);
        }
    }
}

template <class T>
void StageParameters<T>::stepAdamW(const float* sum, int microbatches, std::int64_t at, std::int64_t count,
                                   bool decays) {
    if (count == 0) return;
    const auto correction = [&](float beta) {
        return static_cast<float>(1.0 - std::pow(static_cast<double>(beta), static_cast<double>(steps_)));
    };
    queue_.launch(AdamWKernel<T>{exact_.as<float>() + at, rounded() + at, sum + at, first_.as<float>() + at,
                                 second_.as<float>() + at, count, static_cast<float>(microbatches), optimizer_.beta1,
                                 optimizer_.beta2,
                                 decays ? 1.0F - optimizer_.learning_rate * optimizer_.weight_decay : 1.0F,
                                 optimizer_.learning_rate / correction(optimizer_.beta1),
                                 1.0F / std::sqrt(correction(optimizer_.beta2)), optimizer_.epsilon});
}

template <class T>
void StageParameters<T>::stepOther(const float* sum, int microbatches, const FlatPart& part) {
    if (!std::is_same_v<T, float> || !queue_.device().sharesHostMemory())
        throw std::logic_error("this optimizer needs host memory");
    const auto at = [&](std::int64_t place, std::int64_t rows, std::int64_t columns) {
        return UpdatedMatrix{exact_.as<float>() + place, sum + place, first_.as<float>() + place, rows, columns};
    };
    UpdateRate rate{static_cast<float>(microbatches), optimizer_.learning_rate,
                    part.decays ? 1.0F - optimizer_.learning_rate * optimizer_.weight_decay : 1.0F, optimizer_.beta1};
    if (optimizer_.rule == OptimizerConfig::Rule::Sgd) {
        stepSgd(at(part.weight, part.rows, part.columns), rate);
        rate.keep = 1.0F;
        return stepSgd(at(part.bias, part.bias_size, 1), rate);
    }
    constexpr float kMomentum = 0.95F; // as its authors suggest
    rate.momentum = kMomentum;
    const std::int64_t columns = part.columns / part.groups;
    for (int group = 0; group < part.groups; ++group)
        stepMuon(queue_, at(part.weight + group * part.rows * columns, part.rows, columns), rate);
    stepAdamW(sum, microbatches, part.bias, part.bias_size, false);
}

template <class T>
void StageParameters<T>::keep(int version) {
    kept_.insert_or_assign(version, Kept{queue_.copyOf(exact_), queue_.copyOf(rounded_)});
}

template <class T>
void StageParameters<T>::show(int version) {
    const auto found = kept_.find(version);
    shown_ = found == kept_.end() ? nullptr : &found->second;
}

template <class T>
std::int64_t StageParameters<T>::bytes() const {
    std::int64_t sum = exact_.bytes() + rounded_.bytes();
    for (const auto& [version, copy] : kept_)
        sum += copy.exact.bytes() + copy.rounded.bytes();
    return sum;
}

template <class T>
std::uint64_t StageParameters<T>::digest() const {
    if (size_ == 0) return 0;
    DigestPages pages(queue_);
    return pages.queue({exact_.as<void>(), exact_.bytes()}, queue_).value();
}

template <class T>
std::vector<float> StageParameters<T>::toHost(const float* column) const {
    std::vector<float> flat(static_cast<std::size_t>(size_));
    if (size_ == 0) return flat;
    queue_.device().copyOut(flat.data(), column, size_ * bytesOf(Storage::Float), queue_.stream());
    std::vector<float> values;
    for (const FlatPart& part : parts_) {
        values.insert(values.end(), flat.begin() + part.weight, flat.begin() + part.weight + part.weightSize());
        values.insert(values.end(), flat.begin() + part.bias, flat.begin() + part.bias + part.bias_size);
    }
    return values;
}

template <class T>
void StageParameters<T>::fromHost(const std::vector<float>& values) {
    std::vector<float> flat(static_cast<std::size_t>(size_), 0.0F);
    auto from = values.begin();
    for (const FlatPart& part : parts_) {
        std::copy_n(from, part.weightSize(), flat.begin() + part.weight);
        from += part.weightSize();
        std::copy_n(from, part.bias_size, flat.begin() + part.bias);
        from += part.bias_size;
    }
    queue_.device().copyIn(exact_.as<void>(), flat.data(), exact_.bytes(), queue_.stream());
    round();
}

template class StageParameters<float>;
template class StageParameters<Bf16>;

Buffer GradientSum::zeros() {
    Buffer column = queue_.pool().take(size_ * bytesOf(Storage::Float));
    if (!column.empty()) queue_.device().zero(column.as<void>(), column.bytes(), queue_.stream());
    return column;
}

Buffer GradientSum::room() {
    return queue_.traits().alignment > 1 ? zeros() : queue_.pool().take(size_ * bytesOf(Storage::Float));
}

void GradientSum::begin(Piece piece) {
    current_early_ = nullptr;
    if (isNext(piece) && !queue_.traits().separate_gradients) {
        if (next_ == begin_) sum_ = room();
        return;
    }
    current_early_ = &(early_[piece] = room());
}

std::shared_ptr<const Buffer> GradientSum::roomFor(std::span<const FlatPart> layer) const {
    const FlatRun run = runOf(layer);
    Buffer memory = queue_.pool().take(run.size * bytesOf(Storage::Float));
    zeroGaps(queue_, layer, memory.as<float>() - run.first);
    return std::make_shared<const Buffer>(std::move(memory));
}

GradientSum::Kept GradientSum::now(std::int64_t first, Range& range) {
    if (range.apart) return {range.apart, range.apart->as<float>()};
    if (!range.home) range.home = std::make_shared<const Buffer>(sum_.share());
    return {range.home, sum_.as<float>() + first};
}

GradientSum::RangeTarget GradientSum::target(std::span<const FlatPart> layer, Use use) {
    const FlatRun run = runOf(layer);
    const bool keeps = use == Use::IsKept;
    if (current_early_ != nullptr) {
        float* const column = current_early_->as<float>();
        if (!keeps || queue_.traits().separate_gradients) return {{column, nullptr}, {}, {}};
        return {{column, nullptr}, {}, {std::make_shared<const Buffer>(current_early_->share()), column + run.first}};
    }
    const bool starts = next_ == begin_;
    const bool ends = next_ + 1 == ends_[taken_];
    if (!ranges_.contains(run.first) && (use == Use::Adds || (starts && ends && !keeps))) {
        float* const column = sum_.as<float>();
        return {{column, starts ? nullptr : column}, {}, {}};
    }
    Range& range = ranges_[run.first];
    range.size = run.size;
    const Kept before = starts ? Kept{} : now(run.first, range);
    const bool home_is_free = (starts || range.apart) && !Range::kept(range.home);
    const bool goes_home = home_is_free && (ends || (!starts && use == Use::Adds));
    const bool is_kept = before.memory.use_count() > 2; // `before` is an owner itself
    if (goes_home) {
        range.apart = nullptr;
        range.home = nullptr;
    } else if (starts || keeps || is_kept) {
        range.apart = roomFor(layer);
    }
    const Kept after = now(run.first, range);
    const Target target{after.values - run.first, starts ? nullptr : before.values - run.first};
    return {target, before, keeps ? after : Kept{}};
}

void GradientSum::end(Piece piece) {
    current_early_ = nullptr;
    if (!isNext(piece)) return;
    if (!queue_.traits().separate_gradients) ++next_; // it is already included in the sum
    while (next_ < order_.size()) {
        const auto waiting = early_.find(order_[next_]);
        if (waiting == early_.end()) return;
        add(std::move(waiting->second));
        early_.erase(waiting);
    }
}

void GradientSum::add(Buffer next) {
    if (next_++ == begin_) {
        sum_ = next.shared() ? queue_.copyOf(next) : std::move(next);
        return;
    }
    std::int64_t done = 0;
    for (auto& [first, range] : ranges_) {
        const Kept before = now(first, range);
        if (before.memory.use_count() > 2) {
            Buffer copy = queue_.pool().take(range.size * bytesOf(Storage::Float));
            queue_.device().copy(copy.as<void>(), before.values, copy.bytes(), queue_.stream());
            range.apart = std::make_shared<const Buffer>(std::move(copy));
        }
        if (!range.apart) continue;
        addTo(done, first - done, next);
        queue_.launch(AddKernel{range.apart->as<float>(), next.as<float>() + first, range.size});
        done = first + range.size;
    }
    addTo(done, size_ - done, next);
}

void GradientSum::addTo(std::int64_t first, std::int64_t size, const Buffer& next) {
    if (size > 0) queue_.launch(AddKernel{sum_.as<float>() + first, next.as<float>() + first, size});
}

Buffer GradientSum::take() {
    if (next_ != ends_[taken_] || !early_.empty()) throw std::logic_error("a micro-batch's weight gradient is missing");
    if (order_.empty()) sum_ = zeros(); // no micro-batch passes through this stage
    for (auto& [first, range] : ranges_)
        range.home = nullptr;
    if (sum_.shared()) sum_ = queue_.copyOf(sum_); // the caller may change it
    for (const auto& [first, range] : ranges_) {
        if (range.apart)
            queue_.device().copy(sum_.as<float>() + first, range.apart->as<void>(), range.apart->bytes(),
                                 queue_.stream());
    }
    ranges_.clear();
    taken_ = (taken_ + 1) % ends_.size();
    if (taken_ == 0) next_ = 0;
    begin_ = next_;
    return std::move(sum_);
}

std::int64_t GradientSum::bytes() const {
    std::int64_t sum = sum_.bytes();
    for (const auto& [piece, column] : early_)
        sum += column.bytes();
    for (const auto& [first, range] : ranges_)
        sum += range.apart ? range.apart->bytes() : 0;
    return sum;
}

} // namespace bubblescope::runtime
