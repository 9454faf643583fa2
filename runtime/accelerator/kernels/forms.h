#pragma once

#include "runtime/accelerator/kernels/portable.h"

namespace bubblescope::runtime {

// A kernel is a small value with pointers and sizes. It says what is done for one element; a form says how the elements
// are shared out. There are five. A GPU gives each element a thread (runtime/backend/cuda/kernels.cu), a CPU goes over
// them in loops that its compiler vectorises (runtime/backend/cpu/forms.h). Sums never use atomics: their order follows
// from the form and the processor alone. Elements of one kernel do not depend on each other.

/// Elements in a line. A kernel K has
///   std::int64_t count() const;
///   void operator()(std::int64_t i) const;
struct EachForm {};

/// Elements of a matrix, row by row. A kernel K has
///   std::int64_t rows() const;
///   std::int64_t columns() const;
///   void operator()(std::int64_t row, std::int64_t column) const;
struct GridForm {};

/// Sums over each row, in passes of which each knows the totals of those before it, then elements that are written. A
/// kernel K has
///   std::int64_t rows() const;
///   std::int64_t terms(std::int64_t row) const;    how many a sum has
///   std::int64_t columns() const;                  how many elements are written
///   struct State;                                  the totals of a row
///   using Part = …;                                what a pass adds up
///   static constexpr int kPasses;
///   static Part zero(int pass);
///   Part term(int pass, std::int64_t row, std::int64_t i, const State&) const;
///   static Part combine(int pass, Part, Part);     commutative
///   void total(int pass, Part, State&) const;
///   void write(std::int64_t row, std::int64_t column, const State&) const;
///   void finish(std::int64_t row, const State&) const;    once a row
/// On a GPU kLanes threads share a row: a lane has the terms lane, lane + kLanes, … of it.
struct RowForm {};
inline constexpr int kLanes = 256;

/// Sums down the columns of a matrix. On a GPU a column's rows are dealt out to kColumnLanes threads, whose sums are
/// then added in their order. A kernel K has
///   std::int64_t columns() const;
///   std::int64_t rows() const;
///   using Part = …;
///   static Part zero();
///   static Part combine(Part, Part);
///   Part part(std::int64_t row, std::int64_t column) const;
///   void finish(std::int64_t column, Part) const;
struct ColumnForm {};
inline constexpr int kColumnLanes = 32;

/// Adds up the rows of a matrix that belong to the same entry of a table, in their order. On a GPU a thread owns an
/// entry's column. A kernel K has
///   std::int64_t entries() const;
///   std::int64_t columns() const;
///   std::int64_t rows() const;
///   std::int64_t entryOf(std::int64_t row) const;
///   float value(std::int64_t row, std::int64_t column) const;
///   float& sum(std::int64_t entry, std::int64_t column) const;    where it is written
///   bool accumulate;                                              adds to what is there
struct TableForm {};

} // namespace bubblescope::runtime
