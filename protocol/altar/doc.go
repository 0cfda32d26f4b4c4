// Package altar has the messages, the type system and the tool contracts of the Altar protocol 1.0.0
// (Agent & Tool Arbitration Protocol): what a Host, its Runtimes and its Clients say to each other.
//
//	Client               Host                              Runtime
//	  │                    │◀── AnnounceRuntime ──────────────│
//	  │                    │─── AcknowledgeRuntime ──────────▶│
//	  │                    │─── RequestFulfillment ──────────▶│
//	  │                    │◀── FulfillTools ─────────────────│
//	  │── CreateSession ──▶│                                  │
//	  │── ToolCall ───────▶│─── ToolCall ────────────────────▶│
//	  │                    │◀── StreamChunk … or ToolResult ──│
//	  │◀─ ToolResult ──────│                                  │
//	  │── DestroySession ─▶│─── CancelCall (what still runs) ▶│
//
// The draft leaves the transport open and names several things without a schema. The binding that
// this package reads and writes is in docs/altar.md: frames are flat JSON objects with the member
// type, RequestFulfillment, CancelCall, ProtocolError, SessionCreated, SessionDestroyed and
// SecurityContext have the fields that stand here.
//
// Start with [ReadMessage] and [Encode] for frames, with [Contract] for tools, and with
// [Contract.CheckParameters] for the values of a call.
package altar
