// Package registrar puts the parts of a registry together. A [Registrar] has the methods of all of
// them; [New] makes one, and [Registrar.Run] does what is due without a request: it checks evidence
// again and deletes what has expired.
//
// The tests of the parts are here, because they go through the registry that callers use.
package registrar
