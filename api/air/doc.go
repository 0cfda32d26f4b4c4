// Package air contains the routes of the agent registry. Their paths, members and error words are
// those of the public reference of AIR, with additional members, so that its published clients work
// unchanged; docs/air.md lists the differences. Start with [New], then [Routes.Declare] for the
// public routes and [Routes.DeclareOperator] for those of the operator.
//
// Handlers read the request, call the registry or package answer, and return a value. They decide
// nothing about agents.
package air
