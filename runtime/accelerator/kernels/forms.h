#pragma once

#include "runtime/accelerator/kernels/portable.h"

namespace bubblescope::runtime {

// A kernel is a small value with pointers and sizes that defines the computation of one element. A form defines how the
// elements are distributed; there are five. A GPU assigns each element to a thread (runtime/backend/cuda/kernels.cu), a
// CPU processes them in vectorised loops (runtime/backend/cpu/cpu_device.cpp). Sums of floats never use atomics: their
// order follows from the form and the processor alone. The elements of a kernel are independent of each other.

/// Whether a kernel's arguments are others in each op of a kind, so that it cannot be part of a batch that recurs: it
/// has
///   using Varies = void;
template <class Kernel, class = void>
constexpr bool kVaries = false;
template <class Kernel>
constexpr bool kVaries<Kernel, typename Kernel::Varies> = true;

/// Elements of a sequence. A kernel K has
///   std::int64_t count() const;
///   void operator()(std::int64_t i) const;
/// If element i concerns nothing but place i of some arrays, it may name these:
///   template <class Visitor> void visitArrays(Visitor& visitor);    calls visitor.read(array), .write() or .change()
/// A GPU then moves kAtOnce numbers of each array at a time.
struct EachForm {};
inline constexpr int kAtOnce = 8;

/// Elements of a matrix, row by row. A kernel K has
///   std::int64_t rows() const;
///   std::int64_t columns() const;
///   void operator()(std::int64_t row, std::int64_t column) const;
struct GridForm {};

/// Sums over each row in several passes, where a pass may use the totals of earlier ones, then a write of each element.
/// A kernel K has
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
/// On a GPU kLanes threads share a row: a lane has the terms lane, lane + kLanes, … of it.
struct RowForm {};
inline constexpr int kLanes = 256;

/// Sums down the columns of a matrix. On a GPU the rows of a column are distributed over kColumnLanes threads, whose
/// sums are then added in thread order. A kernel K has
///   std::int64_t columns() const;
///   std::int64_t rows() const;
///   using Part = …;
///   static Part zero();
///   static Part combine(Part, Part);
///   Part part(std::int64_t row, std::int64_t column) const;
///   void finish(std::int64_t column, Part) const;
struct ColumnForm {};
inline constexpr int kColumnLanes = 32;

/// Adds the rows of a matrix that belong to the same entry of a table, in row order. On a GPU a block owns an entry and
/// some columns, and looks at every row once. A kernel K has
///   std::int64_t entries() const;
///   std::int64_t columns() const;
///   std::int64_t rows() const;
///   std::int64_t entryOf(std::int64_t row) const;
///   float value(std::int64_t row, std::int64_t column) const;
///   float& sum(std::int64_t entry, std::int64_t column) const;    the output
///   bool accumulate;                                              adds to the previous content
struct TableForm {};

} // namespace bubblescope::runtime
