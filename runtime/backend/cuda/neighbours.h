#pragma once

#include "runtime/accelerator/kernels/forms.h"
#include "runtime/backend/cuda/unroll.h"

#include <cstring>
#include <type_traits>

namespace bubblescope::runtime {

// Access to kAtOnce neighbouring numbers of each array that a kernel names (see EachForm). The numbers are moved
// between memory and a thread's registers 16 bytes at a time, and the kernel computes on the registers. If an array is
// not aligned for that, its numbers are moved one by one. The arithmetic uses the same code in both cases, so the
// results are bit-identical.

/// True if all arrays can be accessed 16 bytes at a time.
struct ArraysAligned {
    bool all = true;

    template <class T>
    BUBBLESCOPE_PORTABLE void read(T* array) {
        all = all && reinterpret_cast<std::uintptr_t>(array) % 16 == 0;
    }
    template <class T>
    BUBBLESCOPE_PORTABLE void readIfAny(T* array) {
        read(array);
    }
    template <class T>
    BUBBLESCOPE_PORTABLE void write(T* array) {
        read(array);
    }
    template <class T>
    BUBBLESCOPE_PORTABLE void change(T* array) {
        read(array);
    }
    template <class T>
    BUBBLESCOPE_PORTABLE void readOfColumn(T* array) {
        read(array);
    }
    template <class T>
    BUBBLESCOPE_PORTABLE void readOfRow(T* /*array*/) {}
};
template <class Kernel>
[[nodiscard]] bool arraysAligned(Kernel kernel) {
    ArraysAligned aligned;
    kernel.visitArrays(aligned);
    return aligned.all;
}

template <class T>
struct alignas(16) Neighbours {
    T values[kAtOnce];
};

/// The same numbers as words, the unit in which they are moved. Without this type, the compiler would split every word
/// into 16-bit numbers where different loads meet.
template <class T>
struct NeighboursWords {
    struct __attribute__((may_alias, aligned(16))) Access {
        std::uint32_t words[4];
    };
    static constexpr int kAccesses = sizeof(Neighbours<T>) / sizeof(Access);
    Access accesses[kAccesses];
};

/// The numbers starting at `from`; numbers at or beyond `count` are 0 and are not accessed.
template <class T>
__device__ NeighboursWords<T> fetchNeighbours(const T* from, bool wide, int count = kAtOnce) {
    using Words = NeighboursWords<T>;
    Words result;
    if (wide) {
        BUBBLESCOPE_UNROLL
        for (int i = 0; i < Words::kAccesses; ++i)
            result.accesses[i] = reinterpret_cast<const typename Words::Access*>(from)[i];
        return result;
    }
    Neighbours<T> values;
    BUBBLESCOPE_UNROLL
    for (int i = 0; i < kAtOnce; ++i)
        values.values[i] = i < count ? from[i] : T{};
    memcpy(&result, &values, sizeof result);
    return result;
}

/// Space for the neighbours in several arrays, which the compiler keeps in registers.
struct NeighboursRoom {
    static constexpr int kArrays = 5;
    alignas(16) unsigned char bytes[kArrays][sizeof(Neighbours<float>)];

    template <class T>
    __device__ Neighbours<std::remove_const_t<T>>& of(int array) {
        return *reinterpret_cast<Neighbours<std::remove_const_t<T>>*>(bytes[array]);
    }
    template <class T>
    __device__ void put(int array, const NeighboursWords<T>& words) {
        memcpy(bytes[array], &words, sizeof words);
    }
};

/// Visits a kernel's arrays without any effect; visitors that handle only some arrays inherit these functions for the
/// others.
struct PassOverArrays {
    int used = 0; ///< index of the next free register

    template <class T>
    __device__ void read(T*& /*array*/) {
        ++used;
    }
    template <class T>
    __device__ void readIfAny(T*& /*array*/) {
        ++used;
    }
    template <class T>
    __device__ void write(T*& /*array*/) {
        ++used;
    }
    template <class T>
    __device__ void change(T*& /*array*/) {
        ++used;
    }
    template <class T>
    __device__ void readOfColumn(T*& /*array*/) {
        ++used;
    }
    template <class T>
    __device__ void readOfRow(T*& /*array*/) {}
};

/// Fills registers with the elements that a kernel reads, starting at index `at` of its arrays.
struct FetchElements : PassOverArrays {
    NeighboursRoom& room;
    std::int64_t at;
    bool wide; ///< true to access 16 bytes at a time
    int count;

    __device__ FetchElements(NeighboursRoom& into, std::int64_t from, bool by_16_bytes, int there = kAtOnce)
        : room(into), at(from), wide(by_16_bytes), count(there) {}

    template <class T>
    __device__ void read(T*& array) {
        room.put(used++, fetchNeighbours<std::remove_const_t<T>>(array + at, wide, count));
    }
    template <class T>
    __device__ void readIfAny(T*& array) {
        NeighboursWords<std::remove_const_t<T>> words{};
        if (array != nullptr) words = fetchNeighbours<std::remove_const_t<T>>(array + at, wide, count);
        room.put(used++, words);
    }
    template <class T>
    __device__ void change(T*& array) {
        read(array);
    }
};

/// Fills registers with the per-column data that a kernel reads, starting at `column`.
struct FetchColumns : PassOverArrays {
    NeighboursRoom& room;
    std::int64_t column;
    bool wide;

    __device__ FetchColumns(NeighboursRoom& into, std::int64_t from, bool by_16_bytes = true)
        : room(into), column(from), wide(by_16_bytes) {}

    template <class T>
    __device__ void readOfColumn(T*& array) {
        room.put(used++, fetchNeighbours<std::remove_const_t<T>>(array + column, wide));
    }
};

/// Points a kernel's arrays at registers, so that index 0 is the first element read.
struct PointToRoom {
    NeighboursRoom& room;
    std::int64_t row = 0;
    int used = 0;

    template <class T>
    __device__ void read(T*& array) {
        array = room.of<T>(used++).values;
    }
    template <class T>
    __device__ void readIfAny(T*& array) {
        read(array);
    }
    template <class T>
    __device__ void write(T*& array) {
        read(array);
    }
    template <class T>
    __device__ void change(T*& array) {
        read(array);
    }
    template <class T>
    __device__ void readOfColumn(T*& array) {
        read(array);
    }
    template <class T>
    __device__ void readOfRow(T*& array) {
        array += row;
    }
};

/// Writes the elements that a kernel has changed back to its arrays.
struct PutElements : PassOverArrays {
    NeighboursRoom& room;
    std::int64_t at;
    bool wide;

    __device__ PutElements(NeighboursRoom& from, std::int64_t to, bool by_16_bytes = true)
        : room(from), at(to), wide(by_16_bytes) {}

    template <class T>
    __device__ void write(T*& array) {
        const Neighbours<T>& from = room.of<T>(used++);
        if (wide) {
            *reinterpret_cast<Neighbours<T>*>(array + at) = from;
            return;
        }
        BUBBLESCOPE_UNROLL
        for (int i = 0; i < kAtOnce; ++i)
            array[at + i] = from.values[i];
    }
    template <class T>
    __device__ void change(T*& array) {
        write(array);
    }
};

/// Returns a copy of the kernel after `visitor` has visited its arrays.
template <class Kernel, class Visitor>
__device__ Kernel visited(Kernel kernel, Visitor visitor) {
    kernel.visitArrays(visitor);
    return kernel;
}

} // namespace bubblescope::runtime
