#include "core/families/slot_table.h"

#include <algorithm>
#include <limits>

namespace bubblescope {
namespace {

constexpr int kPeriod = 6; ///< a micro-batch has six units of work on every rank

} // namespace

SlotTable::SlotTable(const std::vector<Block>& blocks, int microbatches, int gradient_slots)
    : microbatches_(microbatches), gradient_slots_(gradient_slots), weights_placed_(gradient_slots == 2),
      rows_(blocks.size()) {
    for (std::size_t r = 0; r < rows_.size(); ++r) {
        const int last = *std::ranges::max_element(blocks[r]) + gradient_slots - 1;
        rows_[r].slots.assign(static_cast<std::size_t>(last + kPeriod * (microbatches - 1) + 1), Pass::None);
        for (std::size_t k = 0; k < blocks[r].size(); ++k) {
            const Pass pass{static_cast<std::uint8_t>(k)};
            for (int m = 0, slot = blocks[r][k]; m < microbatches; ++m, slot += kPeriod) {
                rows_[r].at[k].push_back(slot);
                rows_[r].slots[static_cast<std::size_t>(slot)] = pass;
                if (gradient_slots == 2 && isInputGrad(pass))
                    rows_[r].slots[static_cast<std::size_t>(slot) + 1] = Pass::WeightGrad;
            }
        }
    }
}

/// Calls `visit(rank, pass, micro-batch, slot)` for every pass, ordered by slot, then by rank, so that passes come
/// after their inputs. `visit` may move the pass to an earlier slot in its row.
template <class Visit>
void SlotTable::sweep(Visit visit) {
    std::size_t length = 0;
    for (Row& row : rows_) {
        row.seen = {};
        length = std::max(length, row.slots.size());
    }
    for (std::size_t t = 0; t < length; ++t) {
        for (std::size_t r = 0; r < rows_.size(); ++r) {
            Row& row = rows_[r];
            if (t >= row.slots.size() || row.slots[t] == Pass::None) continue;
            const Pass pass = row.slots[t];
            visit(r, pass, row.seen[index(pass)]++, static_cast<int>(t));
        }
    }
}

void SlotTable::addWeightGrads() {
    weights_placed_ = true;
    for (Row& row : rows_) {
        int pending = 0;
        for (Pass& slot : row.slots) {
            if (isInputGrad(slot)) ++pending;
            if (slot != Pass::None || pending == 0) continue;
            slot = Pass::WeightGrad;
            --pending;
        }
        row.slots.insert(row.slots.end(), static_cast<std::size_t>(pending), Pass::WeightGrad);
    }
}

void SlotTable::removeWeightGrads() {
    weights_placed_ = false;
    for (Row& row : rows_)
        std::ranges::replace(row.slots, Pass::WeightGrad, Pass::None);
}

/// The slot after which the inputs of a forward or input gradient are available.
int SlotTable::ready(std::size_t rank, Pass pass, int microbatch) const {
    const auto m = static_cast<std::size_t>(microbatch);
    const auto end = [&](const Row& row, std::size_t kind) {
        return row.at[kind][m] + (isInputGrad(Pass{static_cast<std::uint8_t>(kind)}) ? gradient_slots_ - 1 : 0);
    };
    int slot = -1;
    if (travelsDown(pass) && rank > 0) slot = end(rows_[rank - 1], index(pass));
    if (!travelsDown(pass) && rank + 1 < rows_.size()) slot = end(rows_[rank + 1], index(pass));
    if (pass != Pass::Forward0) slot = std::max(slot, end(rows_[rank], index(pass) - 1));
    if (m > 0) slot = std::max(slot, rows_[rank].at[index(pass)][m - 1]);
    return slot;
}

/// The slot after which the input gradient for the next weight gradient is available.
int SlotTable::weightReady(const Row& row) {
    int slot = row.last_weight;
    for (int grads = row.grads_before; grads < row.seen[index(Pass::WeightGrad)];) {
        if (isInputGrad(row.slots[static_cast<std::size_t>(++slot)])) ++grads;
    }
    return slot;
}

void SlotTable::next(Memory& memory, Pass pass) const {
    if (isForward(pass)) ++memory.held;
    if (pass == Pass::WeightGrad) --memory.held;
    if (isInputGrad(pass) && !weights_placed_) ++memory.pending;
    if (pass == Pass::None && memory.pending > 0) {
        --memory.pending;
        --memory.held;
    }
}

/// Updates a row's memory after its slots from `from` to `until` have changed. Returns false early if it exceeds the
/// limit.
bool SlotTable::fits(Row& row, int from, int until) {
    Memory memory = from > 0 ? row.memory[static_cast<std::size_t>(from) - 1] : Memory{};
    for (auto t = static_cast<std::size_t>(from); t < row.slots.size(); ++t) {
        next(memory, row.slots[t]);
        if (memory.held > limit_) return false;
        if (t >= static_cast<std::size_t>(until) && row.memory[t] == memory) break;
        row.memory[t] = memory;
    }
    return true;
}

/// Like fits(), with weight gradients in the table, for a pass that moves to a slot from `from` to `until`. Between the
/// last visited pass of a row and the current one, all slots are empty and memory is constant. Therefore, memory is
/// computed up to the last pass, and further only when a pass is added there.
bool SlotTable::fitsWithWeights(Row& row, int from, int until) {
    const int begin = std::min(row.known, from);
    Memory memory = begin > 0 ? row.memory[static_cast<std::size_t>(begin) - 1] : Memory{};
    for (int t = begin; t <= std::max(row.last, until); ++t) {
        next(memory, row.slots[static_cast<std::size_t>(t)]);
        if (t >= from && memory.held > limit_) {
            row.known = from;
            return false;
        }
        row.memory[static_cast<std::size_t>(t)] = memory;
    }
    row.known = std::max(row.last, until) + 1;
    return true;
}

void SlotTable::moveUp(std::size_t rank, Pass pass, int microbatch, int slot) {
    Row& row = rows_[rank];
    const int width = isInputGrad(pass) ? gradient_slots_ : 1;
    const auto at = [&](int t) { return row.slots.begin() + t; };
    const auto empty = [](Pass other) { return other == Pass::None; };
    int to = (pass == Pass::WeightGrad ? weightReady(row) : ready(rank, pass, microbatch)) + 1;
    for (; to < slot; ++to) {
        if (!std::all_of(at(to), at(to + width), empty)) continue;
        std::swap_ranges(at(to), at(to + width), at(slot));
        if (weights_placed_ ? fitsWithWeights(row, to, to + width - 1) : fits(row, to, slot + width - 1)) break;
        std::swap_ranges(at(to), at(to + width), at(slot));
        if (!weights_placed_) static_cast<void>(fits(row, to, slot + width - 1)); // restores the memory
    }
    row.last = std::max(row.last, std::min(to, slot) + width - 1);
    if (pass == Pass::WeightGrad) return passWeightGrad(row, to);
    row.at[index(pass)][static_cast<std::size_t>(microbatch)] = to;
    if (isInputGrad(pass) && to <= row.last_weight) ++row.grads_before;
}

void SlotTable::passWeightGrad(Row& row, int slot) {
    while (row.last_weight < slot)
        row.grads_before += isInputGrad(row.slots[static_cast<std::size_t>(++row.last_weight)]) ? 1 : 0;
}

void SlotTable::moveUp(Extent extent) {
    limit_ = std::numeric_limits<int>::max();
    int most = 0;
    for (Row& row : rows_) {
        row.memory.assign(row.slots.size(), {});
        row.known = 0;
        row.last = -1;
        row.last_weight = -1;
        row.grads_before = 0;
        static_cast<void>(fits(row, 0, static_cast<int>(row.slots.size())));
        for (const Memory& memory : row.memory)
            most = std::max(most, memory.held);
    }
    limit_ = most;
    enum class Phase : std::uint8_t { WarmUp, Steady, Tail } phase = Phase::WarmUp;
    sweep([&](std::size_t rank, Pass pass, int microbatch, int slot) {
        if (phase == Phase::WarmUp && rank == 0 && pass == Pass::InputGrad0) phase = Phase::Steady;
        const bool with_gradient = pass == Pass::WeightGrad && gradient_slots_ == 2;
        const bool fixed = with_gradient || (extent != Extent::All && phase == Phase::Steady) ||
                           (extent == Extent::Tail && phase == Phase::WarmUp);
        if (phase == Phase::Steady && pass == Pass::Forward0 && microbatch == microbatches_ - 1) phase = Phase::Tail;
        if (!fixed) {
            moveUp(rank, pass, microbatch, slot);
        } else {
            rows_[rank].last = std::max(rows_[rank].last, slot);
            if (pass == Pass::WeightGrad) passWeightGrad(rows_[rank], slot);
        }
    });
}

void SlotTable::squeeze() {
    std::vector<std::vector<Pass>> squeezed(rows_.size());
    sweep([&](std::size_t rank, Pass pass, int microbatch, int) {
        std::vector<Pass>& slots = squeezed[rank];
        if (pass != Pass::WeightGrad) {
            const auto earliest = static_cast<std::size_t>(ready(rank, pass, microbatch) + 1);
            if (slots.size() < earliest) slots.resize(earliest, Pass::None);
            rows_[rank].at[index(pass)][static_cast<std::size_t>(microbatch)] = static_cast<int>(slots.size());
        }
        slots.push_back(pass);
    });
    for (std::size_t r = 0; r < rows_.size(); ++r)
        rows_[r].slots = std::move(squeezed[r]);
}

std::vector<std::vector<Op>> SlotTable::splitOrder() const {
    std::vector<std::vector<Op>> ranks;
    for (const Row& row : rows_) {
        std::vector<Op>& ops = ranks.emplace_back();
        ops.reserve(kPeriod * static_cast<std::size_t>(microbatches_));
        std::array<int, 5> done{};
        std::array<int, 2> pending{}; // by chunk
        std::array<int, 2> weights{};
        const auto weightGrad = [&] {
            const std::size_t chunk = pending[1] > 0 ? 1 : 0;
            if (pending[chunk] == 0) return false;
            --pending[chunk];
            ops.push_back({OpKind::BackwardWeight, Microbatch{weights[chunk]++}, Chunk{chunk}});
            return true;
        };
        for (const Pass pass : row.slots) {
            if (pass == Pass::None) {
                weightGrad();
                continue;
            }
            const OpKind kind = isForward(pass) ? OpKind::Forward : OpKind::BackwardInput;
            ops.push_back({kind, Microbatch{done[index(pass)]++}, Chunk{chunkOf(pass)}});
            if (isInputGrad(pass)) ++pending[static_cast<std::size_t>(chunkOf(pass))];
        }
        while (weightGrad()) {
        }
    }
    return ranks;
}

std::vector<std::vector<Op>> SlotTable::wholeOrder() const {
    std::vector<std::vector<Op>> ranks;
    for (const Row& row : rows_) {
        std::vector<Op>& ops = ranks.emplace_back();
        ops.reserve(4 * static_cast<std::size_t>(microbatches_));
        std::array<int, 5> done{};
        for (const Pass pass : row.slots) {
            if (pass == Pass::None || pass == Pass::WeightGrad) continue;
            const OpKind kind = isForward(pass) ? OpKind::Forward : OpKind::Backward;
            ops.push_back({kind, Microbatch{done[index(pass)]++}, Chunk{chunkOf(pass)}});
        }
    }
    return ranks;
}

} // namespace bubblescope
