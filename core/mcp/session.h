#pragma once

#include "core/base/result.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// A server for the Model Context Protocol, with one JSON-RPC 2.0 message per line.

namespace bubblescope::mcp {

/// The result of a tool call.
struct ToolAnswer {
    std::string text;    ///< must be understandable without `data`
    nlohmann::json data; ///< a JSON object
};

/// A tool that clients may call.
struct Tool {
    std::string name;
    std::string title;
    std::string about;
    /// JSON schema of an object: "required", and "properties" whose "type" is string, integer, or array of strings.
    nlohmann::json input;
    /// The `arguments` conform to the schema. An error is returned to the client, which may then call again.
    std::function<Result<ToolAnswer>(const nlohmann::json& arguments)> call;
};

class Session {
public:
    Session(std::string version, std::string instructions, std::vector<Tool> tools);

    /// Returns the response to a line from the client, without a line end; empty for notifications. The session
    /// continues after invalid lines.
    [[nodiscard]] std::optional<std::string> answer(std::string_view line);

private:
    using Json = nlohmann::json;
    [[nodiscard]] std::optional<Json> answerTo(const Json& message);
    [[nodiscard]] Json dispatch(const std::string& method, const Json& params, const Json& id);
    [[nodiscard]] Json initialize(const Json& params, const Json& id);
    [[nodiscard]] Json listTools(const Json& params, const Json& id) const;
    [[nodiscard]] Json callTool(const Json& params, const Json& id) const;

    std::string version_;
    std::string instructions_;
    std::vector<Tool> tools_;
    bool initialized_ = false;
};

} // namespace bubblescope::mcp
