#pragma once

#include "core/schedule/op.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bubblescope {

/// Passes of a micro-batch on a rank whose two chunks are placed along a V. The first four are listed in the order in
/// which the micro-batch runs them on the rank. Weight gradients come last, in the order of their input gradients
/// unless a schedule orders them otherwise.
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

/// Chunk to which a forward or input gradient belongs.
[[nodiscard]] constexpr int chunkOf(Pass pass) {
    return pass == Pass::Forward1 || pass == Pass::InputGrad1 ? 1 : 0;
}

/// A table with one row per rank and one slot per unit of time, for V-shaped schedules that repeat a *building block*
/// (Qi et al., 2024): the slots of one micro-batch's passes on every rank, repeated every six slots for the next
/// micro-batch. Therefore, the steady state has no gaps, and its memory use is known. This class closes the gaps at
/// both ends without increasing memory.
class SlotTable {
public:
    /// Slots of the first micro-batch's four forwards and input gradients on one rank. The slots of a rank must differ
    /// modulo six and follow the V: a pass comes after its inputs.
    using Block = std::array<int, 4>;

    /// `gradient_slots` is 1, or 2 if the slot after an input gradient is reserved for its weight gradient.
    SlotTable(const std::vector<Block>& blocks, int microbatches, int gradient_slots = 1);

    /// Places each weight gradient in the first empty slot after its input gradient; others are appended at the end.
    void addWeightGrads();
    void removeWeightGrads();

    enum class Extent : std::uint8_t {
        All,
        Ends, ///< all slots outside the range [first InputGrad0, last Forward0] of the first rank
        Tail, ///< only slots after the last Forward0 of the first rank
    };
    /// Moves each pass to the earliest empty slot that its inputs allow, such that no rank needs more memory than the
    /// previous maximum over ranks. An activation is held from its forward to its weight gradient; if the table
    /// contains no weight gradients, they are assumed to run in the empty slots.
    void moveUp(Extent extent);

    /// Starts each pass as soon as its rank and inputs permit, in slot order.
    void squeeze();

    /// Each rank's order for a table without weight gradients; weight gradients are added in the empty slots (chunk 1
    /// first).
    [[nodiscard]] std::vector<std::vector<Op>> splitOrder() const;

    /// Each rank's order, with complete backwards instead of input gradients.
    [[nodiscard]] std::vector<std::vector<Op>> wholeOrder() const;

private:
    struct Memory {
        int held = 0;    ///< number of activations
        int pending = 0; ///< number of input gradients whose weight gradients have no slot yet
        friend bool operator==(Memory, Memory) = default;
    };
    struct Row {
        std::vector<Pass> slots;
        std::array<std::vector<int>, 4> at; ///< slot of each pass, by pass and micro-batch
        std::vector<Memory> memory;         ///< memory after each slot; used only while moving passes up
        int known = 0;             ///< number of slots whose memory is valid, if weight gradients are in the table
        int last = -1;             ///< last slot used by a pass that was already visited
        std::array<int, 5> seen{}; ///< number of passes visited in a sweep, by kind
        int last_weight = -1;      ///< slot of the last weight gradient visited so far
        int grads_before = 0;      ///< number of input gradients up to last_weight
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
