#pragma once

#include "core/graph/unit_graph.h"
#include "core/timeline/bubbles.h"
#include "core/timeline/step_timeline.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace bubblescope {

/// How a unit receives an input.
enum class Way : std::uint8_t {
    None,       ///< there is no input
    Stays,      ///< produced on the same rank
    Activation, ///< transferred from another rank
    Gradient,   ///< transferred from another rank
};

/// The units of a step, numbered in an order in which all of them can run, and all data derived only from the order of
/// the step's ops. Immutable, so that all steps with the same order can share one object.
struct StepUnits {
    std::shared_ptr<const OpGraph> ops;
    // One entry per unit.
    std::vector<std::int32_t> rank;
    std::vector<std::int32_t> op; ///< index of its (first) op in its rank's list
    std::vector<OpKind> kind;     ///< kind of that op
    std::vector<Chunk> chunk;     ///< chunk of that op
    std::vector<std::uint8_t> pair;
    /// How each input arrives. The second list is empty unless there are pairs or two encoders join. A pair has an
    /// input per op; where encoders join, an op has two.
    std::array<std::vector<Way>, 2> way;
    /// The predecessors of each unit: in slot 0 the previous unit on its rank, then its inputs, one slot per input.
    TaskGraph tasks;

    std::vector<UnitIndex> last;    ///< per rank; kNoUnit for a rank without units
    std::vector<UnitIndex> unit_of; ///< per op of the graph
    std::int64_t ignored_inputs = 0;
    std::vector<OpIndex> blocked; ///< per rank in a deadlock: the op that cannot start

    /// Contains only the units that can run: all units, unless ops are missing or the order contradicts dependencies.
    explicit StepUnits(std::shared_ptr<const OpGraph> graph);
    /// Contains all units in the order of `order`, which lists the first op of each unit. Ignores inputs that
    /// contradict this order.
    StepUnits(std::shared_ptr<const OpGraph> graph, std::span<const OpIndex> order);

    [[nodiscard]] UnitIndex size() const { return static_cast<UnitIndex>(rank.size()); }
    /// The units of a rank's ops, in the rank's order; a pair's unit appears twice.
    [[nodiscard]] std::span<const UnitIndex> unitsOf(Rank of) const {
        return std::span(unit_of).subspan(static_cast<std::size_t>(ops->firstOf(of)), ops->opsOf(of).size());
    }

private:
    void reserve();
    void add(OpIndex index, OpIndex partner);
    void linkInputs();
};

/// The order of a step's ops, and its units. Immutable; shared by all steps with the same order.
struct ExecutedUnits {
    StepOrder order;
    std::shared_ptr<const StepUnits> units; ///< of StepOrder::graph()

    explicit ExecutedUnits(const StepTimeline& step)
        : order(step), units(std::make_shared<const StepUnits>(order.sharedGraph())) {}
    /// `of_order` must contain the units of that order.
    ExecutedUnits(StepOrder known, std::shared_ptr<const StepUnits> of_order)
        : order(std::move(known)), units(std::move(of_order)) {}

    /// False if ops are missing or their order contradicts the dependencies.
    [[nodiscard]] bool runnable() const { return units->blocked.empty(); }
};

/// The executed units of a step. Returns `latest` if the step has the same order; `latest` may be null.
[[nodiscard]] std::shared_ptr<const ExecutedUnits> executedUnits(const StepTimeline& step,
                                                                 std::shared_ptr<const ExecutedUnits> latest = {});
/// As above. Computing the units of a new order mostly occupies one thread, so `beside(order)` is called once in
/// parallel.
[[nodiscard]] std::shared_ptr<const ExecutedUnits> executedUnits(const StepTimeline& step,
                                                                 std::shared_ptr<const ExecutedUnits> latest,
                                                                 const std::function<void(const StepOrder&)>& beside);

} // namespace bubblescope
