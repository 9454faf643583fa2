#pragma once

#include "core/base/sentence.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace bubblescope {

/// Request inputs that messages can name, in alphabetical order.
inline constexpr std::array<std::string_view, 89> kFields{
    "aadiff",
    "aadiff_memory",
    "activation_bytes",
    "activation_sizes",
    "all",
    "all_reduce",
    "backend",
    "backward",
    "bandwidth",
    "batch",
    "certificate",
    "clocks",
    "comm",
    "comm_streams",
    "communication_choices",
    "communicators",
    "compare",
    "csv",
    "eager",
    "encoders",
    "first_less",
    "flavor",
    "for",
    "force",
    "forward",
    "from",
    "gradient_bytes",
    "group_size",
    "heads",
    "if",
    "in_parts",
    "inject",
    "input_grad",
    "input_share",
    "insecure",
    "json",
    "keep_size",
    "key",
    "last_less",
    "layers",
    "links",
    "loss",
    "lower",
    "max_active_stages",
    "max_error",
    "max_outstanding_sends",
    "memory_budget",
    "memory_limit",
    "memory_model",
    "memory_preset",
    "mesh",
    "mesh_order",
    "microbatches",
    "noise",
    "op_costs",
    "op_times",
    "ops",
    "orders",
    "overlap_pairs",
    "overlapped",
    "pair_cuts",
    "placement",
    "pp",
    "preset",
    "rank",
    "rank_of",
    "reduce_grad",
    "replica",
    "rounds",
    "rules",
    "schedule",
    "schedule_file",
    "second",
    "second_microbatches",
    "sends",
    "sequence",
    "sequence_slices",
    "stage_times",
    "step",
    "steps",
    "thresholds",
    "timeout",
    "times_of",
    "token_file",
    "tp",
    "unshard",
    "unshard_lookahead",
    "vpp",
    "weight_grad",
};

/// Names an input of a request in a message, for example usageError("…", fmt::format("give {}, or use 1f1b",
/// Field("vpp").is(2))). Each user interface displays fields in its own way: "--vpp 2" on the command line, the label
/// of the input in the app, "vpp=2" in Python. Names that are not in kFields do not compile.
class Field {
public:
    consteval explicit Field(std::string_view name) : index_(indexOf(name)) {}

    [[nodiscard]] constexpr std::size_t index() const { return index_; } ///< in kFields
    [[nodiscard]] constexpr std::string_view name() const { return kFields[index_]; }

    /// Text in the form used by this process's user interface.
    [[nodiscard]] std::string_view text() const;
    /// Text including a value, such as "--vpp 2".
    template <class Value>
    [[nodiscard]] std::string is(const Value& value) const {
        return with(fmt::format("{}", value));
    }
    /// The name as an argument for say(), so that it is translated.
    [[nodiscard]] Sentence term() const { return Sentence::term(text()); }

    friend constexpr bool operator==(Field, Field) = default;

private:
    static void thereIsNoSuchField() {} // not constexpr, so that a call fails to compile
    static consteval std::uint8_t indexOf(std::string_view name) {
        for (std::size_t at = 0; at < kFields.size(); ++at) {
            if (kFields[at] == name) return static_cast<std::uint8_t>(at);
        }
        thereIsNoSuchField();
        return 0;
    }
    [[nodiscard]] std::string with(std::string_view value) const;

    std::uint8_t index_;
};

/// The format in which a user interface displays fields.
struct FieldWords {
    std::string_view (*name)(Field); ///< the returned text must live until the program exits
    std::string_view before_value;   ///< separator between the name and a value
};

/// Call once at start-up, before any thread is started; a process has a single user interface. Before this call, fields
/// are displayed as "vpp" and "vpp=2".
void setFieldWords(const FieldWords& words);

/// The name of the command-line option, such as "--memory-limit". Used in messages of the command line and in commands
/// that users copy into a shell.
[[nodiscard]] std::string_view optionOf(Field field);
/// The option with its value, such as "--if comm=0".
[[nodiscard]] std::string optionOf(Field field, std::string_view value);

} // namespace bubblescope

template <>
struct fmt::formatter<bubblescope::Field> : fmt::formatter<std::string_view> {
    template <class Context>
    auto format(bubblescope::Field field, Context& context) const {
        return fmt::formatter<std::string_view>::format(field.text(), context);
    }
};
