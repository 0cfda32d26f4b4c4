package altar

import (
	"cmp"
	"encoding/json"
	"time"
)

// A Message is a message of section 5, or one that our binding adds.
type Message interface {
	// MessageType returns the name of the message, which is the member type of its frame.
	MessageType() string
}

// AnnounceRuntime is the first message of a runtime (section 5.1).
type AnnounceRuntime struct {
	RuntimeID       string   `json:"runtime_id"`
	Language        string   `json:"language,omitempty"`
	ProtocolVersion string   `json:"protocol_version"`
	Capabilities    []string `json:"capabilities,omitzero"`
}

// Streaming is the capability of a runtime to answer with StreamChunks.
const Streaming = "streaming"

// AcknowledgeRuntime is the Host's answer to AnnounceRuntime.
type AcknowledgeRuntime struct {
	HostID          string `json:"host_id"`
	ProtocolVersion string `json:"protocol_version"`
}

// RequestFulfillment asks a runtime which contracts it can execute: of all sessions, or of one.
type RequestFulfillment struct {
	SessionID string   `json:"session_id,omitempty"`
	ToolNames []string `json:"tool_names,omitempty"`
}

// FulfillTools lists the contracts that a runtime can execute. It replaces the previous list for
// the same session; without a session it applies to every session.
type FulfillTools struct {
	SessionID string   `json:"session_id,omitempty"`
	ToolNames []string `json:"tool_names"`
}

// ToolCall is a call, from a client to the Host and from the Host to a runtime (section 5.2).
type ToolCall struct {
	InvocationID string          `json:"invocation_id"`
	SessionID    string          `json:"session_id,omitempty"`
	ToolName     string          `json:"tool_name"`
	Parameters   json.RawMessage `json:"parameters"`
	// Values are the Parameters as [ReadValue] returns them; nil when they have not been read.
	Values any `json:"-"`
	// TimeoutMS is the time left in milliseconds. Only the Host sends it, to a runtime.
	TimeoutMS int64 `json:"timeout_ms,omitempty"`
	// ClientInvocationID is the InvocationID that the client chose: a call that it tries again has the
	// same one in the same session. Only the Host sends it, to a runtime.
	ClientInvocationID string `json:"client_invocation_id,omitempty"`
	// Confirmation confirms an irreversible call. Only a client sends it, to the Host.
	Confirmation string `json:"confirmation,omitempty"`
}

// The statuses of a ToolResult.
const (
	Success = "success"
	Failure = "error"
)

// ToolResult is the outcome of a call.
type ToolResult struct {
	InvocationID    string          `json:"invocation_id"`
	Status          string          `json:"status"`
	Payload         json.RawMessage `json:"payload,omitempty"`
	Error           *Error          `json:"error,omitempty"`
	RuntimeMetadata json.RawMessage `json:"runtime_metadata,omitempty"`
}

// StreamChunk is a part of the outcome of a streaming call.
type StreamChunk struct {
	InvocationID string          `json:"invocation_id"`
	ChunkID      int64           `json:"chunk_id"`
	Payload      json.RawMessage `json:"payload,omitempty"`
	Error        *Error          `json:"error,omitempty"`
	IsFinal      bool            `json:"is_final"`
}

// CancelCall tells a runtime to stop a call that no client waits for.
type CancelCall struct {
	InvocationID string `json:"invocation_id"`
	Reason       string `json:"reason,omitempty"`
}

// CreateSession asks for a session (section 5.3).
type CreateSession struct {
	SessionID       string           `json:"session_id,omitempty"`
	TTLSeconds      *int64           `json:"ttl_seconds,omitempty"`
	SecurityContext *SecurityContext `json:"security_context,omitempty"`
}

// SecurityContext names the principal of a session. The draft mentions it without a schema.
type SecurityContext struct {
	PrincipalID string         `json:"principal_id,omitempty"`
	TenantID    string         `json:"tenant_id,omitempty"`
	Claims      map[string]any `json:"claims,omitempty"`
}

// SessionCreated is the Host's answer to CreateSession.
type SessionCreated struct {
	SessionID  string    `json:"session_id"`
	TTLSeconds int64     `json:"ttl_seconds"`
	ExpiresAt  time.Time `json:"expires_at"`
}

// DestroySession ends a session.
type DestroySession struct {
	SessionID string `json:"session_id"`
}

// SessionDestroyed is the Host's answer to DestroySession.
type SessionDestroyed struct {
	SessionID string `json:"session_id"`
}

// ProtocolError is an error outside of a call. InReplyTo is the id of the message that it answers
// (an invocation or a session), or the type of the frame.
type ProtocolError struct {
	Error     *Error `json:"error"`
	InReplyTo string `json:"in_reply_to,omitempty"`
}

// ReplyID returns the in_reply_to of an answer to a message: the id of its invocation, else of its
// session, else its type.
func ReplyID(m Message) string {
	invocation, session := "", ""
	switch m := m.(type) {
	case ToolCall:
		invocation, session = m.InvocationID, m.SessionID
	case ToolResult:
		invocation = m.InvocationID
	case StreamChunk:
		invocation = m.InvocationID
	case CancelCall:
		invocation = m.InvocationID
	case RequestFulfillment:
		session = m.SessionID
	case FulfillTools:
		session = m.SessionID
	case CreateSession:
		session = m.SessionID
	case SessionCreated:
		session = m.SessionID
	case DestroySession:
		session = m.SessionID
	case SessionDestroyed:
		session = m.SessionID
	}
	return cmp.Or(invocation, session, m.MessageType())
}

// The types of the messages, by which they implement [Message].

func (AnnounceRuntime) MessageType() string    { return "AnnounceRuntime" }
func (AcknowledgeRuntime) MessageType() string { return "AcknowledgeRuntime" }
func (RequestFulfillment) MessageType() string { return "RequestFulfillment" }
func (FulfillTools) MessageType() string       { return "FulfillTools" }
func (ToolCall) MessageType() string           { return "ToolCall" }
func (ToolResult) MessageType() string         { return "ToolResult" }
func (StreamChunk) MessageType() string        { return "StreamChunk" }
func (CancelCall) MessageType() string         { return "CancelCall" }
func (CreateSession) MessageType() string      { return "CreateSession" }
func (SessionCreated) MessageType() string     { return "SessionCreated" }
func (DestroySession) MessageType() string     { return "DestroySession" }
func (SessionDestroyed) MessageType() string   { return "SessionDestroyed" }
func (ProtocolError) MessageType() string      { return "ProtocolError" }
