// Package admission decides which agents a registry accepts: at once, after the operator's approval
// or not at all; none with a value on a block list; no more than the rate limits allow. It also
// accepts the abuse reports on which the operator decides.
//
// Start with [Admission.Register], which reads from top to bottom in the order of a registration. A
// [Policy] holds the rules. It is also the [registry.AdmissionPolicy] of the registry, so block
// lists and limits apply to changes of agents, too.
//
//	admission.go     the constructor and its options
//	register.go      a registration, step by step
//	policy.go        open, after approval or closed
//	bans.go          block lists: keys, handles, domains, networks
//	limits.go        rates, and the proof of work under load; counter.go and known.go count for it
//	applications.go  registrations that wait for the operator
//	reports.go       reports of abuse
//	earlier.go       the same registration, sent again
//
// A new condition for registrations is a step in Admission.register; one that must also hold for
// changes of agents belongs into [Policy.CheckAgent]. The design document has the whole walk.
package admission
