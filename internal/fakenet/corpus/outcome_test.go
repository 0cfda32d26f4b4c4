package corpus

import "testing"

// TestOutcomeOfText shows what becomes of written texts: the object is found whatever follows it.
func TestOutcomeOfText(t *testing.T) {
	for _, c := range []struct {
		does       action
		text, want string
	}{
		{creates, "Creates a webhook that is told of your messages", "The webhook is created and its identifier is returned"},
		{creates, "Creates sales invoices or purchase bills", "The sales invoices or purchase bills are created and their identifiers are returned"},
		{creates, "Likes a track", "The track is liked and the status is returned"},
		{creates, "Logs in a user", "The user is logged in and the status is returned"},
		{creates, "Adds data to a feed", "The data is added and its identifier is returned"},
		{creates, "Registers a domain and returns a token", "The domain is registered and its identifier is returned"},
		{changes, "Marks lines of an order as shipped", "The lines are marked as shipped"},
		{changes, "Changes the temperature a thermostat keeps", "The temperature is changed"},
		{changes, "Sends, voids or changes a draft envelope", "The request is carried out and its status is returned"},
		{ends, "Cancels a booked or reserved appointment", "The booked or reserved appointment is cancelled"},
		{ends, "Permanently deletes a file, without moving it to the trash", "The file is deleted"},
		{ends, "Deletes scheduled messages and refunds their credits", "The scheduled messages are deleted"},
		{sends, "Submits a document", "The document is submitted and the status is returned"},
		{transacts, "Refunds lines of an order that were shipped", "The lines are refunded and a confirmation is returned"},
		{controls, "Starts or stops a charger", "The request is carried out and its status is returned"},
		{reads, "Shows an artist's recent tracks", "The artist's recent tracks are returned and nothing is changed"},
		{reads, "Shows the messages related to a message you sent", "The messages are returned and nothing is changed"},
		{reads, "Shows the name, codes, latitude and longitude of every country", "The answer is returned and nothing is changed"},
		{reads, "Shows how many emails were opened", "The answer is returned and nothing is changed"},
		{searches, "Finds hotels all over the world", "The matching hotels are returned and nothing is changed"},
		{searches, "Searches for an airport by its name", "The matching results are returned and nothing is changed"},
		{computes, "Translates a text", "The result is returned and nothing is changed"},
		{computes, "Checks that the service is up", "The result of the check is returned and nothing is changed"},
	} {
		if got := outcomeOfText(c.does, c.text); got != c.want {
			t.Errorf("%q becomes %q, want %q", c.text, got, c.want)
		}
	}
}
