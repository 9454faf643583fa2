#pragma once

#include <string_view>

namespace bubblescope {

/// The table of rules that come with the program, in the form of users' own files.
extern const std::string_view kBuiltinRules;

} // namespace bubblescope
