# What clients of `rocm-perf mcp` are told of the tools, without the schemas of their results.
printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}' \
    '{"jsonrpc":"2.0","method":"notifications/initialized"}' '{"jsonrpc":"2.0","id":2,"method":"tools/list"}' |
    rocm-perf mcp | tail -n 1 | python3 -c '
import json, sys
tools = json.load(sys.stdin)["result"]["tools"]
for tool in tools:
    tool["outputSchema"] = "outputSchema" in tool
print(json.dumps(tools, indent=1))'
