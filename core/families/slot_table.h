#pragma once

#include "core/schedule/op.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bubblescope {

/// The passes of a micro-batch on a rank that holds two chunks along a V. The first four are listed in the order in
/// which the micro-batch passes the rank. Weight gradients follow, in the order of their input gradients unless a
/// schedule orders them otherwise.
enum class Pass : std::uint8_t { Forward0, Forward1, InputGrad1, InputGrad0, WeightGrad, None };

[[nodiscard]] constexpr std::size_t index(Pass pass) {
    return static_cast<std::size_t>(pass);
}

[[nodiscard]] constexpr bool isForward(Pass pass) {
    return pass == Pass::Forward0 || pass == Pass::Forward1;
}

[[nodiscard]] constexpr bool isInputGrad(Pass pass) {
    return pass == Pass::InputGrad0 || pass == Pass::InputGrad1;
}

/// Forwards of chunk 0 and input gradients of chunk 1 travel from the first rank to the last, the others back.
[[nodiscard]] constexpr bool travelsDown(Pass pass) {
    return pass == Pass::Forward0 || pass == Pass::InputGrad1;
}

/// Chunk of a forward or input gradient.
[[nodiscard]] constexpr int chunkOf(Pass pass) {
    return pass == Pass::Forward1 || pass == Pass::InputGrad1 ? 1 : 0;
}

/// A table of ranks by slots, one unit of time per slot, for V-shaped schedules that repeat a *building block* (Qi et
/// al. 2024): the slots in which one micro-batch passes every rank, copied every six slots for the next one. The steady
/// state then has no gaps and uses a known amount of memory. This class closes the gaps at both ends without using more
/// memory.
class SlotTable {
public:
    /// The slots of the first micro-batch's four forwards and input gradients on one rank. Those of a rank must differ
    /// modulo six and follow the V: a pass comes after its inputs.
    using Block = std::array<int, 4>;

    /// `gradient_slots`: 1, or 2 if the slot after an input gradient belongs to its weight gradient.
    SlotTable(const std::vector<Block>& blocks, int microbatches, int gradient_slots = 1);

    /// Puts each weight gradient into the first empty slot after its input gradient; the rest are placed at the end.
    void addWeightGrads();
    void removeWeightGrads();

    enum class Extent : std::uint8_t {
        All,
        Ends, ///< all slots outside [first InputGrad0, last Forward0] of the first rank
        Tail, ///< only slots after the first rank's last Forward0
    };
    /// Moves each pass to the earliest empty slot that its inputs allow without any rank exceeding the earlier maximum
    /// over ranks. An activation is held from its forward to its weight gradient; if the table has no weight gradients,
    /// they are assumed to run in the empty slots.
    void moveUp(Extent extent);

    /// Starts each pass as soon as its rank and inputs allow, in slot order.
    void squeeze();

    /// For a table without weight gradients: the ranks' orders, with weight gradients in the empty slots, those of
    /// chunk 1 first.
    [[nodiscard]] std::vector<std::vector<Op>> splitOrder() const;

    /// The orders of the ranks, with whole backwards instead of input gradients.
    [[nodiscard]] std::vector<std::vector<Op>> wholeOrder() const;

private:
    struct Memory {
        int held = 0;    ///< number of activations
        int pending = 0; ///< input gradients whose weight gradients have no slot yet
        friend bool operator==(Memory, Memory) = default;
    };
    struct Row {
        std::vector<Pass> slots;
        std::array<std::vector<int>, 4> at; ///< slot by pass and micro-batch
        std::vector<Memory> memory;         ///< after each slot; only used while moving up
        int known = 0;             ///< number of slots whose memory is valid, if weight gradients are in the table
        int last = -1;             ///< the last slot taken by a visited pass
        std::array<int, 5> seen{}; ///< passes seen in a sweep, by kind
        int last_weight = -1;      ///< slot of the last weight gradient seen
        int grads_before = 0;      ///< input gradients up to last_weight
    };

    template <class Visit>
    void sweep(Visit visit);
    [[nodiscard]] int ready(std::size_t rank, Pass pass, int microbatch) const;
    [[nodiscard]] static int weightReady(const Row& row);
    static void passWeightGrad(Row& row, int slot);
    void moveUp(std::size_t rank, Pass pass, int microbatch, int slot);
    [[nodiscard]] bool fits(Row& row, int from, int until);
    [[nodiscard]] bool fitsWithWeights(Row& row, int from, int until);
    void next(Memory& memory, Pass pass) const;

    int microbatches_;
    int gradient_slots_;
    bool weights_placed_;
    int limit_ = 0; ///< maximum activations per rank
    std::vector<Row> rows_;
};

} // namespace bubblescope
