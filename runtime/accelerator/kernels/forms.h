#pragma once

#include "runtime/accelerator/kernels/portable.h"

#include <utility>

namespace bubblescope::runtime {

// A kernel is a small value object with pointers and sizes that defines the computation of one element. A form defines
// how the elements are distributed; there are five forms. A GPU assigns each element to a thread
// (runtime/backend/cuda/kernels.cu); a CPU processes the elements in vectorised loops
// (runtime/backend/cpu/cpu_device.cpp). Sums of floats never use atomics, so their order depends only on the form and
// the type of processor. The elements of a kernel are independent of each other.

/// True if a kernel's arguments differ between ops of the same kind, so that it cannot be part of a recurring batch.
/// Such a kernel declares using Varies = void;
template <class Kernel, class = void>
constexpr bool kVaries = false;
template <class Kernel>
constexpr bool kVaries<Kernel, typename Kernel::Varies> = true;

/// Elements of a sequence. A kernel K has
///   std::int64_t count() const;
///   void operator()(std::int64_t i) const;
/// If element i uses only index i of some arrays, the kernel may name these arrays:
///   template <class Visitor> void visitArrays(Visitor& visitor);    calls visitor.read(array), .write() or .change()
/// A GPU then moves kAtOnce numbers of each array at a time.
struct EachForm {};
inline constexpr int kAtOnce = 8;

/// True if a kernel names its arrays.
struct AnyVisitor;
template <class Kernel, class = void>
constexpr bool kNamesArrays = false;
template <class Kernel>
constexpr bool kNamesArrays<Kernel, decltype(std::declval<Kernel&>().visitArrays(std::declval<AnyVisitor&>()))> = true;

/// Elements of a matrix, row by row. A kernel K has
///   std::int64_t rows() const;
///   std::int64_t columns() const;
///   void operator()(std::int64_t row, std::int64_t column) const;
/// It may name its arrays as in EachForm if element (row, column) uses only index row · columns() + column of these.
/// Arrays used only at index `column` are named with visitor.readOfColumn(array), and arrays used only at index `row`
/// with visitor.readOfRow(array). An array that may be nullptr, which stands for zeros, is named with
/// visitor.readIfAny(array).
struct GridForm {};

/// Computes sums over each row in several passes, each of which may use the totals of earlier passes,
/// and then writes each element. A kernel K has
///   std::int64_t rows() const;
///   std::int64_t terms(std::int64_t row) const;    number of terms of a sum
///   std::int64_t columns() const;                  number of elements written
///   struct State;                                  the totals of a row
///   using Part = …;                                partial sum of a pass
///   static constexpr int kPasses;
///   static Part zero(int pass);
///   Part term(int pass, std::int64_t row, std::int64_t i, const State&) const;
///   static Part combine(int pass, Part, Part);     commutative
///   void total(int pass, Part, State&) const;
///   void write(std::int64_t row, std::int64_t column, const State&) const;
///   void finish(std::int64_t row, const State&) const;    once a row
/// If every row has columns() terms, it may name the arrays of term() and write() as in GridForm. A GPU then reads each
/// element once.
struct RowForm {};
inline constexpr int kLanes = 256;

/// The distribution of a row over GPU threads: the row belongs to `lanes` threads, where lane l has the terms i with i
/// / run % lanes = l. A lane adds its terms in ascending order, and a warp adds the sums of its lanes in a butterfly
/// reduction. The sums of the warps are then added in order. The distribution depends only on the kernel's type and the
/// length of its rows.
struct RowLanes {
    int lanes;
    int run;
};
inline constexpr int kWarp = 32;
inline constexpr int kRowWarps = 4; ///< warps for a row that is too long for one warp
inline constexpr int kRowRuns = 4;  ///< maximum number of runs of kAtOnce terms that a lane keeps in registers

template <class Kernel>
RowLanes rowLanes(const Kernel& kernel) {
    if constexpr (kNamesArrays<Kernel>) {
        constexpr std::int64_t kOfWarp = std::int64_t{kWarp} * kAtOnce * kRowRuns;
        const std::int64_t columns = kernel.columns();
        if (columns % kAtOnce == 0 && columns <= kRowWarps * kOfWarp)
            return {columns <= kOfWarp ? kWarp : kRowWarps * kWarp, kAtOnce};
    }
    (void)kernel;
    return {kLanes, 1};
}

/// Sums down the columns of a matrix. On a GPU the rows are distributed over kColumnLanes threads: a lane adds up the
/// rows lane, lane + kColumnLanes, … Each warp has kColumnWarpLanes neighbouring lanes and adds up their sums with a
/// butterfly reduction; the sums of the warps are then added in order. A kernel K has
///   std::int64_t columns() const;
///   std::int64_t rows() const;
///   using Part = …;
///   static Part zero();
///   static Part combine(Part, Part);               commutative
///   Part part(std::int64_t row, std::int64_t column) const;
///   void finish(std::int64_t column, Part) const;
/// A kernel names the arrays of part() as in GridForm: a lane has kAtOnce columns.
struct ColumnForm {};
inline constexpr int kColumnLanes = 256;
inline constexpr int kColumnWarpLanes = 16;

/// Adds the rows of a matrix that belong to the same entry of a table, in row order. On a GPU each block handles one
/// entry and some columns, and visits every row once. A kernel K has
///   std::int64_t entries() const;
///   std::int64_t columns() const;
///   std::int64_t rows() const;
///   std::int64_t entryOf(std::int64_t row) const;
///   float value(std::int64_t row, std::int64_t column) const;
///   std::int64_t place(std::int64_t entry, std::int64_t column) const;    index in the two arrays:
///   float* grad;                                                          the output
///   const float* before;                                                  the sums to add to, or nullptr
struct TableForm {};

} // namespace bubblescope::runtime
