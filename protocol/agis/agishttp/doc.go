// Package agishttp is the HTTP transitional binding of AGIS (§10.1): a client
// that speaks HTTP names the AGIS method of a request in a header, and the
// HTTP method still governs the transport only.
//
//	POST /reservation HTTP/1.1
//	X-AGIS-Method: BOOK                       what is to be done
//	X-AGIS-Grammar: AGIS/1.0                  by which grammar; 1.0 when absent
//	X-AGIS-Namespace: acme-reservations       whose verb it is; optional
//
// Begin with [New], which wraps an [http.Handler]. It judges the method by
// passes 2 and 3 of §9.1, as the AGTP transport does for its own requests, and
// passes the result on in the context: see [FromContext]. With an AGIS document
// it also finds the endpoint that is meant. A request without these headers is
// passed on unchanged, unless [Options.Required] is set.
//
// A refusal is a [Problem], application/problem+json of RFC 9457. AGTP has the
// status 454 Grammar Violation for it (§9.2), which HTTP does not know: the
// status here is 400.
package agishttp
