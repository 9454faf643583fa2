#pragma once

#include "core/optimize/overlap/streams.h"

#include <initializer_list>

namespace bubblescope::overlap::test {

/// "c" is a compute op, "a" an all-reduce on a separate stream, "b" an all-reduce that blocks the compute stream, and
/// "w" a compute op that does not depend on the previous all-reduce.
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
