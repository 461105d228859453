# Lines of a client with a handshake, and of one without.
server() { rocm-perf mcp | sed 's/"version":"[0-9.]*"/"version":"V"/'; }
{
    echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"golden","version":"1"}}}'
    echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    echo '{"jsonrpc":"2.0","id":2,"method":"ping"}'
    echo '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"profile","arguments":{"runs":0,"program":"x"}}}'
    echo '{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"profil","arguments":{}}}'
    echo '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"profile","arguments":{"runz":1,"program":"x"}}}'
    echo 'what?'
} | server
echo '{"jsonrpc":"2.0","id":"d","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}' | server
