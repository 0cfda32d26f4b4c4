// Package api answers over HTTP. [Answers] computes every answer once, as a
// value; the routes write it as JSON and package web as a page, so both always
// say the same. Begin with [New], which builds the handlers from [Options], and
// routes.go, which declares every public route; agents*.go and registry_*.go have
// those of the AIR registry, admin.go those of the owner's Unix socket.
//
// A request passes, in this order:
//
//	Server          time and size limits of the connection   server.go
//	logged          one line, without anything of the client  access.go
//	answerFromCache      what is kept of answers                    keep.go
//	buffered        tag, 304, gzip, HEAD                       reply.go
//	bounded         time limit, headers of every answer        access.go
//	recovered       a panic becomes a 500                      access.go
//	strict          parameters, by the OpenAPI schemas         parameters.go
//	the handler     which calls Answers                        routes.go, agents.go, admin.go
//
// Only problem.go knows HTTP statuses of errors: every refusal and failure
// becomes a [Problem] there. Bodies are read by the strict reader of package
// protocol, never by gin or huma.
package api
