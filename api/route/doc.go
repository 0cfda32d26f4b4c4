// Package route has what all routes of the HTTP API share, so that a handler only reads its input,
// calls package answer and returns a value or an error. Begin with [New], which makes the [Mux], and
// [Handle], which declares a route.
//
// A request passes, in this order:
//
//	NewServer            time and size limits of the connection   server.go
//	StrictLines          header lines as RFC 9112 has them         strictlines.go
//	ServeTLS             the same on encrypted connections         tls.go
//	logRequest           one line, without a client's text         middleware.go
//	answerFromCache      a cached response                         responsecache.go
//	bufferResponse       ETag, 304, gzip, HEAD                     response.go
//	applyRoutePolicy     what the table of routes says             middleware.go
//	recoverPanic         a panic becomes a 500                     middleware.go
//	validateParameters   parameters, by the OpenAPI schemas        parameters.go
//	the handler
//
// The table of routes is in table.go, the table of problems and the statuses of all errors are in
// problem.go and errors_*.go.
package route
