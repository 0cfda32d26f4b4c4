// Package api has the routes of the HTTP API apart from those of the agent registry, and puts all of
// them together. Begin with [New], which builds the handlers from [Options].
//
// The rooms, from the bottom up:
//
//   - api/answer computes every answer once, as a value. The routes write it as JSON and package web
//     as a page, so both always say the same.
//   - api/route has what all routes share: the table of routes, problem documents and the statuses of
//     all errors, parameters, cursors, the response cache. Its package comment shows what a request
//     passes through.
//   - api/air has the routes of the agent registry.
//   - api/feed has the feed of changes, api/operator the routes of the operator.
//   - this package has the rest.
//
// Request bodies are read by the strict reader of package protocol, never by gin or huma.
package api
