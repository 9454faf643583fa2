#pragma once

#include "core/base/result.h"
#include "core/schedule/op.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope {

/// The SEND and RECV cells of a PyTorch schedule file, and where its ops stand, to see that they fit together: every
/// op whose input another rank makes is preceded by one RECV, and its producer followed by one SEND. PyTorch does
/// not check this; the job hangs. A file without such cells leaves transfers to whoever runs it, and fits.
class CsvTransfers {
public:
    /// Takes a cell such as 1RECV_F0: stage 1 receives what its forward of micro-batch 0 needs; the sender's cell is
    /// 0SEND_F0. False for cells of another kind. `row` and `column` count from 0.
    bool takeCell(std::string_view cell, std::size_t row, std::size_t column);
    void takeOp(const Op& op, std::int32_t stage, std::size_t row, std::size_t column);

    /// Errors: Input, with line and column, for the first cell that is missing, double, misplaced or of no op.
    [[nodiscard]] Status check(const std::string& where) const;

private:
    struct Key {
        bool forward = true;
        std::int32_t stage = 0;
        std::int32_t microbatch = 0;
        friend auto operator<=>(const Key&, const Key&) = default;
    };
    struct Place {
        std::size_t row = 0;
        std::size_t column = 0;
        bool twice = false;
    };
    using Places = std::map<Key, Place>;
    static void put(Places& places, const Key& key, std::size_t row, std::size_t column);
    [[nodiscard]] Status checkCells(const Places& ops, bool send, const std::string& where) const;
    [[nodiscard]] Status checkOp(const Places& ops, const Key& key, const std::string& where) const;

    std::vector<std::pair<Key, Place>> ops_; ///< found by key only where the file has such cells
    Places sends_;
    Places receives_;
};

} // namespace bubblescope
