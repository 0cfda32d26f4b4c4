// Package aidiscovery reads AI Discovery documents, version 1.0
// (draft-aiendpoint-ai-discovery-00): the JSON object that a service publishes
// at /.well-known/ai to tell agents what it can do.
//
// Begin with [Parse]. It returns the document in the draft's own words and the
// findings of every rule in [Rules] that can be judged from the bytes alone.
// [ParseParam] reads the small grammar of parameter descriptions (§3.3).
package aidiscovery
