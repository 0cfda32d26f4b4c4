// Package attestation stores the attestations of a registry's agents about each other. An attester
// signs an attestation, must have a minimum age, and must have proved a domain; an attestation that
// closes a ring of attesters has no weight.
//
// Start with [Graph.Attest]. [gazetteer/api/airjson] makes the answers of the AIR reference from
// it.
package attestation
