// Package api answers over HTTP. [Answers] computes every answer once, as a
// value; the routes write it as JSON and package web as a page, so both always
// say the same. [New] builds the handler. Only problem.go knows HTTP statuses.
package api
