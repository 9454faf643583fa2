#pragma once

#include "core/optimize/overlap/streams.h"

#include <initializer_list>

namespace bubblescope::overlap::test {

/// "c" a compute op, "a" an all-reduce on its own stream, "b" one that blocks the compute stream, "w" a compute op
/// that does not need the all-reduce before it.
struct Item {
    char kind;
    int time;
};

inline Operators opList(std::initializer_list<Item> items) {
    Operators ops;
    for (const Item& item : items) {
        Operator op;
        op.name = std::string(1, item.kind) + std::to_string(ops.size());
        op.time = op.assumed = TimeNs{item.time};
        op.all_reduce = item.kind == 'a' || item.kind == 'b';
        op.own_stream = item.kind == 'a';
        op.waits_reduce = item.kind != 'w';
        ops.push_back(op);
    }
    return ops;
}

} // namespace bubblescope::overlap::test
