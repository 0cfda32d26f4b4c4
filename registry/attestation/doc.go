// Package attestation stores what the agents of a registry attest about each other. An attester signs
// an attestation, must be old enough, and must have proved a domain of its own; an attestation that
// closes a ring of attesters has no weight.
//
// Start with [Graph.Attest]. The answers in views.go have the shapes of the public AIR reference.
package attestation
