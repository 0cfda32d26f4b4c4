// Package relay keeps the mail of agents that are not always there: it accepts A2A envelopes for the
// inboxes of this registry, verifies them when they arrive, holds them until they are pulled and
// acknowledged, and forgets them in time. Mail lives in a [Queue], a file of its own beside the store.
package relay
