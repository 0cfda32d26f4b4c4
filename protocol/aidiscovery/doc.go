// Package aidiscovery reads AI Discovery documents, version 1.0 (draft-aiendpoint-ai-discovery-00):
// the JSON object that a service publishes at /.well-known/ai to describe to agents what it can do.
//
// Begin with [Parse]. It returns the document in the draft's terms and the findings of every rule
// in [Rules] that can be judged from the bytes alone. [Transport] judges how the document was
// served, from an [Exchange] that the fetching code fills in. [Rules] explains every rule with an
// example.
//
// [ParseParam] reads the small grammar of parameter descriptions (§3.3) in the three dialects in
// use, and [Param.String] writes the draft's. [Savings] lists what makes a document cost its
// readers fewer tokens. [Schema] is for editors.
package aidiscovery
