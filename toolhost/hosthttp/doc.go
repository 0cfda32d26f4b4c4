// Package hosthttp serves a tool host to runtimes over WebSocket and to clients over HTTP, as
// docs/altar.md describes the binding:
//
//	GET    /altar/v1/runtimes              a runtime's WebSocket
//	POST   /altar/v1/sessions              CreateSession → SessionCreated
//	DELETE /altar/v1/sessions/{id}         → SessionDestroyed
//	GET    /altar/v1/sessions/{id}/tools   → {"tools": […]}
//	POST   /altar/v1/sessions/{id}/calls   ToolCall → ToolResult, or StreamChunks as server-sent events
//	POST   /altar/v1/mcp                   the same contracts over the Model Context Protocol
//
// Every request needs an identity: a bearer token or a client certificate.
package hosthttp
