// Package air has the routes of the agent registry. They use the paths, members and error words of the
// AIR reference, with additional members, so that its published clients work unchanged; docs/air.md
// lists the differences. Start with [New], then [Routes.Declare] for the public routes and
// [Routes.DeclareOperator] for the routes of the operator.
//
// Handlers read the request, call the registry or package answer, and return a value. They decide
// nothing about agents.
package air
