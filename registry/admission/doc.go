// Package admission decides what a registry takes: new agents at once, after the operator's approval or
// not at all; nothing from block lists; no more than the rate limits allow. It also takes the abuse
// reports that lead the operator to a decision.
//
// Start with [Admission.Register], which reads from top to bottom as a registration happens. A [Policy]
// holds what decides. It is also the [registry.Guard] of the registry, so block lists and limits hold for
// changes of agents too.
package admission
