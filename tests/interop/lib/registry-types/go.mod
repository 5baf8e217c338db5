module callgate/registry-types

go 1.26.0

require github.com/modelcontextprotocol/registry v1.8.9
