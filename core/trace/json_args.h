#pragma once

#include "core/trace/args.h"

namespace bubblescope {

/// The fields of a JSON object; those that are damaged are left out. Numbers that are whole and fit are whole, the
/// others real; nested values and numbers that fit neither are kept as text; bytes that are no UTF-8 become '?'. Safe
/// from any thread.
[[nodiscard]] std::vector<Arg> parseJsonArgs(std::string_view object);

/// One field of a JSON object; the first that is not damaged if there are several of the name.
[[nodiscard]] std::optional<ArgValue> findJsonArg(std::string_view object, std::string_view name);

/// The reverse: a JSON object in one line. Bytes that are no UTF-8 become the replacement character, numbers that JSON
/// does not have texts.
[[nodiscard]] std::string argsToJson(const std::vector<Arg>& args);

/// A text as a JSON string, with its quotes; bytes that are no UTF-8 become the replacement character.
[[nodiscard]] std::string quotedJson(std::string_view text);

} // namespace bubblescope
