// Package toolhost is an Altar Host, Level 1 and 2: it holds the contracts of the operator, the
// runtimes that execute them and the sessions of clients, and carries calls between the two.
//
// Start with [Open]. A transport attaches runtimes with [Host.Attach] and hands their frames to
// [Runtime.Receive]; it serves clients with [Host.CreateSession], [Host.Call] and [Host.Tools]. Package
// hosthttp is that transport; httpruntime is a runtime inside the program that calls services over
// HTTP.
//
// A call passes these steps, and ends at the first that refuses it:
//
//	session      it is the client's own and has not expired       SESSION_INVALID
//	policy       the contract allows the client in this session   AUTHORIZATION_FAILED
//	idempotency  the invocation id is new, or its call is the same INVALID_PARAMETERS
//	contract     it exists and a runtime fulfills it               TOOL_NOT_FOUND
//	parameters   they fit the contract and its JSON Schema        INVALID_PARAMETERS
//	confirmation an irreversible call is confirmed                AUTHORIZATION_FAILED
//	quota        of the client and the tool                       AUTHORIZATION_FAILED
//	runtime      one is connected                                 RUNTIME_UNAVAILABLE
//
// Contracts live in the store, below contract/. Identities and the audit trail of calls have files of
// their own in the data directory: credentials, and entries for every call, do not belong into the
// log. Sessions, runtimes and running calls are in memory, so a restart leaves none half open.
package toolhost
