#pragma once

#include "runtime/model/portable.h"

namespace bubblescope::runtime {

// A kernel is a small value with pointers and sizes. It says what one thread does; a form says how threads are laid
// out. There are three, and each is executed by a GPU (runtime/backend/cuda/kernels.cu) and by a loop on the host
// (runtime/backend/accelerator/host_forms.h) with the same order of every sum, so that the maths is tested where there
// is no GPU. Sums never use atomics: their order follows from the form alone.

/// One thread per element. A kernel K has
///   std::int64_t count() const;
///   void operator()(std::int64_t i) const;
struct EachForm {};

/// kLanes threads share a row, go over it in passes and know a pass's total before the next one. A kernel K has
///   std::int64_t rows() const;
///   struct State;                         what a thread remembers; made anew for every row
///   using Part = …;                       what a pass adds up
///   static constexpr int kPasses;
///   Part part(int pass, std::int64_t row, int lane, const State&) const;
///   static Part combine(int pass, Part, Part);   commutative
///   void total(int pass, Part, State&) const;    the same total in all lanes
///   void finish(std::int64_t row, int lane, const State&) const;
/// A lane has elements lane, lane + kLanes, … of the row.
struct RowForm {};
inline constexpr int kLanes = 256;

/// Down the columns of a matrix: a column's rows are dealt out to kColumnLanes threads, whose sums are then added in
/// their order. A kernel K has
///   std::int64_t columns() const;
///   std::int64_t rows() const;
///   using Part = …;
///   static Part zero();
///   static Part combine(Part, Part);
///   Part part(std::int64_t row, std::int64_t column) const;
///   void finish(std::int64_t column, Part) const;
struct ColumnForm {};
inline constexpr int kColumnLanes = 32;

} // namespace bubblescope::runtime
