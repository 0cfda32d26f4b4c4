// Package recipients tells the relay whose inbox a name is, who may read it and what evidence its
// senders have. The agents of the registry have inboxes; agents of other registries and hosts have
// them when the operator allows it. Start with [New].
package recipients
