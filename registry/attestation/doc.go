// Package attestation stores what the agents of a registry attest about each other. An attester signs
// an attestation, must be old enough, and must have proved a domain of its own; an attestation that
// closes a ring of attesters has no weight.
//
// Start with [Graph.Attest]. [gazetteer/api/airjson] makes the answers of the AIR reference from it.
package attestation
