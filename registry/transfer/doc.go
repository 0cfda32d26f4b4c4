// Package transfer moves agents: [Transfer.Export] writes an agent with its whole history as lines
// of JSON, [Transfer.Import] verifies such an export and stores it in another registry, and
// [Transfer.Merge] ends an agent in favor of another one of the same owner.
package transfer
